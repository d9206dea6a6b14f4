//! A timed load in a trial: its seconds, its histograms, its errors.
//!
//! Purpose: plain data from which every figure of the trial can be recomputed. Boundaries: times of rounds of queries are in
//! `trial::Round`, judging is in `stats`.

pub use crate::family::kind::LatencyKind;

use crate::family::Counters;
use crate::histogram::PackedHistogram;
use crate::key::TrialKey;
use crate::summary::Summary;
use crate::text::word::words;
use std::collections::BTreeMap;

/// The timed load of a trial, instead of rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    pub mode: Mode,
    /// As requested; `stats` finds where the measured part begins.
    pub warmup: Warmup,
    /// Nanoseconds since the Unix epoch when the first operation was due.
    pub started_ns: i64,
    /// Seconds until the last operation ended, warm-up included.
    pub elapsed_s: f64,
    /// The names of the operations, in the workload's order.
    pub operations: Vec<String>,
    /// What the benchmark's standard requires of them; None without a standard, and in older records.
    pub standard: Option<Standard>,
    /// All operations' response each second (`operation` none, `every_s` 1), each operation and kind each ten seconds.
    pub histograms: Vec<HistogramNote>,
    /// By name, one value a second from second 0; none if it could not be read. Own names: `throughput`, `errors`
    /// (`unknown` among them: COMMIT sent, no answer), `retried`, `dropped`, `queued`, `running`, `idle`, [`CARRIED`], [`HELD_MS`], [`UNCOUNTED`]; `server cpu` (cores), `machine cpu` (cores, everything that runs on
    /// those that prony may use), `server context switches`, `device read bytes`, `device written bytes`, `network bytes`, `sampler cpu`; status
    /// counters of the server by their own names, as differences a second; gauges of the server as they stood.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
    /// Series of further nodes, by their number from 2; `series` has those of the first node.
    pub node_series: BTreeMap<u32, BTreeMap<String, Vec<Option<f64>>>>,
    pub errors: Vec<ErrorCount>,
    /// The counters of all nodes that clients use, over all seconds after a fixed warm-up, or over all seconds if the warm-up is detected,
    /// without the seconds of the series [`UNCOUNTED`].
    pub counters: Counters,
    pub engine: EngineNote,
    /// Open loop alone.
    pub open: Option<OpenNote>,
    /// Kept in the store, so that tables and claims need no histograms. None if the load is not from a store:
    /// `stats::summary` makes it then.
    pub summary: Option<Summary>,
}

impl Loaded {
    /// The seconds of a series; none if it is not in the record.
    pub fn seconds(&self, name: &str) -> &[Option<f64>] {
        self.series.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of a series in a second; None if it could not be read or is not in the record.
    pub fn at(&self, name: &str, second: usize) -> Option<f64> {
        self.seconds(name).get(second).copied().flatten()
    }

    /// Operations done in a second, with those that were due in the warm-up; None if it could not be read.
    pub fn done(&self, second: usize) -> Option<f64> {
        let carried = self.at(CARRIED, second).unwrap_or(0.0);
        self.at("throughput", second).map(|own| own + carried)
    }

    /// Seconds in which operations were started; in older records, until the last operation ended.
    pub fn driven_s(&self) -> f64 {
        self.engine.until_s.unwrap_or(self.elapsed_s)
    }
}

/// What the standard of a benchmark requires of a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Standard {
    /// The operation whose rate is the benchmark's figure.
    pub counted: String,
    /// The name of these operations per minute: `NOTPM`.
    pub per_minute: String,
    /// In the workload's order.
    pub requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Requirement {
    pub operation: String,
    /// The smallest share of all operations of the mix, from 0 to 1.
    pub minimum_share: Option<f64>,
    /// False for work in the background, which no client chooses.
    pub is_in_mix: bool,
    /// The longest 90th percentile of the response time (s).
    pub p90_limit_s: f64,
}

/// The series of further operations that were done in each second of the measured part of an open loop and were due in the warm-up. They
/// are in no other series, and have no latency. Absent without any, and in older records, where they count as measured.
pub const CARRIED: &str = "carried";
/// The backend of clients that are threads of their own.
pub const THREADS: &str = "threads";

/// The series of such operations that were not done. Absent without any.
pub const CARRIED_ERRORS: &str = "carried errors";

/// The series of the milliseconds of each second in which the schedule of an open loop was paused, because the queue was full. Absent
/// without any, and in older records.
pub const HELD_MS: &str = "held ms";

/// The series with a 1 for each second that the counters of the server do not cover, because it did not answer. Absent where they cover
/// all seconds, and in older records.
pub const UNCOUNTED: &str = "uncounted";

/// The series of the operations of this name that were done, per second. Older records have it only where there is a standard.
pub fn done_series(operation: &str) -> String {
    format!("{operation} done")
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Closed {
        clients: u32,
        think_s: f64,
    },
    Open {
        /// Scheduled arrivals per second, the mean of the measured part. Older records have the rate between bursts, or at the start of
        /// a ramp.
        rate: f64,
        arrivals: Arrivals,
        workers: u32,
        queue: u64,
        when_full: String,
        /// The lowest and the highest rate; none if the rate is constant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<RateRange>,
    },
}

impl Default for Mode {
    /// One client that does not pause.
    fn default() -> Mode {
        Mode::Closed {
            clients: 1,
            think_s: 0.0,
        }
    }
}

impl Mode {
    /// The rate at which requests arrive (ops/s); None in a closed loop.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Mode::Open { rate, .. } => Some(*rate),
            Mode::Closed { .. } => None,
        }
    }

    /// Whether the schedule itself makes the throughput rise and fall: with bursts, a ramp or recorded arrivals.
    pub fn has_changing_rate(&self) -> bool {
        match self {
            Mode::Closed { .. } => false,
            Mode::Open {
                arrivals: Arrivals::Trace,
                ..
            } => true,
            Mode::Open { range, .. } => range.is_some_and(|range| range.min < range.max),
        }
    }
}

/// The lowest and the highest rate (ops/s) of the measured part, as scheduled.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RateRange {
    pub min: f64,
    pub max: f64,
}

words! {
    /// The schedule of an open loop.
    Arrivals {
        Poisson = "poisson",
        Uniform = "uniform",
        Bursts = "bursts",
        Ramp = "ramp",
        Trace = "trace",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    Seconds(f64),
    /// Rule 5: the change points decide.
    #[default]
    Find,
}

impl Warmup {
    /// Its length as far as it is known before the load (s): zero where the change points decide.
    pub fn known_s(self) -> f64 {
        match self {
            Warmup::Seconds(warmup_s) => warmup_s,
            Warmup::Find => 0.0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramNote {
    /// None: all operations together.
    pub operation: Option<String>,
    pub kind: LatencyKind,
    pub every_s: u32,
    pub start_s: u32,
    pub nanoseconds: PackedHistogram,
}

/// What an error did to its operation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The server refused the operation.
    Failed,
    /// The connection was lost before anything could have been committed.
    Lost,
    /// The connection was lost after COMMIT was sent: the server may have committed or not.
    Unknown,
    /// The operation was tried again.
    Retried,
}

/// Errors of one second.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ErrorCount {
    pub second: u32,
    /// None in older records, which did not distinguish kinds.
    #[serde(default)]
    pub kind: Option<ErrorKind>,
    /// The operation's name; none in older records.
    #[serde(default)]
    pub operation: Option<String>,
    /// The server's number, or prony's own above 60,000.
    pub code: u16,
    pub count: u64,
}

/// Rule 8: the load generator watches itself.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EngineNote {
    /// `io_uring`, `epoll`, `libaio`, or [`THREADS`]
    pub backend: String,
    pub reactors: u32,
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    /// Cores available to this process.
    pub cores: f64,
    pub open_s: f64,
    /// Delay behind the schedule (µs) of operations for which an idle worker was waiting; none in closed loop.
    pub lateness_us_p50: Option<f64>,
    pub lateness_us_p99: Option<f64>,
    pub lateness_us_max: Option<f64>,
    /// Number of clients that ended early, with the reason of the first.
    pub ended_early: u32,
    pub stopped: Option<String>,
    /// When the last operation was started, in seconds since the beginning; none in older records.
    #[serde(default)]
    pub until_s: Option<f64>,
    /// Operations that were still running then, where there were any; none in older records.
    #[serde(default)]
    pub unfinished: Vec<Unfinished>,
    /// What the server's replies say of the operations, where they say something more; none in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectNote>,
    /// The rows that operations changed and found; none in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<RowsNote>,
    /// When this shard of a shared load began, or each of those that were merged. Empty for a whole load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardStart>,
    /// The seconds in which its threads did not run for more than 20 ms at a time, in order; empty in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<EngineStall>,
    /// How the load was divided; none for a load without a break, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
}

/// A load in slices, in which its server took turns with others. Seconds of the load are those of its slices.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Slices {
    /// The middle length, as requested or as the operations needed it (s); each slice has half of it to one and a half.
    pub length_s: f64,
    /// Slices of the measured part.
    pub count: u32,
    /// Servers that took turns, this one among them.
    pub servers: u32,
    /// From the first slice of the measured part to the end of the last, with those of the others (s).
    pub spanned_s: f64,
    /// The longest time that clients needed to finish their operations after a slice was over (s).
    pub finishing_s_max: f64,
    /// The share of the clients' time, from 0 to 1, that was in the first operation of a slice or after its end; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges_share: Option<f64>,
    /// The mean latency of the first operation of each client in a slice (s); none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_s_mean: Option<f64>,
    /// The longest latency of such a first operation (s); none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_s_max: Option<f64>,
    /// The mean latency of all operations that ended in slices (s); none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_s_mean: Option<f64>,
    /// What was written to the whole disk that holds the server's data while the server was paused between its slices: by the other servers,
    /// by the kernel for this one, and by other programs. The kernel does not say for whom it writes. None where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_between_bytes: Option<u64>,
}

impl Slices {
    /// The least number of slices of a trial: with fewer, the order of the servers is not balanced.
    pub const MIN: u32 = 4;

    /// The least measured time that a plan chooses or proposes (s): shorter trials were not measured (METHODOLOGY.md, rule 1, *Budget*). Without
    /// a warm-up, a short load after a start asks another question than a long one.
    pub fn planned_s_min(is_warmed: bool) -> u32 {
        match is_warmed {
            true => 10,
            false => 20,
        }
    }
}

/// A second in which threads of the load generator did not run.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EngineStall {
    /// Since the start of the load.
    pub second: u32,
    /// For how long the threads did not run in this second, their mean (s).
    pub stood_s: f64,
    /// The longest time at once (s), of which this second may have only a part.
    pub longest_s: f64,
}

/// The start of one shard of a load, by the clock of the server on which the shards met.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ShardStart {
    /// The number of the shard, from 1.
    pub number: u32,
    pub of: u32,
    /// The server's clock minus the clock of the shard's machine (s).
    pub clock_offset_s: f64,
    /// The round trip of the exchange that measured the offset (s): the offset is wrong by at most half of it.
    pub round_trip_s: f64,
    /// The common start by the server's clock: nanoseconds since the Unix epoch.
    pub start_ns: i64,
    /// From the common start until the last of the shard's clients was awake (s).
    pub late_s: f64,
}

/// Operations of one name that were cut off by the end of the load. Their times are recorded, and their ends are in the seconds after
/// it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unfinished {
    pub operation: String,
    /// Done while the load was drained.
    pub done: u64,
    /// Failed or lost then, or abandoned at the end of the drain.
    pub not_done: u64,
}

/// Operations of one name that were done, over the whole load with its warm-up, and of these the ones whose replies show that a
/// statement had no effect or caused warnings.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EffectNote {
    pub operation: String,
    pub done: u64,
    /// A statement that changes rows changed none.
    pub changed_nothing: u64,
    /// A statement that returns rows found none.
    pub found_nothing: u64,
    /// A statement caused warnings.
    pub warned: u64,
}

/// Operations of one name that were done, over the whole load with its warm-up, and the rows that their statements changed and found, all
/// together.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RowsNote {
    pub operation: String,
    pub done: u64,
    pub changed: u64,
    pub found: u64,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OpenNote {
    pub arrived: u64,
    pub started: u64,
    pub queued_at_end: u64,
    pub dropped: u64,
    /// Seconds that the schedule paused because the queue was full.
    pub held_s: f64,
}

/// One second of a running trial, for live display, or of a trial that was killed.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LiveSample {
    /// Values by the names of `Loaded::series`; values that could not be read are absent.
    pub values: BTreeMap<String, f64>,
    /// Response time of all operations in this second (ms), by percentile (`p50`, `p99`, `max`).
    pub latency_ms: BTreeMap<String, f64>,
    /// The number of errors by code.
    pub errors: BTreeMap<u16, u64>,
}

/// The trial that is running, or was running when prony was killed.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveTrial {
    pub key: TrialKey,
    /// The seconds, in order.
    pub seconds: Vec<(u32, LiveSample)>,
}
