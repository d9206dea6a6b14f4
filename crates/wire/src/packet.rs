//! Framing: four bytes (length, number) before each packet, payloads of 16 MiB - 1 and more in several packets.
//!
//! Goal: reads that cannot run past the end. Non-goal: what the payloads mean.
//! Source: "MySQL Packets" in the server's protocol documentation.

use crate::error::WireError;

pub const HEADER: usize = 4;

/// A packet of this length is continued by the next one.
pub const CHUNK_MAX: usize = 0xff_ffff;

/// Longer packets of the server's that hold no row are no such packets: its messages have at most 512 characters, its
/// keys and names a few kilobytes.
pub const CONTROL_MAX: usize = 64 * 1024;

/// What a packet's first byte says.
pub const OK: u8 = 0x00;
pub const MORE_DATA: u8 = 0x01;
pub const LOCAL_INFILE: u8 = 0xfb;
pub const EOF: u8 = 0xfe;
pub const ERROR: u8 = 0xff;

/// Appends the place of a header, for [`finish`]; returns where it is.
#[inline]
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    start
}

/// Writes the header of the payload that follows `start`; returns the number of the packet that comes next.
#[inline]
pub fn finish(out: &mut Vec<u8>, start: usize, number: u8) -> u8 {
    let bytes = out.len() - start - HEADER;
    if bytes >= CHUNK_MAX {
        return split(out, start, number);
    }
    let header = (bytes as u32 | u32::from(number) << 24).to_le_bytes();
    out[start..start + HEADER].copy_from_slice(&header);
    number.wrapping_add(1)
}

/// A payload whose length is a multiple of the longest packet's ends with an empty packet.
#[cold]
fn split(out: &mut Vec<u8>, start: usize, mut number: u8) -> u8 {
    let payload = out.split_off(start + HEADER);
    out.truncate(start);
    let last_is_full = payload.len().is_multiple_of(CHUNK_MAX);
    let empty: &[u8] = &[];
    for chunk in payload
        .chunks(CHUNK_MAX)
        .chain(last_is_full.then_some(empty))
    {
        let header = (chunk.len() as u32 | u32::from(number) << 24).to_le_bytes();
        out.extend_from_slice(&header);
        out.extend_from_slice(chunk);
        number = number.wrapping_add(1);
    }
    number
}

/// The length and number of the packet that begins here; None: less than a header has arrived.
#[inline]
pub fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    Some(((word & 0xff_ffff) as usize, (word >> 24) as u8))
}

#[cold]
pub fn out_of_order(expected: u8, found: u8) -> WireError {
    WireError::Protocol(format!("packet {expected} was due, {found} came"))
}

/// The fields of a payload, read from its front; None once it ends too early.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length-encoded integer. Nearly every one has one byte, so the call would cost more than the reading.
    #[inline(always)]
    pub fn integer(&mut self) -> Option<u64> {
        match self.u8()? {
            small @ 0..=0xfa => Some(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => self
                .array()
                .map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xfe => self.array().map(u64::from_le_bytes),
            _ => None,
        }
    }

    /// A string after its length-encoded length.
    #[inline]
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.integer()?).ok()?;
        self.bytes(count)
    }

    /// A string up to a zero byte; what is left where there is none.
    pub fn until_zero(&mut self) -> &'a [u8] {
        let all = self.0;
        match all.iter().position(|byte| *byte == 0) {
            Some(end) => {
                self.0 = &all[end + 1..];
                &all[..end]
            }
            None => std::mem::take(&mut self.0),
        }
    }
}

/// The server's error in a payload that begins with [`ERROR`].
#[cold]
pub fn error(payload: &[u8]) -> WireError {
    let mut fields = Fields(payload.get(1..).unwrap_or_default());
    let Some(code) = fields.u16() else {
        return WireError::malformed("an error without a number came");
    };
    // The state is there once both sides have said that they know it: not in an answer to a connection that is refused.
    let state = match fields.0 {
        [b'#', state @ ..] if state.len() >= 5 => {
            fields.0 = &state[5..];
            String::from_utf8_lossy(&state[..5]).into_owned()
        }
        _ => "HY000".into(),
    };
    WireError::Server {
        code,
        state,
        message: String::from_utf8_lossy(fields.0).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framed(payload: &[u8], number: u8) -> (Vec<u8>, u8) {
        let mut out = vec![9, 9];
        let start = begin(&mut out);
        out.extend_from_slice(payload);
        let next = finish(&mut out, start, number);
        assert_eq!(out[..2], [9, 9]);
        (out.split_off(2), next)
    }

    #[test]
    fn a_packet_has_its_length_and_number_in_front() {
        assert_eq!(framed(b"abc", 7), (b"\x03\0\0\x07abc".to_vec(), 8));
        assert_eq!(framed(b"", 255), (b"\0\0\0\xff".to_vec(), 0));
    }

    #[test]
    fn a_payload_of_16_mib_is_split_and_a_full_last_packet_is_followed_by_an_empty_one() {
        let (out, next) = framed(&vec![1; CHUNK_MAX + 2], 0);
        assert_eq!((out.len(), next), (CHUNK_MAX + 2 + 2 * HEADER, 2));
        assert_eq!(header(&out), Some((CHUNK_MAX, 0)));
        assert_eq!(header(&out[HEADER + CHUNK_MAX..]), Some((2, 1)));
        let (out, next) = framed(&vec![1; CHUNK_MAX], 255);
        assert_eq!(
            (header(&out[HEADER + CHUNK_MAX..]), next),
            (Some((0, 0)), 1)
        );
    }

    #[test]
    fn an_error_is_read_with_and_without_a_state() {
        let with = error(b"\xff\x15\x04#28000Access denied").to_string();
        assert_eq!(with, "error 1045 (28000): Access denied");
        let without = error(b"\xff\x10\x04Too many connections").to_string();
        assert_eq!(without, "error 1040 (HY000): Too many connections");
        assert!(matches!(error(b"\xff\x15"), WireError::Protocol(_)));
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read_as_fields(bytes: Vec<u8>) {
            let mut fields = Fields(&bytes);
            while fields.string().is_some() || fields.integer().is_some() {}
            let _ = error(&bytes);
            let mut fields = Fields(&bytes);
            let zero = fields.until_zero().len();
            prop_assert!(zero + fields.0.len() <= bytes.len());
        }

        #[test]
        fn an_integer_is_read_in_each_of_its_lengths(value: u64) {
            use mysql_common::io::BufMutExt;
            let mut bytes = Vec::new();
            bytes.put_lenenc_int(value);
            prop_assert_eq!(Fields(&bytes).integer(), Some(value));
        }
    }
}
