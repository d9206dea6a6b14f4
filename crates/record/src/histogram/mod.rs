//! Packed latency histograms: a trial of three hours has tens of thousands of them.
//!
//! Purpose: exact packing and exact merging. Boundary: percentiles are in crate `stats`.
//!
//! One of 3 digits takes up to 270 KB unpacked and about 2 KB packed, in HdrHistogram's own interchange form "V2 deflate"
//! (<https://hdrhistogram.org>), so other tools read what the store holds.

mod buckets;
mod sum;

pub use sum::HistogramSum;

use buckets::{HEADER, place_of, push_varint};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use hdrhistogram::Histogram;
use std::io::Write;

/// What begins a histogram of the form V2 that is deflated, and one that is not.
const DEFLATED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;

/// A histogram in the form V2 deflate. Every value of this type can be unpacked.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedHistogram(Vec<u8>);

impl PackedHistogram {
    /// Takes the bytes of a packed histogram of three digits.
    ///
    /// # Errors
    /// The bytes are not such a histogram; the text is the cause.
    pub fn from_v2(bytes: Vec<u8>) -> Result<PackedHistogram, String> {
        unpack(&bytes).map(|_| PackedHistogram(bytes))
    }

    pub fn v2(&self) -> &[u8] {
        &self.0
    }

    pub fn unpack(&self) -> Histogram<u64> {
        unpack(&self.0).expect("the bytes were unpacked or packed when the value was made")
    }
}

impl From<&Histogram<u64>> for PackedHistogram {
    fn from(histogram: &Histogram<u64>) -> PackedHistogram {
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
        deflated
            .write_all(&plain(histogram))
            .expect("memory takes every byte");
        let deflated = deflated.finish().expect("memory takes every byte");
        let length = deflated.len() as u32;
        let head = [DEFLATED.to_be_bytes(), length.to_be_bytes()].concat();
        PackedHistogram([head, deflated].concat())
    }
}

impl From<Histogram<u64>> for PackedHistogram {
    fn from(histogram: Histogram<u64>) -> PackedHistogram {
        PackedHistogram::from(&histogram)
    }
}

impl std::fmt::Debug for PackedHistogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let histogram = self.unpack();
        write!(
            f,
            "{} values, {} to {}",
            histogram.len(),
            histogram.min(),
            histogram.max()
        )
    }
}

fn unpack(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    let mut sum = HistogramSum::default();
    sum.add(bytes)?;
    Ok(sum.take_unpacked())
}

/// The form V2: a header, then the counts in the order of the buckets as ZigZag LEB128 numbers. Two or more empty buckets are one
/// negative number.
fn plain(histogram: &Histogram<u64>) -> Vec<u8> {
    let codes = codes(histogram);
    let mut plain = Vec::with_capacity(HEADER + codes.len());
    let offset = 0;
    for word in [
        PLAIN,
        codes.len() as u32,
        offset,
        u32::from(histogram.sigfig()),
    ] {
        plain.extend_from_slice(&word.to_be_bytes());
    }
    plain.extend_from_slice(&histogram.low().to_be_bytes());
    plain.extend_from_slice(&histogram.high().to_be_bytes());
    let ratio: f64 = 1.0;
    plain.extend_from_slice(&ratio.to_be_bytes());
    plain.extend_from_slice(&codes);
    plain
}

fn codes(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut codes = Vec::new();
    let mut next = 0;
    for step in histogram.iter_recorded() {
        let place = place_of(step.value_iterated_to());
        match place - next {
            0 => {}
            1 => codes.push(0),
            empty => push_varint(2 * empty - 1, &mut codes),
        }
        push_varint(step.count_at_value() << 1, &mut codes);
        next = place + 1;
    }
    if codes.is_empty() {
        codes.push(0);
    }
    codes
}

/// All of them in one, by adding the counts: exact where they have the same digits (HdrHistogram's own rule), and the
/// only way to a percentile over several. None without any value.
pub fn merged<'h>(parts: impl IntoIterator<Item = &'h PackedHistogram>) -> Option<Histogram<u64>> {
    merged_seeing(parts, |_| ())
}

/// Merges like [`merged`], and shows each part to `see` before it is added.
pub fn merged_seeing<'h>(
    parts: impl IntoIterator<Item = &'h PackedHistogram>,
    mut see: impl FnMut(&Histogram<u64>),
) -> Option<Histogram<u64>> {
    let mut whole: Option<Histogram<u64>> = None;
    for part in parts {
        let part = part.unpack();
        see(&part);
        match &mut whole {
            Some(whole) => whole.add(&part).expect("it grows as it has to"),
            None => {
                let mut first = part;
                first.auto(true);
                whole = Some(first);
            }
        }
    }
    whole.filter(|whole| !whole.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        values.iter().for_each(|value| histogram += *value);
        histogram
    }

    fn nanoseconds() -> impl Strategy<Value = u64> {
        prop_oneof![0..2_000u64, 0..10_000_000u64, 0..4_000_000_000_000u64]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn merged_histograms_count_as_if_all_values_had_been_recorded_in_one(
            parts in vec(vec(nanoseconds(), 0..40), 1..6)
        ) {
            let packed: Vec<PackedHistogram> = parts.iter().map(|part| of(part).into()).collect();
            let all = of(&parts.concat());
            match merged(&packed) {
                Some(whole) => {
                    prop_assert_eq!(whole.len(), all.len());
                    for value in parts.concat() {
                        prop_assert_eq!(whole.count_at(value), all.count_at(value));
                    }
                    prop_assert_eq!((whole.min(), whole.max()), (all.min(), all.max()));
                }
                None => prop_assert!(all.is_empty()),
            }
        }

        #[test]
        fn any_histogram_is_unpacked_as_it_was_packed(values in vec(nanoseconds(), 0..60)) {
            let histogram = of(&values);
            let packed = PackedHistogram::from(&histogram);
            prop_assert_eq!(packed.unpack(), histogram);
            prop_assert_eq!(PackedHistogram::from_v2(packed.v2().to_vec()), Ok(packed));
        }

        #[test]
        fn bytes_that_are_no_histogram_are_refused_without_a_panic(bytes in vec(any::<u8>(), 0..60)) {
            prop_assert!(PackedHistogram::from_v2(bytes).is_err());
        }
    }

    #[test]
    fn a_truncated_histogram_is_refused() {
        let packed = PackedHistogram::from(of(&(0..5000).collect::<Vec<_>>()));
        let half = packed.v2()[..packed.v2().len() / 2].to_vec();
        assert!(PackedHistogram::from_v2(half).is_err());
    }
}
