//! What came of a drive.

use crate::io::Backend;
use crate::recorder::{Fault, Kind, Tally};
use crate::seam::Failure;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// What one second of a drive was like, all clients together.
#[derive(Clone, Debug)]
pub struct Second {
    /// From 0, since the drive's beginning. The last one is as long as the last operation needed.
    pub second: u32,
    /// Nanoseconds of response (closed loop: service) of the operations that ended in it.
    pub response: Histogram<u64>,
    /// How they ended.
    pub tally: Tally,
    /// The errors behind what was not done, and those behind retries.
    pub errors: BTreeMap<Fault, u64>,
    /// Arrived by the second's end and not started when it was collected, 1 ms later or more.
    pub queued: u64,
    /// Clients that had an operation under way at its end, and those that had none.
    pub running: u32,
    pub idle: u32,
    pub dropped: u64,
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
    /// From when on nothing was started, counted from the beginning.
    pub until: Duration,
    /// When the last operation ended: later than `until` where one was under way then, earlier where none was.
    pub elapsed: Duration,
    /// How late an idle worker began what it was waiting for, nanoseconds after the schedule: the engine's own fault.
    pub lateness: Histogram<u64>,
    /// How the operations of each kind ended, in the order of the workload's list.
    pub tallies: Vec<Tally>,
    /// Started, queued at the end and dropped.
    pub arrived: u64,
    pub started: u64,
    pub queued_at_end: u64,
    pub dropped: u64,
    /// How long the schedule stood still (`WhenFull::Wait`).
    pub held: Duration,
    /// Clients that ended before the time, and why.
    pub ended_early: Vec<(u32, Failure)>,
    /// Why it ended before its time: `the queue of 10000 was full at 12.4 s`.
    pub stopped: Option<String>,
    /// CPU seconds of the threads that clients live on, user and system, from the drive's beginning.
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    pub backend: Backend,
    /// Threads that clients live on.
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
