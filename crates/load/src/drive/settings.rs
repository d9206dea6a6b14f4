//! The settings of a drive: load, duration, reconnects.

use super::turns::Turns;
use crate::arrivals::Arrivals;
use crate::io::Backend;
use crate::pacer::WhenFull;
use crate::share::Share;
use std::sync::Arc;
use std::time::Duration;

/// Default of [`Drive::reconnect_for`]. A trial that restarts its server sets more, because recovery can take minutes.
pub const RECONNECT_FOR: Duration = Duration::from_secs(14);

/// The settings of a drive.
#[derive(Clone, Debug)]
pub struct Drive {
    pub load: Load,
    /// How long operations are started. Those in flight at the end are awaited.
    pub time: Duration,
    /// A new window starts after this time, so that no window spans the end of the warm-up.
    pub warmup: Duration,
    pub seed: u64,
    /// Number of reactor threads. None: one per core that this process may use.
    pub reactors: Option<usize>,
    /// None: io_uring if the kernel supports what is needed, otherwise epoll.
    pub backend: Option<Backend>,
    /// How long a client tries to reconnect after it lost its session. Zero: it ends at the first loss. The last attempt starts when
    /// this time is over. See [`RECONNECT_FOR`].
    pub reconnect_for: Duration,
    /// How long operations in flight are awaited at the end. None: 30 s. Before the end, the workload's own timeout ends stalled
    /// operations, see [`crate::Stream::set_stall_timeout`].
    pub drain_timeout: Option<Duration>,
    /// The part of `load` that this process runs.
    pub share: Share,
    /// The drive runs in slices that are given from outside; None: without a break. In closed loop alone.
    pub turns: Option<Arc<Turns>>,
}

/// How operations are issued.
#[derive(Clone, Debug)]
pub enum Load {
    Closed(Closed),
    Open(Open),
}

/// Closed loop: each client issues its next operation after the previous reply and its think time.
#[derive(Clone, Debug)]
pub struct Closed {
    pub clients: u32,
    /// Mean of the exponential think times; zero: none. Clients start with a think time, so that they do not start simultaneously.
    pub think: Duration,
}

/// Open loop: operations arrive on a schedule, whether or not the server keeps up.
#[derive(Clone, Debug)]
pub struct Open {
    pub arrivals: Arrivals,
    pub workers: u32,
    /// Capacity of the queue of operations that wait for a worker.
    pub queue: u64,
    pub when_full: WhenFull,
}

impl Load {
    /// Clients that do not think.
    pub fn closed(clients: u32) -> Load {
        Load::Closed(Closed {
            clients,
            think: Duration::ZERO,
        })
    }

    /// The number of sessions: clients in closed loop, workers in open loop.
    pub fn clients(&self) -> u32 {
        match self {
            Load::Closed(closed) => closed.clients,
            Load::Open(open) => open.workers,
        }
    }
}

impl Drive {
    /// Without a warm-up and without reconnects, with seed 1, and the defaults of the rest.
    pub fn new(load: Load, time: Duration) -> Drive {
        Drive {
            load,
            time,
            warmup: Duration::ZERO,
            seed: 1,
            reactors: None,
            backend: None,
            reconnect_for: Duration::ZERO,
            drain_timeout: None,
            share: Share::WHOLE,
            turns: None,
        }
    }

    /// The same drive with a client, or a worker, for each operation in flight.
    pub(super) fn deepened(&self, depth: u32) -> Drive {
        let mut drive = self.clone();
        let clients = match &mut drive.load {
            Load::Closed(closed) => &mut closed.clients,
            Load::Open(open) => &mut open.workers,
        };
        *clients = clients.saturating_mul(depth);
        drive
    }

    /// The same drive with the share's clients or workers and its part of the queue. The arrivals stay whole: their schedule is
    /// divided.
    pub(super) fn divided(&self) -> Drive {
        let mut drive = self.clone();
        let own = self.share.clients(self.load.clients()).len() as u32;
        match &mut drive.load {
            Load::Closed(closed) => closed.clients = own,
            Load::Open(open) => {
                open.workers = own;
                open.queue = self.share.part(open.queue);
            }
        }
        drive
    }

    /// From when on operations are measured by when they were due: the end of the warm-up of an open loop, a whole second. 0 in closed
    /// loop, where an operation is due when its client is free.
    pub(super) fn measured_from_ns(&self) -> u64 {
        match self.load {
            Load::Closed(_) => 0,
            Load::Open(_) => self.warmup.as_secs_f64().ceil() as u64 * 1_000_000_000,
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// One sentence with the value and the fix.
    pub fn check(&self) -> Result<(), String> {
        if self.time.is_zero() {
            return Err("the time is 0: give a time above 0".into());
        }
        if self.reactors == Some(0) {
            return Err(
                "the number of reactors is 0: give at least 1, or omit it for one per core".into(),
            );
        }
        if self.backend == Some(Backend::Blocking) {
            return Err(
                "a reactor cannot use the blocking backend: choose io_uring or epoll".into(),
            );
        }
        if self.turns.is_some() && matches!(self.load, Load::Open(_)) {
            return Err("an open loop cannot run in slices: its arrivals do not wait".into());
        }
        match &self.load {
            Load::Closed(closed) if closed.clients == 0 => {
                Err("the number of clients is 0: give at least 1".into())
            }
            Load::Open(open) if open.workers == 0 => {
                Err("the number of workers is 0: give at least 1".into())
            }
            load => self.share.check(load),
        }?;
        match &self.load {
            Load::Closed(_) => Ok(()),
            Load::Open(open) => open.arrivals.check(),
        }
    }
}

impl Share {
    /// Checks that this share and every other one has a client and a place in the queue.
    ///
    /// # Errors
    /// One sentence with the numbers and the fix.
    pub fn check(&self, load: &Load) -> Result<(), String> {
        let of = self.of();
        let too_few = |count: u64, what: &str| {
            format!(
                "{count} {what} cannot be divided among {of} shards: use at most {count} shards"
            )
        };
        let clients = load.clients();
        if let Some(groups) = self.groups.filter(|groups| *groups < of) {
            return Err(too_few(groups.into(), "warehouses"));
        }
        if clients < of {
            let what = match load {
                Load::Closed(_) => "clients",
                Load::Open(_) => "workers",
            };
            return Err(too_few(clients.into(), what));
        }
        match load {
            Load::Open(open) if open.queue > 0 && open.queue < u64::from(of) => {
                Err(too_few(open.queue, "places in the queue"))
            }
            _ => Ok(()),
        }
    }
}
