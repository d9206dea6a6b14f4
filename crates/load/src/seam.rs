//! The interface between the engine and a workload on the hot path: one operation at a time.
//!
//! Goal: a transaction of several statements is written as ordinary sequential code. Non-goal: when operations are due (`drive`).

use crate::io::{Backend, Io};

/// One operation that is due. Times are nanoseconds since the start of the drive, on a monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Index in [`Workload::operations`], as chosen by [`Workload::pick`].
    pub operation: u16,
    /// Number of the operation, from 0, over all clients; the same in closed and open loop.
    pub number: u64,
    /// When it was due. In closed loop, when its client was free.
    pub scheduled_ns: u64,
    /// In closed loop the same as `scheduled_ns`, even if the client had to reconnect first: that wait counts.
    pub started_ns: u64,
    /// The start of the drive on the clock of [`Io::now_ns`], so that a workload can read the drive's time.
    pub zero_ns: u64,
    /// Number of earlier attempts, one per [`Outcome::Retry`].
    pub retries: u16,
}

/// The result of one attempt at an operation. The code is the server's error number, or the workload's own above 60,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// It was rolled back (deadlock, lock wait timeout). The engine counts the error and retries immediately.
    Retry(u16),
    /// It failed. The client continues with the next operation.
    Failed(u16),
    /// The connection was lost and the operation had no effect. The engine reconnects (`Drive::reconnect_for`).
    Lost(u16),
    /// The connection was lost after COMMIT was sent: the server may have committed or not. The engine continues as after `Lost`.
    Unknown(u16),
}

/// Why a session could not be opened. The text is one sentence that names the place and the cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    pub code: u16,
    pub text: String,
    /// Whether a retry can succeed: true for refused, reset or stalled connections, false for wrong credentials or a missing table.
    pub transient: bool,
}

/// How long a client pauses around one operation, in closed loop. Pauses are not part of the operation's response time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// The pause between choosing the operation and its scheduled time.
    pub before_ns: u64,
    /// The pause between its end and choosing the next one.
    pub after_ns: u64,
}

/// The workers that run in the background what operations leave behind.
///
/// They run one operation of the workload, the last one. No client picks it, so it counts in its own histogram and tally, but
/// not in the totals of a second or of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Number of sessions in addition to those of the clients.
    pub workers: u32,
}

/// A piece of work for the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Number of the operation that left it.
    pub number: u64,
    /// When it was left, as [`Request::started_ns`]. The response time of the background operation starts here.
    pub since_ns: u64,
}

/// What the standard of a benchmark requires of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// Index of the operation whose rate is the benchmark's figure.
    pub counted: u16,
    /// The name of these operations per minute.
    pub per_minute: &'static str,
    /// The requirement of each operation.
    pub requirements: Vec<Requirement>,
}

/// What a standard requires of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// The smallest share of all operations of the mix, from 0 to 1.
    pub minimum_share: Option<f64>,
    /// False for the operation of the [`Background`].
    pub is_in_mix: bool,
    /// The longest 90th percentile of the response time, in seconds.
    pub p90_limit_s: f64,
}

/// What the target's replies say of the operations of one name that were done. Each counts once, but for the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// A statement that changes rows changed none.
    pub changed_nothing: u64,
    /// A statement that returns rows found none.
    pub found_nothing: u64,
    /// A statement caused warnings.
    pub warned: u64,
    /// Rows that their statements changed, and found, all together.
    pub rows_changed: u64,
    pub rows_found: u64,
}

impl std::ops::AddAssign<&Effects> for Effects {
    fn add_assign(&mut self, other: &Effects) {
        self.changed_nothing += other.changed_nothing;
        self.found_nothing += other.found_nothing;
        self.warned += other.warned;
        self.rows_changed += other.rows_changed;
        self.rows_found += other.rows_found;
    }
}

/// Where clients run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// A task per client on one reactor per core.
    Reactors,
    /// [`Placement::Reactors`] on this backend, for workloads on files.
    On(Backend),
    /// A thread per client, for workloads that block (file I/O with pread, SQLite).
    Threads,
}

/// A workload that the engine can drive.
#[allow(async_fn_in_trait)] // sessions never leave their reactor's thread
pub trait Workload: Sync {
    /// Everything that one client owns: connection, statements, buffers, random stream.
    type Session;
    fn placement(&self) -> Placement {
        Placement::Reactors
    }
    /// Operations that each client has in flight. A client is a queue: the engine runs this many sessions for it, on one reactor,
    /// each with its own operations, and the next operation of a session is due when its previous one has ended.
    fn depth(&self) -> u32 {
        1
    }
    /// Number of connections per client.
    fn connections(&self) -> u32 {
        1
    }
    /// Number of prepared statements per client. Servers limit their total over all connections.
    fn statements(&self) -> usize {
        0
    }
    /// The names of its operations; [`Request::operation`] is an index into it.
    fn operations(&self) -> Vec<String>;
    /// The benchmark's requirements, if it has a standard.
    fn standard(&self) -> Option<Standard> {
        None
    }
    /// Chooses the operation with this number: a pure function, the same in closed and open loop.
    fn pick(&self, number: u64) -> u16;
    /// Whether [`Workload::pauses`] returns any; without, pauses cost nothing.
    fn has_pauses(&self) -> bool {
        false
    }
    /// The pauses around the operation with this number: a pure function.
    fn pauses(&self, _operation: u16, _number: u64) -> Pauses {
        Pauses::default()
    }
    /// The workers in the background for this many sessions of clients. Their sessions are numbered after those.
    fn background(&self, _clients: u32) -> Option<Background> {
        None
    }
    /// Takes the next piece of work for the worker of this session; None while the queue is empty. It is asked once more after the
    /// sessions of all clients are closed.
    fn take(&self, _session: &mut Self::Session) -> Option<Left> {
        None
    }
    /// Takes the next piece of work that no worker will do, because the drive was given up: it counts as lost.
    fn give_up(&self) -> Option<Left> {
        None
    }
    /// What the target's replies said of the operations that were done since this workload was made, in the order of
    /// [`Workload::operations`]; empty if the workload does not read them. Complete once all sessions are closed.
    fn effects(&self) -> Vec<Effects> {
        Vec::new()
    }
    /// Opens the session of a client.
    async fn open(&self, io: &Io, client: u32) -> Result<Self::Session, Failure>;
    /// Runs one attempt at an operation.
    async fn operate(&self, session: &mut Self::Session, request: &Request) -> Outcome;
    /// The server's message when an operation first failed with this code. Called after the drive.
    fn explain(&self, _code: u16) -> Option<String> {
        None
    }
    /// Closes a session.
    async fn close(&self, session: Self::Session);
}
