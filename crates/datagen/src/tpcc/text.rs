//! The fields of rows.
//!
//! No field holds a separator, a quote or a backslash. NULL is `\N` in both formats, as LOAD DATA reads it.

use crate::random::{Random, below, between};
use crate::text::Text;
use rand::Rng;

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PAIRS: u64 = 62 * 62;
/// Every pair of letters, so that one multiplication draws two.
static PAIR: [[u8; 2]; PAIRS as usize] = pairs();

const fn pairs() -> [[u8; 2]; PAIRS as usize] {
    let mut pairs = [[0; 2]; PAIRS as usize];
    let mut n = 0;
    while n < pairs.len() {
        pairs[n] = [LETTERS[n / 62], LETTERS[n % 62]];
        n += 1;
    }
    pairs
}

impl Text {
    /// An amount in cents: `12.34`.
    #[inline]
    pub(super) fn cents(&mut self, cents: u64) {
        self.digits(cents / 100, 1);
        self.bytes.push(b'.');
        self.digits(cents % 100, 2);
        self.end_field();
    }

    /// A fraction below 1 in 1/10,000: `0.0123`.
    #[inline]
    pub(super) fn fraction(&mut self, ten_thousandths: u64) {
        self.bytes.extend_from_slice(b"0.");
        self.digits(ten_thousandths, 4);
        self.end_field();
    }

    #[inline]
    pub(super) fn word(&mut self, word: &str) {
        self.bytes.extend_from_slice(word.as_bytes());
        self.end_field();
    }

    /// Several words without a space between them.
    pub(super) fn joined(&mut self, words: [&str; 3]) {
        for word in words {
            self.bytes.extend_from_slice(word.as_bytes());
        }
        self.end_field();
    }

    #[inline]
    pub(super) fn null(&mut self) {
        self.word("\\N");
    }

    /// `a(min..max)`: alphanumeric, of uniform length (4.3.2.2).
    #[inline]
    pub(super) fn letters(&mut self, random: &mut Random, min: u64, max: u64) {
        let length = between(random, min, max);
        self.append_letters(random, length as usize);
        self.end_field();
    }

    /// `a(26..50)`; a tenth of the rows hold ORIGINAL at a random place (4.3.3.1).
    pub(super) fn original_data(&mut self, random: &mut Random) {
        const ORIGINAL: &[u8] = b"ORIGINAL";
        let length = 26 + below(random, 25) as usize;
        let from = self.bytes.len();
        self.append_letters(random, length);
        if below(random, 10) == 0 {
            let last = (length - ORIGINAL.len()) as u64;
            let at = from + below(random, last + 1) as usize;
            self.bytes[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
        self.end_field();
    }

    /// Two capital letters.
    pub(super) fn state(&mut self, random: &mut Random) {
        for _ in 0..2 {
            self.bytes.push(b'A' + below(random, 26) as u8);
        }
        self.end_field();
    }

    /// Four random digits, then `11111` (4.3.2.7).
    pub(super) fn zip(&mut self, random: &mut Random) {
        self.digits(below(random, 10_000), 4);
        self.word("11111");
    }

    /// `n(16)`: sixteen digits.
    pub(super) fn phone(&mut self, random: &mut Random) {
        self.digits(below(random, 10u64.pow(16)), 16);
        self.end_field();
    }

    #[inline]
    fn append_letters(&mut self, random: &mut Random, length: usize) {
        let from = self.bytes.len();
        self.bytes.resize(from + length, 0);
        let mut eights = self.bytes[from..].chunks_exact_mut(8);
        for eight in eights.by_ref() {
            eight.copy_from_slice(&eight_letters(random));
        }
        let rest = eights.into_remainder();
        if !rest.is_empty() {
            rest.copy_from_slice(&eight_letters(random)[..rest.len()]);
        }
    }
}

/// Eight letters from one draw. The bias of the last pair is below 2^-16: four pairs use 48 of its 64 bits.
#[inline]
fn eight_letters(random: &mut Random) -> [u8; 8] {
    let mut left = random.next_u64();
    let mut eight = [0; 8];
    for pair in eight.chunks_exact_mut(2) {
        let product = u128::from(left) * u128::from(PAIRS);
        pair.copy_from_slice(&PAIR[(product >> 64) as usize]);
        left = product as u64;
    }
    eight
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::random::stream;

    fn written(append: impl FnOnce(&mut Text)) -> String {
        let mut text = Text::new(Format::Tbl, 0);
        append(&mut text);
        String::from_utf8(text.bytes).unwrap()
    }

    #[test]
    fn amounts_and_fractions_keep_their_zeros() {
        assert_eq!(written(|text| text.cents(1)), "0.01|");
        assert_eq!(written(|text| text.cents(30_000_000)), "300000.00|");
        assert_eq!(written(|text| text.fraction(0)), "0.0000|");
        assert_eq!(written(|text| text.fraction(123)), "0.0123|");
        assert_eq!(written(|text| text.number(0)), "0|");
    }

    #[test]
    fn every_letter_is_equally_frequent_at_every_place() {
        let random = &mut stream(3, 3);
        let mut counts = [[0u32; 256]; 8];
        for _ in 0..124_000 {
            for (place, letter) in eight_letters(random).into_iter().enumerate() {
                counts[place][usize::from(letter)] += 1;
            }
        }
        // 2,000 of each are expected, with a standard deviation of 44.
        for counts in counts {
            for letter in LETTERS {
                assert!(counts[usize::from(*letter)].abs_diff(2_000) < 250);
            }
        }
    }

    #[test]
    fn a_text_has_each_length_of_its_range() {
        let mut lengths = [0; 12];
        for n in 0..2_000 {
            let text = written(|text| text.letters(&mut stream(1, n), 6, 10));
            lengths[text.len() - 1] += 1;
        }
        assert_eq!(lengths.iter().filter(|count| **count > 0).count(), 5);
        assert!(lengths[6..=10].iter().all(|count| *count > 300));
    }
}
