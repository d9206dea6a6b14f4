//! Driving a workload: what is asked for, and what came of it.

use crate::arrivals::Arrivals;
use crate::io::Backend;
use crate::seam::{Failure, Workload};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Drive {
    pub load: Load,
    /// How long operations are started. What is under way then is waited for.
    pub time: Duration,
    pub seed: u64,
    /// None: one per core that this process may use.
    pub reactors: Option<usize>,
    /// None: io_uring where the kernel has what is needed, else epoll.
    pub backend: Option<Backend>,
    /// A session that is lost is opened again, at most so many times in a row; then its client ends.
    pub reconnects_max: u32,
    /// A client that has waited so long for a reply is given up as lost. None: never.
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
    /// The mean of exponential think times; zero: none.
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

/// What happens to an arrival that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The drive ends there and says so.
    Stop,
    /// It is dropped and counted.
    Drop,
    /// The schedule stands still until there is room; the time it stood is told.
    Wait,
}

/// What one second of a drive was like, all clients together.
#[derive(Clone, Debug)]
pub struct Second {
    /// From 0, since the drive's beginning.
    pub second: u32,
    /// Nanoseconds of response (closed loop: service) of the operations that ended in it.
    pub response: Histogram<u64>,
    /// Done, the retried among them.
    pub done: u64,
    pub retried: u64,
    /// Failed and lost.
    pub failed: u64,
    /// By code: failures, losses and the errors behind retries.
    pub errors: BTreeMap<u16, u64>,
    /// Arrived and not started, at the second's end.
    pub queued: u64,
    /// Clients that had an operation under way at its end, and those that had none.
    pub running: u32,
    pub idle: u32,
    pub dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Response,
    Wait,
    Service,
}

/// Histograms of one operation over ten seconds. In closed loop there is only service.
#[derive(Clone, Debug)]
pub struct Window {
    pub start_s: u32,
    pub operation: u16,
    pub kind: Kind,
    pub nanoseconds: Histogram<u64>,
}

/// What a drive came to.
#[derive(Clone, Debug)]
pub struct Driven {
    /// Nanoseconds since the Unix epoch at the drive's beginning, when all sessions were open.
    pub started_ns: i64,
    /// Until the last operation ended.
    pub elapsed: Duration,
    pub windows: Vec<Window>,
    /// How late an idle worker began what it was waiting for, nanoseconds after the schedule: the engine's own fault.
    pub lateness: Histogram<u64>,
    pub arrived: u64,
    pub started: u64,
    pub queued_at_end: u64,
    pub dropped: u64,
    /// How long the schedule stood still (`WhenFull::Wait`).
    pub held: Duration,
    /// Clients that ended before the time, and why, the first few.
    pub ended_early: Vec<(u32, Failure)>,
    /// Why it ended before its time: `the queue was full at 12.4 s`.
    pub stopped: Option<String>,
    /// CPU seconds of the engine's own threads, user and system.
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    pub backend: Backend,
    pub reactors: usize,
    /// Seconds that opening all sessions took.
    pub open_s: f64,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum DriveError {
    #[error("client {client} could not begin: {failure}")]
    Open { client: u32, failure: Failure },
    #[error("{0}")]
    Asked(String),
    #[error("{0}")]
    System(String),
    #[error("interrupted before it began")]
    Interrupted,
}

/// Opens all sessions, drives the workload, closes them. `each_second` is called from a thread of its own, once a second
/// and in order; `stop` ends the drive soon, with everything that was measured.
///
/// # Errors
/// What makes it impossible to begin; nothing is left open then.
pub fn drive<W: Workload>(
    workload: &W,
    drive: &Drive,
    stop: &AtomicBool,
    watch: Watch,
) -> Result<Driven, DriveError> {
    let _ = (workload, drive, stop, watch);
    Err(DriveError::System("not built".into()))
}

pub struct Watch<'w> {
    pub begun: &'w mut (dyn FnMut(std::time::Instant) + Send),
    pub second: &'w mut (dyn FnMut(Second) + Send),
}
