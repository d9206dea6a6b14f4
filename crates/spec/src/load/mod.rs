//! What is asked of a workload: by clients that wait for their replies, or at a rate.
//!
//! Goal: `[load.closed]` and `[load.open]` as plain data, and what a level lays over them. `section` reads them, `rates` and
//! `arrivals` what has more than one form. Non-goals: driving the load (crate `load`); measuring the maximum or searching it (`plan`).

mod arrivals;
mod rate;

mod factor;
mod rates;
mod section;
mod trace;

pub use arrivals::ArrivalsSpec;
pub(super) use factor::{clients_factor, rate_factor, workers_factor};
pub use rate::{MAX, RateSpec, SearchSpec, Threshold};
pub(super) use section::{level, load};

use super::experiment::FactorSpec;
use super::mistake::Span;
use std::time::Duration;

/// More clients or workers than this are refused.
pub(crate) const CLIENTS_MAX: u32 = 100_000;
/// Operations that may wait for a worker, where the file says nothing.
pub(crate) const QUEUE: u64 = 10_000;

/// The file's load. What has a list is a factor, and stands here with the list's first entry.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadSpec {
    /// Each client asks again when it was answered and has thought; `think` is a mean, zero for none.
    Closed {
        clients: u32,
        think: Duration,
    },
    Open(OpenSpec),
}

/// Operations arrive whether or not the server keeps up.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenSpec {
    pub rate: RateSpec,
    pub arrivals: ArrivalsSpec,
    pub workers: u32,
    /// Operations that may wait for a worker.
    pub queue: u64,
    pub when_full: WhenFull,
}

/// What happens to an arrival that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The trial's load ends there and says so.
    Stop,
    /// It is dropped and counted.
    Drop,
    /// The schedule stands still until there is room.
    Wait,
}

impl WhenFull {
    /// As it is written in the file and in the record.
    pub fn name(self) -> &'static str {
        match self {
            WhenFull::Stop => "stop",
            WhenFull::Drop => "drop",
            WhenFull::Wait => "wait",
        }
    }
}

/// The `load` of a level: what it replaces of the file's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadPatch {
    pub clients: Option<u32>,
    pub think: Option<Duration>,
    pub rate: Option<RateSpec>,
    pub arrivals: Option<ArrivalsSpec>,
    pub workers: Option<u32>,
    pub queue: Option<u64>,
    pub when_full: Option<WhenFull>,
}

/// The load of one trial, nothing left open.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedLoad {
    Closed {
        clients: u32,
        think: Duration,
    },
    /// `rate` in operations a second.
    Open {
        rate: f64,
        arrivals: ArrivalsSpec,
        workers: u32,
        queue: u64,
        when_full: WhenFull,
    },
}

impl PlannedLoad {
    /// Clients, or the workers that take their place in open loop: as many connections are opened.
    pub fn clients(&self) -> u32 {
        match self {
            PlannedLoad::Closed { clients, .. } => *clients,
            PlannedLoad::Open { workers, .. } => *workers,
        }
    }

    /// As it goes into the record.
    pub fn mode(&self) -> record::Mode {
        match self {
            PlannedLoad::Closed { clients, think } => record::Mode::Closed {
                clients: *clients,
                think_s: think.as_secs_f64(),
            },
            PlannedLoad::Open {
                rate,
                arrivals,
                workers,
                queue,
                when_full,
            } => record::Mode::Open {
                rate: *rate,
                arrivals: arrivals.kind(),
                workers: *workers,
                queue: *queue,
                when_full: when_full.name().to_string(),
            },
        }
    }
}

impl LoadSpec {
    /// The file's load with a level's laid over it. Keys of the other kind of load were refused when the file was read.
    pub fn patched(mut self, patch: &LoadPatch) -> LoadSpec {
        match &mut self {
            LoadSpec::Closed { clients, think } => {
                *clients = patch.clients.unwrap_or(*clients);
                *think = patch.think.unwrap_or(*think);
            }
            LoadSpec::Open(open) => {
                open.rate = patch.rate.clone().unwrap_or(open.rate.clone());
                if let Some(arrivals) = &patch.arrivals {
                    open.arrivals = arrivals.clone();
                }
                open.workers = patch.workers.unwrap_or(open.workers);
                open.queue = patch.queue.unwrap_or(open.queue);
                open.when_full = patch.when_full.unwrap_or(open.when_full);
            }
        }
        self
    }

    /// The keys that it and the load of its levels may have.
    pub fn keys(&self) -> &'static [&'static str] {
        match self {
            LoadSpec::Closed { .. } => &CLOSED_KEYS,
            LoadSpec::Open(_) => &OPEN_KEYS,
        }
    }

    /// The keys of the other kind.
    pub fn other_keys(&self) -> &'static [&'static str] {
        match self {
            LoadSpec::Closed { .. } => &OPEN_KEYS,
            LoadSpec::Open(_) => &CLOSED_KEYS,
        }
    }

    /// Whether the file leaves a level no say on this key: a rate that is found by trials, or that a trace brings.
    pub fn decides(&self, key: &str) -> bool {
        let LoadSpec::Open(open) = self else {
            return false;
        };
        let is_found = matches!(open.rate, RateSpec::Find(_));
        let is_recorded = matches!(open.arrivals, ArrivalsSpec::Trace { .. });
        key == "rate" && (is_found || is_recorded)
    }

    /// `[load.closed]`
    pub fn section(&self) -> &'static str {
        match self {
            LoadSpec::Closed { .. } => "[load.closed]",
            LoadSpec::Open(_) => "[load.open]",
        }
    }
}

const CLOSED_KEYS: [&str; 2] = ["clients", "think"];
const OPEN_KEYS: [&str; 5] = ["rate", "arrivals", "workers", "queue", "when_full"];

/// What is read of `[load]`.
pub(super) struct Load {
    pub spec: LoadSpec,
    /// `clients`, `rate` and `workers`, where they have lists.
    pub factors: Vec<FactorSpec>,
    /// The place of a trace's file name, and the trace itself to stand there in the record.
    pub trace: Option<(Span, String)>,
}

/// The factors that lists in `[load]` make. A series is trials that differ in these alone.
pub const LOAD_FACTORS: [&str; 3] = ["clients", "workers", "rate"];
