//! Splits a range into parts.

use std::ops::Range;

/// Part `i` (from 0) of `n` parts of about equal length.
///
/// # Panics
/// If `i` is not below `n`.
pub(crate) fn part(whole: &Range<u64>, i: u64, n: u64) -> Range<u64> {
    assert!(i < n, "part {i} of {n}");
    let length = u128::from(whole.end - whole.start);
    let edge = |i: u64| whole.start + (length * u128::from(i) / u128::from(n)) as u64;
    edge(i)..edge(i + 1)
}
