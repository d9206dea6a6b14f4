//! Packet framing: a header of four bytes (length, sequence number) before each packet. Payloads of 16 MiB - 1 and more are split.
//!
//! Goal: reads that cannot run past the end. Non-goal: the meaning of payloads.
//! Source: "MySQL Packets" in the server's protocol documentation.

use crate::error::WireError;

pub(crate) const HEADER: usize = 4;

/// Maximum payload of a packet. A packet of this length continues in the next one.
pub(crate) const CHUNK_MAX: usize = 0xff_ffff;

/// Maximum payload of a packet that is not a row. The server's messages have at most 512 characters, its keys and names a few
/// kilobytes.
pub(crate) const CONTROL_MAX: usize = 64 * 1024;

/// Packet types, from a packet's first byte.
pub(crate) const OK: u8 = 0x00;
pub(crate) const MORE_DATA: u8 = 0x01;
pub(crate) const LOCAL_INFILE: u8 = 0xfb;
pub(crate) const EOF: u8 = 0xfe;
pub(crate) const ERROR: u8 = 0xff;

/// Appends space for a header, for [`finish`]. Returns its position.
#[inline]
pub(crate) fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    start
}

/// Writes the header at `start` for the payload that follows it. Returns the next sequence number.
#[inline]
pub(crate) fn finish(out: &mut Vec<u8>, start: usize, number: u8) -> u8 {
    let bytes = out.len() - start - HEADER;
    if bytes >= CHUNK_MAX {
        return split(out, start, number);
    }
    let header = (bytes as u32 | u32::from(number) << 24).to_le_bytes();
    out[start..start + HEADER].copy_from_slice(&header);
    number.wrapping_add(1)
}

/// Splits a payload into packets. If its length is a multiple of [`CHUNK_MAX`], an empty packet follows.
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

/// Writes a string preceded by its length-encoded length.
#[inline]
pub(crate) fn write_string(out: &mut Vec<u8>, value: &[u8]) {
    match value.len() {
        short @ 0..=0xfa => out.push(short as u8),
        medium @ 0..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(medium as u16).to_le_bytes());
        }
        long => {
            out.push(0xfe);
            out.extend_from_slice(&(long as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(value);
}

/// Writes a string and the zero byte that ends it.
pub(crate) fn write_terminated(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// The payload length and sequence number of the packet at the start of `bytes`. None for an incomplete header.
#[inline]
pub(crate) fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    Some(((word & 0xff_ffff) as usize, (word >> 24) as u8))
}

#[cold]
pub(crate) fn out_of_order(expected: u8, found: u8) -> WireError {
    WireError::Protocol(format!(
        "packet {found} is out of order, expected packet {expected}"
    ))
}

/// The error of a packet longer than [`CONTROL_MAX`].
#[cold]
pub(crate) fn too_long(bytes: usize) -> WireError {
    WireError::Protocol(format!(
        "a packet of {bytes} bytes exceeds the maximum of {CONTROL_MAX} for its type"
    ))
}

/// A cursor over the fields of a payload. Each read returns None if the payload is too short.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length-encoded integer. Inlined, because most have one byte and a call would cost more than the read.
    #[inline(always)]
    pub(crate) fn integer(&mut self) -> Option<u64> {
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

    /// A string preceded by its length-encoded length.
    #[inline]
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.integer()?).ok()?;
        self.bytes(count)
    }

    /// A string up to a zero byte, or the rest of the payload if there is none.
    pub(crate) fn until_zero(&mut self) -> &'a [u8] {
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

/// Parses the server's error in a payload that begins with [`ERROR`].
#[cold]
pub(crate) fn error(payload: &[u8]) -> WireError {
    let mut fields = Fields(payload.get(1..).unwrap_or_default());
    let Some(code) = fields.u16() else {
        return WireError::malformed("it sent an error without a number");
    };
    // The SQLSTATE is present once capabilities are negotiated, so not in the refusal of a connection.
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
        message: message(fields.0),
    }
}

/// Characters of an error's message that are kept. A server sends at most 512.
const MESSAGE_CHARS_MAX: usize = 2_000;

fn message(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
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
    fn a_packet_starts_with_its_length_and_sequence_number() {
        assert_eq!(framed(b"abc", 7), (b"\x03\0\0\x07abc".to_vec(), 8));
        assert_eq!(framed(b"", 255), (b"\0\0\0\xff".to_vec(), 0));
    }

    #[test]
    fn a_16_mib_payload_is_split_and_a_full_last_packet_is_followed_by_an_empty_one() {
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
    fn errors_are_parsed_with_and_without_a_sqlstate() {
        let with = error(b"\xff\x15\x04#28000Access denied").to_string();
        assert_eq!(with, "error 1045 (28000): Access denied");
        let without = error(b"\xff\x10\x04Too many connections").to_string();
        assert_eq!(without, "error 1040 (HY000): Too many connections");
        assert!(matches!(error(b"\xff\x15"), WireError::Protocol(_)));
    }

    #[test]
    fn a_message_is_cut_to_2000_characters() {
        let payload = [b"\xff\x15\x04#28000", "ä".repeat(20_000).as_bytes()].concat();
        let text = error(&payload).to_string();
        let cut = format!("error 1045 (28000): {}...", "ä".repeat(2_000));
        assert_eq!(text, cut);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic_the_field_parser(bytes: Vec<u8>) {
            let mut fields = Fields(&bytes);
            while fields.string().is_some() || fields.integer().is_some() {}
            let _ = error(&bytes);
            let mut fields = Fields(&bytes);
            let zero = fields.until_zero().len();
            prop_assert!(zero + fields.0.len() <= bytes.len());
        }
    }

    #[test]
    fn length_encoded_integers_of_every_length_are_read() {
        let integer = |bytes: &[u8]| Fields(bytes).integer();
        assert_eq!(integer(b"\xfa"), Some(250));
        assert_eq!(integer(b"\xfc\xfb\x00"), Some(251));
        assert_eq!(integer(b"\xfd\x01\x02\x03"), Some(0x03_0201));
        assert_eq!(
            integer(b"\xfe\x01\x02\x03\x04\x05\x06\x07\x08"),
            Some(0x0807_0605_0403_0201)
        );
        for truncated in [&b""[..], b"\xfc\x01", b"\xfd\x01\x02", b"\xfe\x01", b"\xff"] {
            assert_eq!(integer(truncated), None, "{truncated:?}");
        }
    }

    #[test]
    fn strings_of_every_length_are_length_encoded() {
        for (length, front) in [(250, 1), (251, 3), (65_535, 3), (65_536, 9), (1 << 24, 9)] {
            let mut out = Vec::new();
            write_string(&mut out, &vec![b'x'; length]);
            assert_eq!(out.len(), front + length);
            assert_eq!(Fields(&out).string().map(<[u8]>::len), Some(length));
        }
    }
}
