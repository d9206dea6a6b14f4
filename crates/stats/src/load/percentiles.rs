//! Percentiles of latencies, from merged histograms alone.
//!
//! Rule 4: counts are added, and percentiles are never averaged. One with few samples above it, or whose samples come from few seconds, is
//! uncertain and marked; one with hardly any is not shown.

use hdrhistogram::Histogram;
use record::claim::Percentile;
use record::histogram::merged_seeing;
use record::load::HistogramNote;
use record::{Percentiles, SAMPLES_ABOVE, SAMPLES_ABOVE_MIN, SPANS_ABOVE};
use std::collections::BTreeMap;

/// A span with less than this part of the operations of the fullest one is not whole.
const PARTIAL: u64 = 10;

/// The spans that a histogram was merged from.
struct Spans {
    /// Of each span.
    samples: Vec<Samples>,
    /// Whether a span is longer than a second: then it is not known from how many seconds its samples come.
    are_long: bool,
}

#[derive(Clone, Copy, Default)]
struct Samples {
    count: u64,
    largest_ns: u64,
}

impl Spans {
    fn from_samples(samples: Vec<Samples>, are_long: bool) -> Spans {
        let fullest = samples.iter().map(|span| span.count).max().unwrap_or(0);
        // The last span may have little more than the operations that ended late.
        let is_whole = |span: &Samples| !are_long || PARTIAL * span.count >= fullest;
        Spans {
            samples: samples.into_iter().filter(is_whole).collect(),
            are_long,
        }
    }

    /// Whether so many spans, or most of the long ones, have a sample of this value or more.
    fn are_enough(&self, value_ms: f64) -> bool {
        let is_above = |span: &&Samples| ms(span.largest_ns as f64) >= value_ms;
        let needed = match self.are_long {
            true => SPANS_ABOVE.min(self.samples.len() / 2 + 1),
            false => SPANS_ABOVE,
        };
        self.samples.iter().filter(is_above).count() >= needed
    }
}

/// From nanoseconds; none if nothing was recorded. They are of one span, so the number of samples alone makes a percentile uncertain.
pub fn percentiles(nanoseconds: &Histogram<u64>) -> Option<Percentiles> {
    judged(nanoseconds, 0, None)
}

/// From the histograms of one kind, by spans; none if nothing was recorded. The number of unanswered arrivals depends on that of the
/// answered ones.
pub(crate) fn of_notes(
    notes: &[&HistogramNote],
    unanswered: impl Fn(u64) -> u64,
) -> Option<Percentiles> {
    let mut samples: BTreeMap<u32, Samples> = BTreeMap::new();
    let mut starts = notes.iter().map(|note| note.start_s);
    let see = |part: &Histogram<u64>| {
        let start_s = starts.next().unwrap_or_default();
        if !part.is_empty() {
            let known = samples.entry(start_s).or_default();
            known.count += part.len();
            known.largest_ns = part.max().max(known.largest_ns);
        }
    };
    let all = merged_seeing(notes.iter().map(|note| &note.nanoseconds), see)?;
    let are_long = notes.iter().any(|note| note.every_s > 1);
    let spans = Spans::from_samples(samples.into_values().collect(), are_long);
    judged(&all, unanswered(all.len()), Some(&spans))
}

fn judged(
    nanoseconds: &Histogram<u64>,
    unanswered: u64,
    spans: Option<&Spans>,
) -> Option<Percentiles> {
    let count = nanoseconds.len();
    let above = |percentile: Percentile| percentile.samples_above(count + unanswered);
    let at = |percentile: Percentile| {
        (above(percentile) >= SAMPLES_ABOVE_MIN)
            .then(|| quantile_ms(nanoseconds, unanswered, percentile.share_below()))
            .flatten()
    };
    // No sample lies above the maximum, which is read and not estimated.
    let is_uncertain = |percentile: &Percentile| {
        let few_spans = |ms| spans.is_some_and(|spans| !spans.are_enough(ms));
        at(*percentile).is_some_and(|ms| above(*percentile) < SAMPLES_ABOVE || few_spans(ms))
    };
    (count > 0).then(|| Percentiles {
        count,
        unanswered,
        mean_ms: ms(nanoseconds.mean()),
        p50_ms: at(Percentile::P50),
        p95_ms: at(Percentile::P95),
        p99_ms: at(Percentile::P99),
        p999_ms: at(Percentile::P999),
        max_ms: ms(nanoseconds.max() as f64),
        uncertain: Percentile::ALL.into_iter().filter(is_uncertain).collect(),
        of_generator: Vec::new(),
        of_pauses: Vec::new(),
    })
}

/// A quantile (ms) of answered and unanswered arrivals; the latter count as longer than any measured latency. None if the
/// quantile lies among the unanswered, or nothing was recorded.
pub fn quantile_ms(nanoseconds: &Histogram<u64>, unanswered: u64, share_below: f64) -> Option<f64> {
    let count = nanoseconds.len();
    // Where the rank among all lies among those that were answered.
    let answered = share_below * ((count + unanswered) as f64 / count as f64);
    (count > 0 && answered <= 1.0 + 1e-9)
        .then(|| ms(nanoseconds.value_at_quantile(answered) as f64))
}

fn ms(nanoseconds: f64) -> f64 {
    nanoseconds / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::LatencyKind;

    fn milliseconds(upto: u64) -> Percentiles {
        among(upto, 0)
    }

    /// The numbers from 1 and arrivals that were never answered.
    fn among(upto: u64, unanswered: u64) -> Percentiles {
        let mut histogram = Histogram::new(3).unwrap();
        (1..=upto).for_each(|ms| histogram += ms * 1_000_000);
        judged(&histogram, unanswered, None).unwrap()
    }

    fn within(measured: Option<f64>, known: f64) -> bool {
        measured.is_some_and(|measured| (measured / known - 1.0).abs() <= 0.001)
    }

    #[test]
    fn percentiles_of_the_numbers_from_1_are_these_numbers_within_a_thousandth() {
        let p = milliseconds(100_000);
        assert!(within(p.p50_ms, 50_000.0) && within(p.p95_ms, 95_000.0));
        assert!(within(p.p99_ms, 99_000.0) && within(p.p999_ms, 99_900.0));
        assert!(within(Some(p.max_ms), 100_000.0) && within(Some(p.mean_ms), 50_000.5));
    }

    #[test]
    fn a_percentile_with_fewer_than_a_hundred_samples_above_it_is_uncertain() {
        let uncertain = |upto| milliseconds(upto).uncertain;
        assert!(uncertain(100_000).is_empty());
        assert_eq!(uncertain(10_000), [Percentile::P999]);
        assert_eq!(uncertain(9_999), [Percentile::P99]);
        assert!(milliseconds(9_999).p99_ms.is_some());
    }

    #[test]
    fn a_percentile_with_fewer_than_ten_samples_above_it_is_missing() {
        let few = milliseconds(199);
        assert_eq!((few.p95_ms, few.p99_ms, few.count), (None, None, 199));
        assert_eq!(few.uncertain, [Percentile::P50]);
        assert!(few.p50_ms.is_some() && few.max_ms > 198.0);
    }

    /// So many spans of 2,000 operations of 5 ms; in the first of them a tenth is slow.
    fn spans(every_s: u32, count: usize, slow_in: usize) -> Percentiles {
        let one = |span: usize| {
            let mut histogram = Histogram::<u64>::new(3).unwrap();
            histogram.record_n(5_000_000, 1_800).unwrap();
            let rest_ms = if span < slow_in { 400 } else { 5 };
            histogram.record_n(rest_ms * 1_000_000, 200).unwrap();
            HistogramNote {
                operation: None,
                kind: LatencyKind::Response,
                every_s,
                start_s: every_s * span as u32,
                nanoseconds: histogram.into(),
            }
        };
        let notes: Vec<HistogramNote> = (0..count).map(one).collect();
        of_notes(&notes.iter().collect::<Vec<_>>(), |_| 0).unwrap()
    }

    /// One flush can supply all hundred samples above a p99: three blocks then measure 15, 17 and 428 ms.
    #[test]
    fn a_percentile_whose_samples_come_from_fewer_than_ten_seconds_is_uncertain() {
        let few = spans(1, 60, 9);
        assert!(within(few.p99_ms, 400.0));
        assert_eq!(few.uncertain, [Percentile::P99, Percentile::P999]);
        assert_eq!(
            few.why_uncertain(Percentile::P99, 60).unwrap(),
            "the operations above the p99 come from fewer than 10 seconds"
        );
        assert!(spans(1, 60, 10).uncertain.is_empty());
        assert_eq!(few.why_uncertain(Percentile::P50, 60), None);
    }

    #[test]
    fn of_spans_of_ten_seconds_ten_or_most_must_have_samples_above() {
        assert_eq!(spans(10, 6, 6).uncertain, [Percentile::P999]);
        assert!(!spans(10, 6, 4).is_uncertain(Percentile::P99));
        assert!(spans(10, 6, 3).is_uncertain(Percentile::P99));
        assert!(!spans(10, 60, 10).is_uncertain(Percentile::P99));
    }

    #[test]
    fn a_p99_of_a_short_load_says_how_long_would_do() {
        // 1,000 requests/s for 10 s, of which 75 were not done.
        let short = milliseconds(9_925);
        assert_eq!(
            short.why_uncertain(Percentile::P99, 10).unwrap(),
            "only 99 operations lie above the p99; 11 s would do"
        );
    }

    #[test]
    fn unanswered_arrivals_count_as_longer_than_any_measured_latency() {
        // Of 20,000 arrivals the last 200 were never answered: the p99 is the longest of the others.
        let p = among(19_800, 200);
        assert!(within(p.p50_ms, 10_000.0) && within(p.p95_ms, 19_000.0));
        assert!(within(p.p99_ms, 19_800.0) && within(Some(p.max_ms), 19_800.0));
        let p = among(19_799, 201);
        assert_eq!((p.p99_ms, p.count), (None, 19_799));
        assert!(within(p.p95_ms, 19_000.0));
        assert_eq!(
            p.why_not(Percentile::P99),
            "201 of 20,000 arrivals were never answered, so it exceeds every measured latency"
        );
        let too_few = "fewer than 10 of 500 operations lie above it";
        assert_eq!(milliseconds(500).why_not(Percentile::P99), too_few);
    }

    #[test]
    fn nothing_recorded_has_no_percentiles() {
        assert!(percentiles(&Histogram::new(3).unwrap()).is_none());
    }
}
