//! Random digits in groups: the contents of the columns `c` and `pad`.
//!
//! Goal: write into a buffer of the caller, without allocating. Non-goal: other alphabets.

use crate::random::{Random, below};

/// Length of column `c`: ten groups of eleven digits, with dashes between them.
pub const C_BYTES: usize = 119;
/// Length of column `pad`: five groups.
pub const PAD_BYTES: usize = 59;

const GROUP: usize = 11;
const GROUP_SPAN: u64 = 100_000_000_000;

/// Fills the buffer with groups of eleven digits, separated by dashes.
#[inline]
pub fn write_groups(random: &mut Random, to: &mut [u8]) {
    for group in to.chunks_mut(GROUP + 1) {
        if let Some(dash) = group.get_mut(GROUP) {
            *dash = b'-';
        }
        let digits = group.len().min(GROUP);
        write_group(random, &mut group[..digits]);
    }
}

/// Fills the buffer with digits.
#[inline]
pub fn write_digits(random: &mut Random, to: &mut [u8]) {
    for group in to.chunks_mut(GROUP) {
        write_group(random, group);
    }
}

/// Writes at most eleven digits from one draw.
#[inline(always)]
fn write_group(random: &mut Random, to: &mut [u8]) {
    let mut left = below(random, GROUP_SPAN);
    for digit in to.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    fn text(bytes: usize) -> String {
        let mut to = vec![0; bytes];
        write_groups(&mut stream(1, 1), &mut to);
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn a_text_is_groups_of_eleven_digits() {
        for (bytes, groups) in [(C_BYTES, 10), (PAD_BYTES, 5)] {
            let text = text(bytes);
            let lengths: Vec<usize> = text.split('-').map(str::len).collect();
            assert_eq!(lengths, vec![11; groups], "{text}");
            assert!(
                text.bytes()
                    .all(|byte| byte == b'-' || byte.is_ascii_digit())
            );
        }
    }

    #[test]
    fn every_length_is_filled_and_whole_groups_have_no_trailing_dash() {
        for bytes in 0..40 {
            assert_eq!(text(bytes).len(), bytes);
        }
        assert!(text(11).bytes().all(|byte| byte.is_ascii_digit()));
    }

    #[test]
    fn digits_are_uniform_in_every_position() {
        let mut counts = [[0u32; 10]; 11];
        let mut to = [0; 11];
        for number in 0..20_000 {
            write_digits(&mut stream(3, number), &mut to);
            for (place, digit) in to.iter().enumerate() {
                counts[place][usize::from(digit - b'0')] += 1;
            }
        }
        // 2,000 of each are expected, with a standard deviation of 42.
        assert!(
            counts
                .iter()
                .flatten()
                .all(|count| count.abs_diff(2_000) < 250),
            "{counts:?}"
        );
    }
}
