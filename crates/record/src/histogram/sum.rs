//! The sum of packed histograms, of one or of many.
//!
//! Purpose: decode into the sum. Unpacking each histogram and adding it takes several times as long, because both touch every bucket.
//! Boundary: only histograms as prony packs them (`PackedHistogram`).

use super::PackedHistogram;
use super::buckets::{DIGITS, HEADER, PLACES, value_of, varint};
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;

/// Bytes before the deflated part: a cookie and its length.
const OUTER: usize = 8;
/// The longest header and counts: nine bytes for each bucket.
const PLAIN_MAX: usize = HEADER + 9 * PLACES;

/// Counts by bucket, and what decoding needs.
pub struct HistogramSum {
    counts: Vec<u64>,
    /// Buckets from here on are empty.
    used: usize,
    plain: Vec<u8>,
    inflate: Decompress,
}

impl Default for HistogramSum {
    fn default() -> HistogramSum {
        HistogramSum {
            counts: vec![0; PLACES],
            used: 0,
            plain: Vec::with_capacity(1 << 14),
            inflate: Decompress::new(true),
        }
    }
}

impl HistogramSum {
    /// Adds a histogram in the form V2 deflate, exactly.
    ///
    /// # Errors
    /// The bytes are not a histogram as prony writes it; the sum is then of no use.
    pub fn add(&mut self, v2: &[u8]) -> Result<(), String> {
        self.inflate(v2)?;
        let header = self.plain.first_chunk::<HEADER>();
        let header = header.ok_or("it is shorter than its header")?;
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let lowest = (word(16), word(20));
        if word(12) != u32::from(DIGITS) || lowest != (0, 1) || word(8) != 0 {
            return Err("it does not have three significant digits from 1 on".into());
        }
        let end = HEADER + word(4) as usize;
        let bytes = self.plain.get(HEADER..end);
        let place = add_counts(&mut self.counts, bytes.ok_or("it is cut short")?)?;
        self.used = self.used.max(place.min(PLACES));
        Ok(())
    }

    /// Inflates into `plain`.
    fn inflate(&mut self, v2: &[u8]) -> Result<(), String> {
        let deflated = v2.get(OUTER..).ok_or("it is shorter than its header")?;
        self.inflate.reset(true);
        self.plain.clear();
        loop {
            let rest = &deflated[self.inflate.total_in() as usize..];
            let status =
                self.inflate
                    .decompress_vec(rest, &mut self.plain, FlushDecompress::Finish);
            match status {
                Ok(Status::StreamEnd) => return Ok(()),
                Ok(_) if self.plain.len() > PLAIN_MAX => return Err("it is too long".into()),
                Ok(_) if self.plain.len() == self.plain.capacity() => {
                    self.plain.reserve(self.plain.len());
                }
                _ => return Err("it is damaged or cut short".into()),
            }
        }
    }

    /// The sum so far, and starts a new one.
    pub fn take(&mut self) -> PackedHistogram {
        self.take_unpacked().into()
    }

    pub(crate) fn take_unpacked(&mut self) -> Histogram<u64> {
        let mut whole = Histogram::<u64>::new(DIGITS).expect("three digits are allowed");
        let counted = self.counts[..self.used].iter().enumerate().rev();
        // From the largest, so that it grows once.
        for (place, count) in counted.filter(|(_, count)| **count > 0) {
            whole
                .record_n(value_of(place), *count)
                .expect("an auto-resizing histogram accepts every value");
        }
        self.counts[..self.used].fill(0);
        self.used = 0;
        whole
    }
}

/// The high bits of eight bytes: a byte without one is a whole code.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
/// Buckets that eight codes of one byte cannot leave: each moves on by at most 64.
const WINDOW: usize = 8 * 64;
/// For each code of one byte, the buckets to move on and the count to add. A branch on the kind of a code would be mispredicted often.
const STEPS: [(u8, u8); 128] = steps();

const fn steps() -> [(u8, u8); 128] {
    let mut steps = [(0, 0); 128];
    let mut code = 0;
    while code < 128 {
        let half = (code >> 1) as u8;
        steps[code] = if code & 1 == 0 {
            (1, half)
        } else {
            (half + 1, 0)
        };
        code += 1;
    }
    steps
}

/// Adds encoded counts. Returns the bucket after the last one.
fn add_counts(counts: &mut [u64], mut bytes: &[u8]) -> Result<usize, &'static str> {
    let mut place = 0;
    while !bytes.is_empty() {
        place = add_short(counts, &mut bytes, place);
        if bytes.is_empty() {
            break;
        }
        let code = varint(&mut bytes).ok_or("a count is cut short")?;
        if code & 1 == 0 {
            let count = counts.get_mut(place).ok_or("it has too many buckets")?;
            *count += code >> 1;
            place += 1;
        } else {
            place = place.saturating_add((code >> 1) as usize + 1);
        }
    }
    Ok(place)
}

/// Adds codes while the next eight have one byte each. Returns the bucket after them.
fn add_short(counts: &mut [u64], bytes: &mut &[u8], mut place: usize) -> usize {
    while let Some((eight, rest)) = bytes.split_first_chunk::<8>()
        && u64::from_le_bytes(*eight) & HIGH_BITS == 0
        && let Some(following) = counts.get_mut(place..)
        && let Some(window) = following.first_chunk_mut::<WINDOW>()
    {
        let mut at = 0;
        for code in eight {
            let (ahead, count) = STEPS[usize::from(*code)];
            window[at] += u64::from(count);
            at += usize::from(ahead);
        }
        place += at;
        *bytes = rest;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new(DIGITS).unwrap();
        values.iter().for_each(|value| histogram += *value);
        histogram
    }

    fn nanoseconds() -> impl Strategy<Value = u64> {
        prop_oneof![0..3_000u64, 0..10_000_000u64, 0..4_000_000_000_000u64]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_sum_is_the_histogram_of_all_values(parts in vec(vec(nanoseconds(), 0..60), 0..6)) {
            let mut sum = HistogramSum::default();
            for part in &parts {
                sum.add(PackedHistogram::from(of(part)).v2()).unwrap();
            }
            let all = of(&parts.concat());
            prop_assert_eq!(sum.take().unpack(), all);
            prop_assert!(sum.take().unpack().is_empty(), "a taken sum starts anew");
        }

        #[test]
        fn large_counts_are_added_exactly(value in nanoseconds(), counts in vec(1u64..1 << 50, 1..5)) {
            let mut sum = HistogramSum::default();
            for count in &counts {
                let mut part = of(&[]);
                part.record_n(value, *count).unwrap();
                sum.add(PackedHistogram::from(part).v2()).unwrap();
            }
            let whole = sum.take().unpack();
            prop_assert_eq!(whole.len(), counts.iter().sum::<u64>());
        }

        #[test]
        fn bytes_that_are_no_histogram_are_refused_without_a_panic(bytes in vec(any::<u8>(), 0..80)) {
            prop_assert!(HistogramSum::default().add(&bytes).is_err());
        }

        #[test]
        fn a_truncated_histogram_is_refused(values in vec(nanoseconds(), 1..40), share in 0.0f64..0.99) {
            let packed = PackedHistogram::from(of(&values));
            let length = (packed.v2().len() as f64 * share) as usize;
            prop_assert!(HistogramSum::default().add(&packed.v2()[..length]).is_err());
        }
    }

    #[test]
    fn a_histogram_of_other_digits_is_refused() {
        let coarse = PackedHistogram::from(Histogram::<u64>::new(2).unwrap());
        let says = HistogramSum::default().add(coarse.v2()).unwrap_err();
        assert!(says.contains("three significant digits"), "{says}");
    }
}
