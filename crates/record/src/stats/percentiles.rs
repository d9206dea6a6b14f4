//! Percentiles of latencies, from merged histograms alone.
//!
//! Rule 4: counts are added, percentiles are never averaged, and a percentile with too few samples above it is not shown.

use crate::claim::Percentile;
use crate::load::Kind;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Minimum number of samples above a percentile: their count then has a standard error of 10 %.
pub const SAMPLES_ABOVE: f64 = 100.0;

/// One kind of latency (ms).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub count: u64,
    /// Further arrivals that were dropped or still queued at the end. Percentiles count them as longer than any measured latency;
    /// mean and maximum exclude them.
    pub unanswered: u64,
    pub mean_ms: f64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub p999_ms: Option<f64>,
    pub max_ms: f64,
}

impl Percentiles {
    /// From nanoseconds; none if nothing was recorded.
    pub fn of(nanoseconds: &Histogram<u64>) -> Option<Percentiles> {
        Percentiles::with_unanswered(nanoseconds, 0)
    }

    /// From nanoseconds and the number of unanswered arrivals; none if nothing was recorded.
    pub fn with_unanswered(nanoseconds: &Histogram<u64>, unanswered: u64) -> Option<Percentiles> {
        let count = nanoseconds.len();
        let all = count + unanswered;
        let at = |percentile: Percentile| {
            let share = share_below(percentile);
            let enough = enough_above(all, share);
            enough
                .then(|| quantile_ms(nanoseconds, unanswered, share))
                .flatten()
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
        })
    }

    /// Why a percentile is missing.
    pub fn why_not(&self, percentile: Percentile) -> String {
        let all = self.count + self.unanswered;
        match enough_above(all, share_below(percentile)) {
            true => format!(
                "{} of {all} arrivals were never answered, so it exceeds every measured latency",
                self.unanswered
            ),
            false => format!("fewer than {SAMPLES_ABOVE} of {all} operations lie above it"),
        }
    }

    /// In milliseconds.
    pub fn at(&self, percentile: Percentile) -> Option<f64> {
        match percentile {
            Percentile::P50 => self.p50_ms,
            Percentile::P95 => self.p95_ms,
            Percentile::P99 => self.p99_ms,
            Percentile::P999 => self.p999_ms,
            Percentile::Max => Some(self.max_ms),
        }
    }
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

fn share_below(percentile: Percentile) -> f64 {
    match percentile {
        Percentile::P50 => 0.5,
        Percentile::P95 => 0.95,
        Percentile::P99 => 0.99,
        Percentile::P999 => 0.999,
        Percentile::Max => 1.0,
    }
}

fn enough_above(all: u64, share_below: f64) -> bool {
    // A bound of exactly 100 must not fall to the rounding of 1 - 0.99.
    all as f64 * (1.0 - share_below) + 1e-6 >= SAMPLES_ABOVE
}

fn ms(nanoseconds: f64) -> f64 {
    nanoseconds / 1e6
}

/// Response, wait and service time; in closed loop the response time is the service time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub response: Option<Percentiles>,
    pub wait: Option<Percentiles>,
    pub service: Option<Percentiles>,
}

impl Latency {
    pub fn of(&self, kind: Kind) -> Option<&Percentiles> {
        match kind {
            Kind::Response => self.response.as_ref(),
            Kind::Wait => self.wait.as_ref(),
            Kind::Service => self.service.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(upto: u64) -> Percentiles {
        among(upto, 0)
    }

    /// The numbers from 1 and arrivals that were never answered.
    fn among(upto: u64, unanswered: u64) -> Percentiles {
        let mut histogram = Histogram::new(3).unwrap();
        (1..=upto).for_each(|ms| histogram += ms * 1_000_000);
        Percentiles::with_unanswered(&histogram, unanswered).unwrap()
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
    fn a_percentile_needs_a_hundred_samples_above_it() {
        assert!(milliseconds(10_000).p99_ms.is_some());
        assert!(milliseconds(9_999).p99_ms.is_none());
        assert!(milliseconds(9_999).p95_ms.is_some());
        let few = milliseconds(199);
        assert_eq!((few.p50_ms, few.count), (None, 199));
        assert!(few.max_ms > 198.0);
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
            "201 of 20000 arrivals were never answered, so it exceeds every measured latency"
        );
        let too_few = "fewer than 100 of 20000 operations lie above it";
        assert_eq!(p.why_not(Percentile::P999), too_few);
    }

    #[test]
    fn nothing_recorded_has_no_percentiles() {
        assert!(Percentiles::of(&Histogram::new(3).unwrap()).is_none());
    }
}
