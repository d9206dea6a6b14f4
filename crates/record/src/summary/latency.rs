//! Percentiles of latencies, with their caveats in words.
//!
//! Boundary: crate `stats` reads them from histograms.

use crate::family::kind::LatencyKind;
use crate::family::percentile::{Percentile, SAMPLES_ABOVE, SAMPLES_ABOVE_MIN, SPANS_ABOVE};
use crate::text::number::grouped;
use serde::{Deserialize, Serialize};

/// One kind of latency (ms).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub count: u64,
    /// Further arrivals that were dropped, held back by a full queue, or still queued at the end. Percentiles count them as longer than any measured latency;
    /// mean and maximum exclude them.
    pub unanswered: u64,
    pub mean_ms: f64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub p999_ms: Option<f64>,
    pub max_ms: f64,
    /// Percentiles of few samples, or whose samples come from few seconds.
    #[serde(default)]
    pub uncertain: Vec<Percentile>,
    /// The uncertain percentiles that the load generator's own stalls decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_generator: Vec<Percentile>,
    /// The uncertain percentiles that pauses of the server may decide, in a load in slices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_pauses: Vec<Percentile>,
}

impl Percentiles {
    /// Adds a percentile to the uncertain ones.
    pub fn doubt(&mut self, percentile: Percentile) {
        if !self.uncertain.contains(&percentile) {
            self.uncertain.push(percentile);
        }
    }

    /// All operations: those that were answered, and the arrivals that never were.
    fn all(&self) -> u64 {
        self.count + self.unanswered
    }

    /// How many of all operations lie above a percentile.
    fn samples_above(&self, percentile: Percentile) -> f64 {
        percentile.samples_above(self.all())
    }

    /// Whether a percentile is missing because it lies among arrivals that were never answered, and not because there are few.
    pub fn is_unanswered(&self, percentile: Percentile) -> bool {
        self.at(percentile).is_none() && self.samples_above(percentile) >= SAMPLES_ABOVE_MIN
    }

    /// Why a percentile is missing.
    pub fn why_not(&self, percentile: Percentile) -> String {
        let all = grouped(self.all());
        if self.is_unanswered(percentile) {
            format!(
                "{} of {all} arrivals were never answered, so it exceeds every measured latency",
                grouped(self.unanswered)
            )
        } else {
            format!("fewer than {SAMPLES_ABOVE_MIN} of {all} operations lie above it")
        }
    }

    pub fn is_uncertain(&self, percentile: Percentile) -> bool {
        self.uncertain.contains(&percentile)
    }

    /// Whether too few operations lie above it for a certain figure, from however many seconds they come.
    pub fn has_few_samples(&self, percentile: Percentile) -> bool {
        self.samples_above(percentile) < SAMPLES_ABOVE
    }

    /// Why a percentile is uncertain, and how long a load of this rate would do; none if it is certain or missing.
    ///
    /// `only 50 operations lie above the p99: 20 s would do`
    pub fn why_uncertain(&self, percentile: Percentile, seconds: u32) -> Option<String> {
        let above = self.samples_above(percentile);
        let name = percentile.title();
        if self.of_generator.contains(&percentile) {
            return Some(format!(
                "the load generator did not run while the operations above the {name} waited"
            ));
        }
        if self.of_pauses.contains(&percentile) {
            return Some(match percentile {
                Percentile::Max => "the longest operation is the first one of a client after a pause of the server; slices = \"off\" has no pauses".to_string(),
                _ => format!(
                    "the operations above the {name} are largely the first ones after pauses of the server, which take longer; longer slices would do"
                ),
            });
        }
        self.is_uncertain(percentile)
            .then(|| match above < SAMPLES_ABOVE {
                true => format!(
                    "only {:.0} operations lie above the {name}; {:.0} s would do",
                    above.floor(),
                    (f64::from(seconds) * SAMPLES_ABOVE / above).ceil()
                ),
                false => format!(
                    "the operations above the {name} come from fewer than {SPANS_ABOVE} seconds"
                ),
            })
    }

    /// The percentile (ms).
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

/// Response, wait and service time; in closed loop the response time is the service time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub response: Option<Percentiles>,
    pub wait: Option<Percentiles>,
    pub service: Option<Percentiles>,
    /// Times of operations that the server refused; none in older records, where these are among the others.
    #[serde(default)]
    pub failed: Option<Percentiles>,
}

impl Latency {
    pub fn of(&self, kind: LatencyKind) -> Option<&Percentiles> {
        match kind {
            LatencyKind::Response => self.response.as_ref(),
            LatencyKind::Wait => self.wait.as_ref(),
            LatencyKind::Service => self.service.as_ref(),
            LatencyKind::Failed => self.failed.as_ref(),
        }
    }
}
