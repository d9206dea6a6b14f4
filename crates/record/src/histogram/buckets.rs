//! The buckets of a histogram of three digits, and the numbers in which their counts are written.
//!
//! The form is V2 of HdrHistogram: a header, then the counts in the order of the buckets as ZigZag LEB128 numbers, of which a negative one
//! skips that many empty buckets; all of it deflated (<https://hdrhistogram.org>).

/// Significant digits of every histogram of prony.
pub(super) const DIGITS: u8 = 3;
/// Half of the linear steps that 3 digits need.
pub(super) const HALF_BITS: usize = 10;
/// Bytes before the counts: cookie, length, offset, digits, lowest and highest value, ratio.
pub(super) const HEADER: usize = 40;
/// The buckets of all 64-bit values.
pub(super) const PLACES: usize = (u64::BITS as usize + 1 - HALF_BITS) << HALF_BITS;

/// The bucket of a value: the first 2,048 hold one value each, then each doubling has 1,024 buckets.
pub(super) fn place_of(value: u64) -> u64 {
    let doublings = value.max(1).ilog2().saturating_sub(HALF_BITS as u32);
    (value >> doublings) + (u64::from(doublings) << HALF_BITS)
}

/// The lowest value of a bucket.
#[inline]
pub(super) fn value_of(place: usize) -> u64 {
    let doublings = (place >> HALF_BITS).saturating_sub(1);
    ((place - (doublings << HALF_BITS)) as u64) << doublings
}

/// Seven bits per byte, lowest first; the ninth byte has eight.
pub(super) fn push_varint(mut value: u64, codes: &mut Vec<u8>) {
    for _ in 0..8 {
        if value < 0x80 {
            break;
        }
        codes.push(value as u8 | 0x80);
        value >>= 7;
    }
    codes.push(value as u8);
}

/// Reads what [`push_varint`] wrote; None if it is cut short.
#[inline]
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..56).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if *first < 0x80 {
            return Some(value);
        }
    }
    let (last, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(value | u64::from(*last) << 56)
}
