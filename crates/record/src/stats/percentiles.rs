//! Percentiles of latencies, from merged histograms alone.
//!
//! Rule 4: counts are added, percentiles never averaged; one with too few samples above it is none.

use crate::claim::Percentile;
use crate::load::Kind;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// So many samples have to lie above a percentile. The count above it then has a standard error of a tenth.
pub const SAMPLES_ABOVE: f64 = 100.0;

/// Milliseconds of one kind of latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub count: u64,
    pub mean_ms: f64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub p999_ms: Option<f64>,
    pub max_ms: f64,
}

impl Percentiles {
    /// Of nanoseconds; None where nothing was recorded.
    pub fn of(nanoseconds: &Histogram<u64>) -> Option<Percentiles> {
        let count = nanoseconds.len();
        let at = |quantile: f64| {
            let above = count as f64 * (1.0 - quantile);
            // A bound of exactly 100 must not fall to the rounding of 1 - 0.99.
            (above + 1e-6 >= SAMPLES_ABOVE)
                .then(|| ms(nanoseconds.value_at_quantile(quantile) as f64))
        };
        (count > 0).then(|| Percentiles {
            count,
            mean_ms: ms(nanoseconds.mean()),
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: ms(nanoseconds.max() as f64),
        })
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

fn ms(nanoseconds: f64) -> f64 {
    nanoseconds / 1e6
}

/// The three kinds; in closed loop the response is the service.
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
        let mut histogram = Histogram::new(3).unwrap();
        (1..=upto).for_each(|ms| histogram += ms * 1_000_000);
        Percentiles::of(&histogram).unwrap()
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
    fn a_percentile_with_fewer_than_a_hundred_samples_above_it_is_none() {
        assert!(milliseconds(10_000).p99_ms.is_some());
        assert!(milliseconds(9_999).p99_ms.is_none());
        assert!(milliseconds(9_999).p95_ms.is_some());
        let few = milliseconds(199);
        assert_eq!((few.p50_ms, few.count), (None, 199));
        assert!(few.max_ms > 198.0);
    }

    #[test]
    fn nothing_recorded_has_no_percentiles() {
        assert!(Percentiles::of(&Histogram::new(3).unwrap()).is_none());
    }
}
