//! A timed load in a few figures: what tables, claims and findings need of a trial, so that they read no histograms.
//!
//! Purpose: the summary that a record holds, and its sentences. Boundary: crate `stats` makes it, by rules that have a version.

mod disturbance;
mod latency;

pub use disturbance::{LevelShift, Moved, Period, StaleReads, Stall};
pub use latency::{Latency, Percentiles};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// The measured part of a timed load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Rule 5: which seconds count. All that follows is about these, but for `offered.dropped` and the engine.
    pub steady: Steady,
    /// Operations done, the retried among them.
    pub operations: u64,
    /// Operations over which the record's counters were taken: from the fixed warm-up on, or all.
    pub operations_counted: u64,
    pub retried: u64,
    /// Failed, lost or unknown, those that were lost after the end of the load among them.
    pub errors: u64,
    /// Errors after COMMIT was sent and before its answer: the server may have committed or not.
    #[serde(default)]
    pub unknown: u64,
    /// Throughput (ops/s); none if no second is left.
    pub throughput: Option<f64>,
    /// The standard error of the throughput as a share of it, by batch means; none under 20 s, and in older records.
    #[serde(default)]
    pub throughput_error: Option<f64>,
    /// The standard deviation of the throughput of single seconds as a share of its mean; none under 10 s.
    #[serde(default)]
    pub variation: Option<f64>,
    /// The latency of all operations together; empty if the load was unstable.
    pub latency: Latency,
    /// The latency of each recorded operation, in the workload's order.
    pub by_operation: Vec<(String, Latency)>,
    /// What became of every operation, in the workload's order.
    #[serde(default)]
    pub accounts: Vec<Account>,
    /// Open loop alone.
    pub offered: Option<Offered>,
    pub engine: EngineCheck,
    pub stalls: Vec<Stall>,
    /// Level shifts in all seconds after a warm-up, those before a slowdown among them.
    pub shifts: Vec<LevelShift>,
    pub period: Option<Period>,
    /// None in older records that were read without their seconds.
    #[serde(default)]
    pub sight: Option<Sight>,
    /// None for one node.
    #[serde(default)]
    pub stale_reads: Option<StaleReads>,
    /// None without a standard.
    #[serde(default)]
    pub conformance: Option<Conformance>,
}

impl Summary {
    /// Why an open load exceeded what its server can serve, if it did.
    pub fn unstable(&self) -> Option<&str> {
        self.offered.as_ref()?.unstable.as_deref()
    }

    /// The caveats in sentences, without the queue's growth.
    pub fn notes(&self) -> Vec<String> {
        let steady = (!self.steady.shape.is_steady()).then(|| self.steady.reason.clone());
        let engine = [&self.engine.invalid, &self.engine.limit, &self.engine.note];
        let stalls = self.stalled();
        let shifts = self.shifts.iter().map(LevelShift::sentence);
        let period = self.period.as_ref().map(Period::sentence);
        (steady.into_iter())
            .chain(engine.into_iter().flatten().cloned())
            .chain(stalls)
            .chain(shifts)
            .chain(period)
            .chain(self.stale_reads.as_ref().map(StaleReads::sentence))
            .collect()
    }

    /// All stalls in one sentence; none without stalls.
    pub fn stalled(&self) -> Option<String> {
        disturbance::sentence(&self.stalls, self.steady.seconds())
    }
}

/// The measured seconds of a trial, `from_s..until_s`, and the shape of their throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    pub from_s: u32,
    /// The first second that was not whole.
    pub until_s: u32,
    pub shape: Shape,
    /// The change points, in seconds of the trial.
    pub changes_s: Vec<u32>,
    /// The beginning by MSER-5; none if the load is too short.
    pub mser_s: Option<u32>,
    /// In one sentence, for people.
    pub reason: String,
}

impl Steady {
    pub fn seconds(&self) -> u32 {
        self.until_s.saturating_sub(self.from_s)
    }

    /// As places in a series of seconds.
    pub fn range(&self) -> Range<usize> {
        self.from_s as usize..self.until_s as usize
    }
}

/// What the detectors of shapes can see in the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sight {
    pub seconds: u32,
    /// The standard deviation of single seconds around their level, as a share of the mean.
    pub scatter: f64,
    pub shift: Seen,
    pub period: Seen,
    /// A change so near the beginning or the end that it may be a level shift or a spell.
    #[serde(default)]
    pub at_edge: Option<AtEdge>,
    /// The distance (s) of drops that are too few to tell whether they recur.
    #[serde(default)]
    pub drops_every_s: Option<f64>,
    /// The longest period (s) whose drops would be seen.
    #[serde(default)]
    pub longest_period_s: u32,
}

/// A level that is too short to tell whether it lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtEdge {
    pub shift: LevelShift,
    /// The number of measured seconds that would do.
    pub enough_s: u32,
}

/// How surely a shape is seen that changes the throughput by a fifth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The probability, from 0 to 1.
    pub power: f64,
    /// The number of seconds that would do at this scatter; None if that is many hours.
    pub enough_s: Option<u32>,
}

/// Barrett et al. 2017, for throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Everything is at the level of the end.
    Flat,
    /// The beginning is slower than the end.
    WarmUp,
    /// The beginning is faster than the end.
    Slowdown,
    /// The throughput changes in the last quarter, or back and forth.
    NoSteadyState,
    /// The change points and MSER-5 give different throughputs, or the throughput keeps rising or falling.
    NotShown,
    /// Shorter than 20 s: no steady state can be established.
    TooShort,
}

impl Shape {
    /// Whether the measured part is steady.
    pub fn is_steady(self) -> bool {
        matches!(self, Shape::Flat | Shape::WarmUp | Shape::Slowdown)
    }
}

/// The operations of one name that ended in the measured part or were still running at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    pub name: String,
    /// False for work in the background, which no client chooses.
    pub is_in_mix: bool,
    /// All of them: `ends` and `unfinished`.
    pub starts: u64,
    /// Operations that ended before the end of the load, done or not.
    pub ends: u64,
    /// Operations of `ends` that were done.
    pub done: u64,
    /// Operations that were still running at the end of the load.
    pub unfinished: u64,
    /// Failed, lost or unknown: of `ends`, and of `unfinished` after the end of the load.
    pub errors: u64,
    /// The errors by code, with those behind retries.
    pub errors_by_code: BTreeMap<u16, u64>,
    /// The longest one of the whole load, from its start to its end (s); 0 if none is recorded.
    pub longest_s: f64,
}

impl Account {
    /// Adds those of another load, or of another operation.
    pub fn add(&mut self, other: &Account) {
        self.starts += other.starts;
        self.ends += other.ends;
        self.done += other.done;
        self.unfinished += other.unfinished;
        self.errors += other.errors;
        for (code, count) in &other.errors_by_code {
            *self.errors_by_code.entry(*code).or_default() += count;
        }
        self.longest_s = self.longest_s.max(other.longest_s);
    }

    /// The number that failed, were lost or did not finish.
    pub fn spoiled(&self) -> u64 {
        self.starts - self.done
    }

    /// The share that failed, was lost or did not finish, from 0 to 1.
    pub fn spoiled_share(&self) -> f64 {
        self.spoiled() as f64 / self.starts.max(1) as f64
    }

    /// The share that failed, was lost or has no known outcome, from 0 to 1.
    pub fn failed_share(&self) -> f64 {
        self.errors as f64 / self.starts.max(1) as f64
    }
}

/// Offered and completed load over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// Requests per second.
    pub offered: f64,
    /// Operations that ended per second, successfully or not.
    pub completed: f64,
    pub queued_at_end: u64,
    /// Arrivals of the warm-up that were queued when measuring began.
    #[serde(default)]
    pub queued_at_start: u64,
    /// Dropped arrivals of the whole load, warm-up included.
    pub dropped: u64,
    /// The growth of the queue (requests/s): the slope of a line through it.
    pub growth: f64,
    /// Why there are no percentiles; none if the load was stable.
    pub unstable: Option<String>,
}

/// The load generator's CPU use, and whether it affected the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineCheck {
    /// Cores used on average, and their share of the available cores.
    pub cores: f64,
    pub share: f64,
    /// Why the generator limits the result: `the load generator was the bottleneck: ...`, `CPU saturated: ...`.
    pub limit: Option<String>,
    /// Why the percentiles are unusable: the generator's own lateness is too large a part of them.
    pub invalid: Option<String>,
    /// Lateness that is a visible part of the percentiles, which remain valid.
    pub note: Option<String>,
    /// Seconds of the measured part in which it did not run; none if they matter to no figure, and in older records.
    #[serde(default)]
    pub stalls: Option<OwnStalls>,
}

/// The load generator's own stalls in the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnStalls {
    /// Seconds of the trial that count for no stall, level shift or period.
    pub seconds: Vec<u32>,
    /// In one sentence, for people.
    pub text: String,
    /// Whether they decide the trial's figures.
    pub is_invalid: bool,
}

/// The measured part of a load against its standard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conformance {
    /// The name of the operation that the standard counts.
    pub counted: String,
    /// The name of the counted operations per minute: `NOTPM`.
    pub per_minute: String,
    /// Counted operations per second, with those of the warm-up as in the throughput; None if no second is left.
    pub rate: Option<f64>,
    /// In the workload's order.
    pub operations: Vec<Conforming>,
}

/// An operation against its requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conforming {
    pub name: String,
    /// Operations done in the measured seconds.
    pub count: u64,
    /// The share of the operations of the mix, from 0 to 1; None for an operation outside of the mix.
    pub share: Option<f64>,
    pub minimum_share: Option<f64>,
    /// The 90th percentile of the response time (ms); None if fewer than 10 operations lie above it, and of an unstable load.
    pub p90_ms: Option<f64>,
    pub limit_ms: f64,
}

impl Conforming {
    /// Whether the 90th percentile is within its limit; None if it is not known.
    pub fn limit_met(&self) -> Option<bool> {
        self.p90_ms.map(|p90_ms| p90_ms <= self.limit_ms)
    }

    /// Whether the share reaches its minimum; None without a minimum.
    pub fn share_met(&self) -> Option<bool> {
        Some(self.share? >= self.minimum_share?)
    }
}
