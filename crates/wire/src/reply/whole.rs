//! The fast path for the common reply: one result that has completely arrived.
//!
//! [`super::Walk`] parses every reply. This parses most of them at lower cost, because it keeps no state between calls: 853
//! instead of 1,040 user instructions per point select, the engine included (`examples/point_select.rs`). In doubt it returns
//! None.

use super::{Done, EOF_BYTES, MORE_RESULTS};
use crate::packet::{self, CHUNK_MAX, CONTROL_MAX, Fields};

/// Parses `bytes` if they are exactly one well-formed reply without an error. None: use [`super::Walk`].
#[inline]
pub(crate) fn whole(bytes: &[u8], number: u8, ends_by_ok: bool) -> Option<Done> {
    let mut packets = Packets { bytes, number };
    let head = packets.next()?;
    let (&first, counts) = head.split_first()?;
    if first == packet::OK {
        let done = packets.ended_by_ok(counts)?;
        return (head.len() <= CONTROL_MAX).then_some(done);
    }
    // A column count of more than one byte is rare.
    if first > 0xfa || head.len() != 1 {
        return None;
    }
    for _ in 0..first {
        packets.next()?;
    }
    if !ends_by_ok {
        let end = packets.next()?;
        if end.first() != Some(&packet::EOF) || end.len() > CONTROL_MAX {
            return None;
        }
    }
    let mut rows = 0;
    loop {
        let row = packets.next()?;
        match *row.first()? {
            packet::EOF if ends_by_ok && row.len() <= CONTROL_MAX => {
                let done = packets.ended_by_ok(&row[1..])?;
                return Some(Done { rows, ..done });
            }
            packet::EOF if !ends_by_ok && row.len() < EOF_BYTES => {
                let done = packets.ended_by_eof(&row[1..])?;
                return Some(Done { rows, ..done });
            }
            packet::EOF | packet::ERROR => return None,
            _ => rows += 1,
        }
    }
}

struct Packets<'a> {
    bytes: &'a [u8],
    number: u8,
}

impl<'a> Packets<'a> {
    /// The payload of the next packet, if it is complete and not continued.
    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (header, rest) = self.bytes.split_first_chunk()?;
        let word = u32::from_le_bytes(*header);
        let length = (word & 0xff_ffff) as usize;
        if (word >> 24) as u8 != self.number || length == CHUNK_MAX {
            return None;
        }
        let (payload, rest) = rest.split_at_checked(length)?;
        self.bytes = rest;
        self.number = self.number.wrapping_add(1);
        Some(payload)
    }

    #[inline(always)]
    fn ended_by_ok(&self, counts: &[u8]) -> Option<Done> {
        let mut fields = Fields(counts);
        let (affected, insert_id) = (fields.integer()?, fields.integer()?);
        let status = fields.u16()?;
        self.ended(affected, insert_id, status, fields.u16()?)
    }

    #[inline(always)]
    fn ended_by_eof(&self, counts: &[u8]) -> Option<Done> {
        let mut fields = Fields(counts);
        let warnings = fields.u16()?;
        self.ended(0, 0, fields.u16()?, warnings)
    }

    #[inline(always)]
    fn ended(&self, affected: u64, insert_id: u64, status: u16, warnings: u16) -> Option<Done> {
        let is_whole = self.bytes.is_empty() && status & MORE_RESULTS == 0;
        is_whole.then_some(Done {
            affected,
            insert_id,
            rows: 0,
            warnings,
            status,
        })
    }
}
