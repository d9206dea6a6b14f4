//! The load on a workload: concurrent clients (closed loop), or a rate (open loop).
//!
//! Purpose: `[load.closed]` and `[load.open]` as plain data, and the changes of levels. `section` reads them; `rates` and
//! `arrivals` read keys with several forms. Boundaries: crate `load` drives the load; `plan` measures or searches the maximum.

mod arrivals;
mod queue;
mod rate;

mod rates;
mod section;
mod trace;

pub use arrivals::ArrivalsSpec;
pub use queue::QueueSpec;
pub use rate::{MAX, RateSpec, SearchSpec, Threshold};
pub(super) use section::{level, load};

use crate::file::mistake::Span;
use std::time::Duration;

/// The maximum number of clients or workers.
pub(crate) const CLIENTS_MAX: u32 = 100_000;

/// The load of the file. A list becomes a factor; its first entry is kept here.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadSpec {
    /// Concurrent clients: each waits for its reply, then for the think time. `think` is a mean; zero: no think time.
    Closed {
        clients: u32,
        think: Duration,
    },
    Open(OpenSpec),
}

/// Operations arrive independently of the server's replies.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenSpec {
    pub rate: RateSpec,
    pub arrivals: ArrivalsSpec,
    pub workers: u32,
    pub queue: QueueSpec,
    pub when_full: WhenFull,
}

/// What happens to an arrival that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The load of the trial ends, and the trial reports it.
    Stop,
    /// It is dropped and counted.
    Drop,
    /// The schedule pauses until the queue has space.
    Wait,
}

impl WhenFull {
    /// The name in the file and in the record.
    pub fn name(self) -> &'static str {
        match self {
            WhenFull::Stop => "stop",
            WhenFull::Drop => "drop",
            WhenFull::Wait => "wait",
        }
    }
}

/// The `load` of a level: its changes to the load of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadPatch {
    pub clients: Option<u32>,
    pub think: Option<Duration>,
    pub rate: Option<RateSpec>,
    pub arrivals: Option<ArrivalsSpec>,
    pub workers: Option<u32>,
    pub queue: Option<QueueSpec>,
    pub when_full: Option<WhenFull>,
}

/// The fully resolved load of one trial.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedLoad {
    Closed {
        clients: u32,
        think: Duration,
    },
    /// `rate` is in operations per second, `queue` in operations.
    Open {
        rate: f64,
        arrivals: ArrivalsSpec,
        workers: u32,
        queue: u64,
        when_full: WhenFull,
    },
}

impl PlannedLoad {
    /// The number of connections: clients in closed loop, workers in open loop.
    pub fn clients(&self) -> u32 {
        match self {
            PlannedLoad::Closed { clients, .. } => *clients,
            PlannedLoad::Open { workers, .. } => *workers,
        }
    }

    /// The form in the record.
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
                range: None,
            },
        }
    }
}

impl LoadSpec {
    /// Applies the load of a level. Keys of the other kind of load were rejected when the file was read.
    pub(crate) fn patched(mut self, patch: &LoadPatch) -> LoadSpec {
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

    /// The keys allowed in it and in the load of levels.
    pub fn keys(&self) -> &'static [&'static str] {
        match self {
            LoadSpec::Closed { .. } => &CLOSED_KEYS,
            LoadSpec::Open(_) => &OPEN_KEYS,
        }
    }

    /// The keys of the other kind.
    pub(crate) fn other_keys(&self) -> &'static [&'static str] {
        match self {
            LoadSpec::Closed { .. } => &OPEN_KEYS,
            LoadSpec::Open(_) => &CLOSED_KEYS,
        }
    }

    /// Whether levels cannot set this key: a rate that is searched for, or that comes from a trace.
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

/// The result of reading `[load]`.
pub(super) struct Load {
    pub spec: LoadSpec,
    /// The lists of these keys. A list with several values becomes a factor.
    pub clients: Vec<u32>,
    pub rates: Vec<RateSpec>,
    pub workers: Vec<u32>,
    /// The span of a trace's file name, and the trace itself, which replaces the name in the record.
    pub trace: Option<(Span, String)>,
}

impl Load {
    /// A load without lists.
    fn from_spec(spec: LoadSpec) -> Load {
        Load {
            spec,
            clients: Vec::new(),
            rates: Vec::new(),
            workers: Vec::new(),
            trace: None,
        }
    }
}
