//! Parts of a range.

use std::ops::Range;

/// The part with the number `i` (from 0) when the range is split into `n` of about equal length.
///
/// # Panics
/// When `i` is not below `n`.
pub fn part(whole: &Range<u64>, i: u64, n: u64) -> Range<u64> {
    assert!(i < n, "part {i} of {n}");
    let length = u128::from(whole.end - whole.start);
    let edge = |i: u64| whole.start + (length * u128::from(i) / u128::from(n)) as u64;
    edge(i)..edge(i + 1)
}
