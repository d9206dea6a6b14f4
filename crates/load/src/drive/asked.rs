//! What is asked of a drive.

use crate::arrivals::Arrivals;
use crate::io::Backend;
use crate::pacer::WhenFull;
use std::time::Duration;

/// The usual [`Drive::reconnect_for`]. A trial that restarts its server gives more: its recovery can take minutes.
pub const RECONNECT_FOR: Duration = Duration::from_secs(14);

#[derive(Clone, Debug)]
pub struct Drive {
    pub load: Load,
    /// How long operations are started. What is under way then is waited for.
    pub time: Duration,
    /// Windows of ten seconds begin anew after so long, so that none holds what is counted and what is not.
    pub warmup: Duration,
    pub seed: u64,
    /// None: one per core that this process may use.
    pub reactors: Option<usize>,
    /// None: io_uring where the kernel has what is needed, else epoll.
    pub backend: Option<Backend>,
    /// How long a client tries to open a lost session again before it ends; zero: it ends at once. The last attempt begins
    /// when this time is over. See [`RECONNECT_FOR`].
    pub reconnect_for: Duration,
    /// What is under way at the end is waited for so long; None: 30 s. While the drive goes on, the workload itself gives up
    /// what stalls, by [`crate::Stream::stalled_after`].
    pub stalled: Option<Duration>,
}

#[derive(Clone, Debug)]
pub enum Load {
    Closed(Closed),
    Open(Open),
}

/// Each client asks again when it was answered and has thought.
#[derive(Clone, Debug)]
pub struct Closed {
    pub clients: u32,
    /// The mean of exponential think times; zero: none. Clients begin with one, so that they do not begin together.
    pub think: Duration,
}

/// Operations arrive whether or not the server keeps up.
#[derive(Clone, Debug)]
pub struct Open {
    pub arrivals: Arrivals,
    pub workers: u32,
    /// Operations that may wait for a worker.
    pub queue: u64,
    pub when_full: WhenFull,
}

impl Drive {
    /// # Errors
    /// What cannot be driven: one sentence with the way out.
    pub fn check(&self) -> Result<(), String> {
        if self.time.is_zero() {
            return Err("a time of zero drives nothing: give a time above 0".into());
        }
        if self.reactors == Some(0) {
            return Err(
                "no reactor drives nothing: give at least 1, or none for one per core".into(),
            );
        }
        if self.backend == Some(Backend::Blocking) {
            return Err("a reactor cannot block: ask for io_uring or epoll".into());
        }
        match &self.load {
            Load::Closed(closed) if closed.clients == 0 => {
                Err("no client asks for nothing: give at least 1".into())
            }
            Load::Open(open) if open.workers == 0 => {
                Err("without a worker nothing is started: give at least 1".into())
            }
            Load::Closed(_) => Ok(()),
            Load::Open(open) => open.arrivals.check(),
        }
    }
}

impl Load {
    /// Sessions that are open at once: clients, or workers.
    pub fn clients(&self) -> u32 {
        match self {
            Load::Closed(closed) => closed.clients,
            Load::Open(open) => open.workers,
        }
    }
}
