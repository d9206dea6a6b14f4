//! The results of a drive: seconds, windows, totals, errors.

use crate::io::Backend;
use crate::recorder::{Carried, Fault, LatencyKind, Tally};
use crate::seam::Failure;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// The results of one second, over all clients.
#[derive(Clone, Debug)]
pub struct Second {
    /// Seconds since the start of the drive, from 0. The last second is the one in which the last operation ended.
    pub second: u32,
    /// Response times (closed loop: service times) of the operations that ended in this second, in nanoseconds.
    pub response: Histogram<u64>,
    /// How these operations ended.
    pub tally: Tally,
    /// The tallies per operation in the order of [`crate::Workload::operations`], with the one of the background.
    pub tallies: Vec<Tally>,
    /// Errors of operations that were not done, and errors that led to retries.
    pub errors: BTreeMap<Fault, u64>,
    /// Open loop: further operations that ended in this second of the measured part and were due in the warm-up.
    pub carried: Carried,
    /// Operations that arrived until the end of the second and had not started when it was collected, 1 ms or more later.
    pub queued: u64,
    /// Clients with an operation in flight at the end of the second, and clients without one.
    pub running: u32,
    pub idle: u32,
    pub dropped: u64,
    /// How long the schedule was paused since the previous second (`WhenFull::Wait`).
    pub held: Duration,
}

/// A histogram of one operation over ten seconds. In closed loop there are only service times.
#[derive(Clone, Debug)]
pub struct Window {
    pub start_s: u32,
    pub operation: u16,
    pub kind: LatencyKind,
    pub nanoseconds: Histogram<u64>,
}

/// A second in which client threads did not run for more than 20 ms at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnStall {
    /// Since the start of the drive.
    pub second: u32,
    /// For how long the threads did not run in this second, their mean.
    pub stood: Duration,
    /// The longest time at once, of which this second may have only a part.
    pub longest: Duration,
}

/// The results of a whole drive.
#[derive(Clone, Debug)]
pub struct Driven {
    /// Start of the drive, when all sessions were open: nanoseconds since the Unix epoch.
    pub started_ns: i64,
    /// When the last operation could start, since the start of the drive.
    pub until: Duration,
    /// When the last operation ended, since the start of the drive. Later than `until` if an operation was in flight then.
    pub elapsed: Duration,
    /// How late idle workers started operations that they waited for, in nanoseconds: the engine's own error.
    pub lateness: Histogram<u64>,
    /// How operations ended, per operation in the order of [`crate::Workload::operations`].
    pub tallies: Vec<Tally>,
    /// The operations of `tallies` that were still running at `until`: how they ended after it, or when they were abandoned.
    pub late: Vec<Tally>,
    /// The sum of `started`, `queued_at_end` and `dropped`.
    pub arrived: u64,
    pub started: u64,
    pub queued_at_end: u64,
    pub dropped: u64,
    /// How long the schedule was paused (`WhenFull::Wait`).
    pub held: Duration,
    /// Clients that ended early, and why.
    pub ended_early: Vec<(u32, Failure)>,
    /// Clients that lost their session and got no other until the end of the drive, and why.
    pub refused_to_end: Vec<(u32, Failure)>,
    /// Why the drive ended early, such as `the queue of 10000 was full at 12.4 s`.
    pub stopped: Option<String>,
    /// CPU time of the client threads since the start of the drive, in seconds.
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    pub backend: Backend,
    /// Number of client threads.
    pub reactors: usize,
    /// Time to open all sessions, in seconds.
    pub open_s: f64,
    /// From the start of the drive until the last client was awake.
    pub woken: Duration,
    /// The seconds in which client threads did not run, in order.
    pub stalls: Vec<OwnStall>,
}

/// Why a drive could not start.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DriveError {
    #[error("client {client} could not open its session: {failure}")]
    Open { client: u32, failure: Failure },
    /// The settings are invalid.
    #[error("{0}")]
    Invalid(String),
    /// The operating system refused something, or a thread panicked.
    #[error("{0}")]
    System(String),
    /// The drive should have started together with others.
    #[error("{0}")]
    NotTogether(String),
    #[error("interrupted before the load started")]
    Interrupted,
}
