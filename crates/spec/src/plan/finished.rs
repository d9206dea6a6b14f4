//! What the planner knows about a finished trial.
//!
//! Purpose: the figures on which the next trial depends. Boundaries: `run` derives them from the record.

use record::{Percentile, TrialKey};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    pub key: TrialKey,
    /// Whether its figures can be used: it completed and is valid.
    pub is_usable: bool,
    /// From the start of its server to its end.
    pub elapsed_s: f64,
    /// Throughput (ops/s) of the measured part; None if the trial has none.
    pub throughput: Option<f64>,
    /// The share of finished operations that failed, 0 to 1.
    pub failed_share: f64,
    /// Response percentiles (ms), those that are known.
    pub latency_ms: BTreeMap<Percentile, f64>,
    /// Whether more operations arrived than completed.
    pub unstable: bool,
    /// Whether its server still runs, so that a series can continue on it. Never true for a trial of an earlier process.
    pub server_is_up: bool,
}

impl Finished {
    /// A trial on whose figures no other depends: rounds of queries, and failed trials.
    pub fn without_figures(key: TrialKey, is_usable: bool) -> Finished {
        Finished {
            key,
            is_usable,
            elapsed_s: 0.0,
            throughput: None,
            failed_share: 0.0,
            latency_ms: BTreeMap::new(),
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
