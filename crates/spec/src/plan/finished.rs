//! What the planner knows of a trial that was measured.
//!
//! Goal: the few figures on which the next trial depends. Non-goal: the record (`run` makes one from the other).

use record::TrialKey;
use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    pub key: TrialKey,
    /// Its figures can be used: it was done, and nothing made it invalid.
    pub is_usable: bool,
    /// Operations a second of the measured part; none where the trial has no such figure.
    pub throughput: Option<f64>,
    /// Of all operations that ended, those that the server refused or that were lost. 0 to 1.
    pub failed_share: f64,
    /// Of the response.
    pub latency_ms: LatencyMs,
    /// More operations arrived than were done.
    pub unstable: bool,
    /// The server that it was measured on is still up as the trial left it, so that a series can go on there. Never so
    /// for what an earlier process measured.
    pub server_is_up: bool,
}

/// Milliseconds; none where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyMs {
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
}

impl LatencyMs {
    /// One of the four.
    pub fn at(&self, quantile: f64) -> Option<f64> {
        match quantile {
            0.5 => self.p50,
            0.95 => self.p95,
            0.99 => self.p99,
            0.999 => self.p999,
            _ => None,
        }
    }
}

impl Finished {
    /// A trial without figures on which another could depend: rounds of queries, and what failed.
    pub fn without_figures(key: TrialKey, is_usable: bool) -> Finished {
        Finished {
            key,
            is_usable,
            throughput: None,
            failed_share: 0.0,
            latency_ms: LatencyMs::default(),
            unstable: false,
            server_is_up: false,
        }
    }
}

/// By key.
pub(super) struct Known<'f>(HashMap<&'f TrialKey, &'f Finished>);

impl<'f> Known<'f> {
    pub(super) fn new(finished: &'f [Finished]) -> Known<'f> {
        Known(finished.iter().map(|one| (&one.key, one)).collect())
    }

    pub(super) fn get(&self, key: &TrialKey) -> Option<&'f Finished> {
        self.0.get(key).copied()
    }
}
