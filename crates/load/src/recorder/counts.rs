//! A histogram for recording, from 1 ns to one hour. Its 2,048 steps double in width with each power of two.
//!
//! Goals: recording a value costs one addition; the buckets are those of an hdrhistogram with three digits, so that conversion and
//! merging are exact. Non-goal: percentiles (hdrhistogram).

use hdrhistogram::Histogram;

/// One hour. Longer values count as one hour.
pub(super) const LONGEST_NS: u64 = 3_600_000_000_000;
/// Significant digits. hdrhistogram uses 2,048 steps for 3 digits, so the error is at most 1 in 1,024.
pub(super) const DIGITS: u8 = 3;

const HALF_BITS: u32 = 10;
const HALF: usize = 1 << HALF_BITS;
const PLACES: usize = place_of(LONGEST_NS) + 1;

const fn place_of(value_ns: u64) -> usize {
    let doublings =
        (u64::BITS - 1 - HALF_BITS) - (value_ns | (2 * HALF as u64 - 1)).leading_zeros();
    doublings as usize * HALF + (value_ns >> doublings) as usize
}

/// The lowest value of a bucket.
fn value_of(place: usize) -> u64 {
    let doublings = (place / HALF).saturating_sub(1);
    ((place - doublings * HALF) as u64) << doublings
}

/// The buckets. They are allocated as zeroed memory, so pages without values take no physical memory.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    counts: Box<[u32]>,
    /// One bit per run of `HALF` buckets, set if the run is not empty.
    reached: u64,
}

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts {
            counts: vec![0; PLACES].into_boxed_slice(),
            reached: 0,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, value_ns: u64) {
        let place = place_of(value_ns.min(LONGEST_NS));
        self.counts[place] += 1;
        self.reached |= 1 << (place >> HALF_BITS);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.reached == 0
    }

    /// Adds the counts of another histogram, exactly.
    pub(crate) fn add(&mut self, other: &Counts) {
        for run in other.runs() {
            let sums = self.counts[run.clone()].iter_mut();
            for (sum, count) in sums.zip(&other.counts[run]) {
                *sum += count;
            }
        }
        self.reached |= other.reached;
    }

    pub(crate) fn clear(&mut self) {
        for run in self.runs() {
            self.counts[run].fill(0);
        }
        self.reached = 0;
    }

    /// Converts to an auto-resizing hdrhistogram of three digits, no longer than its largest value needs.
    pub(crate) fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new(DIGITS).expect("three digits are allowed");
        let recorded = self.runs().flat_map(|run| {
            let base = run.start;
            let counts = self.counts[run].iter().enumerate();
            counts.filter_map(move |(place, count)| (*count > 0).then_some((base + place, *count)))
        });
        let recorded: Vec<(usize, u32)> = recorded.collect();
        for (place, count) in recorded.into_iter().rev() {
            histogram
                .record_n(value_of(place), u64::from(count))
                .expect("an auto-resizing histogram accepts one hour");
        }
        histogram
    }

    fn runs(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let reached = self.reached;
        (0..u64::BITS as usize)
            .filter(move |run| reached >> run & 1 == 1)
            .map(|run| run * HALF..((run + 1) * HALF).min(PLACES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(values: &[u64]) -> Counts {
        let mut counts = Counts::new();
        values.iter().for_each(|value| counts.record(*value));
        counts
    }

    fn any_values() -> impl Strategy<Value = Vec<u64>> {
        let value = (0..42u32, any::<u64>()).prop_map(|(bits, value)| value >> (63 - bits));
        proptest::collection::vec(value, 0..200)
    }

    #[test]
    fn values_above_an_hour_count_as_an_hour() {
        let histogram = counted(&[u64::MAX]).histogram();
        assert!(histogram.equivalent(histogram.max(), LONGEST_NS));
    }

    proptest! {
        // Each case processes hundreds of kilobytes.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn values_are_recorded_within_0_1_percent(value in 0..=LONGEST_NS) {
            let back = counted(&[value]).histogram().value_at_quantile(0.5);
            prop_assert!(back.abs_diff(value) as f64 <= value as f64 / 1000.0, "{back}");
        }

        #[test]
        fn counts_convert_to_the_same_hdrhistogram(values in any_values()) {
            let mut expected = Histogram::<u64>::new(DIGITS).expect("three digits");
            for value in &values {
                expected.record((*value).min(LONGEST_NS)).expect("it grows");
            }
            prop_assert_eq!(counted(&values).histogram(), expected);
        }

        #[test]
        fn merging_equals_recording_all_values(left in any_values(), right in any_values()) {
            let mut merged = counted(&left);
            merged.add(&counted(&right));
            let both: Vec<u64> = left.iter().chain(&right).copied().collect();
            prop_assert_eq!(merged.histogram(), counted(&both).histogram());
        }

        #[test]
        fn clearing_removes_all_counts(values in any_values()) {
            let mut counts = counted(&values);
            counts.clear();
            prop_assert!(counts.is_empty());
            prop_assert_eq!(counts.histogram().len(), 0);
        }
    }
}
