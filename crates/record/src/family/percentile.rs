//! Percentiles, and how many samples one needs.

use serde::{Deserialize, Serialize};

/// With fewer samples above it, a percentile is uncertain: their count has a standard error of 10 %.
pub const SAMPLES_ABOVE: f64 = 100.0;
/// With fewer samples above it, a percentile is not shown.
pub const SAMPLES_ABOVE_MIN: f64 = 10.0;
/// Samples above a percentile that come from fewer spans than this may be one event: a flush delays all that wait for it.
pub const SPANS_ABOVE: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Percentile {
    P50,
    P95,
    P99,
    P999,
    Max,
}

impl Percentile {
    pub const ALL: [Percentile; 5] = [
        Percentile::P50,
        Percentile::P95,
        Percentile::P99,
        Percentile::P999,
        Percentile::Max,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Percentile::P50 => "p50",
            Percentile::P95 => "p95",
            Percentile::P99 => "p99",
            Percentile::P999 => "p999",
            Percentile::Max => "max",
        }
    }

    /// As reports show it: `p99.9`.
    pub fn title(self) -> &'static str {
        match self {
            Percentile::P999 => "p99.9",
            other => other.text(),
        }
    }

    /// The part of all samples below it, from 0 to 1.
    pub fn share_below(self) -> f64 {
        match self {
            Percentile::P50 => 0.5,
            Percentile::P95 => 0.95,
            Percentile::P99 => 0.99,
            Percentile::P999 => 0.999,
            Percentile::Max => 1.0,
        }
    }

    /// How many of all samples lie above it.
    pub fn samples_above(self, all: u64) -> f64 {
        // 99.999 where 100 are meant would fall to the rounding of 1 - 0.99.
        all as f64 * (1.0 - self.share_below()) + 1e-6
    }
}
