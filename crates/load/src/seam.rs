//! The hot seam `Workload`: what the engine asks of a workload, one operation at a time.
//!
//! Goal: a transaction of several statements is naturally written code. Non-goal: when an operation is due (`drive`).

use crate::io::Io;

/// One operation that is due. Times are nanoseconds since the drive's beginning, on one monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its place in the workload's list of operations, as [`Workload::pick`] chose it.
    pub operation: u16,
    /// From 0, over all clients; the same in closed and open loop.
    pub number: u64,
    /// When it was due. In closed loop the moment at which its client was free.
    pub scheduled_ns: u64,
    /// In closed loop the same as `scheduled_ns`, also when the session had to be opened again first: the wait for it counts.
    pub started_ns: u64,
    /// How often it was tried before: one more after each [`Outcome::Retry`].
    pub retries: u16,
}

/// What came of an operation, or of one try. The code is the server's error number, or the workload's own above 60,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Nothing of it is left (deadlock, lock wait): the engine counts the error and asks for it again at once.
    Retry(u16),
    /// It gave up or could not be done; its client goes on.
    Failed(u16),
    /// The connection is gone and nothing of the operation is left. The engine opens another session
    /// (`Drive::reconnect_for`).
    Lost(u16),
    /// The connection is gone, and a commit was sent whose answer did not come: the server may have done it or not. The
    /// engine goes on as after `Lost`.
    Unknown(u16),
}

/// Why a session could not be opened; the text is one sentence that names place and cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    pub code: u16,
    pub text: String,
    /// Trying again can help (refused, reset, stalled), or not (wrong credentials, no such table).
    pub passing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// A task per client on one reactor per core.
    Reactors,
    /// A thread per client, for what blocks (file I/O by pread, SQLite).
    Threads,
}

#[allow(async_fn_in_trait)] // sessions never leave their reactor's thread
pub trait Workload: Sync {
    /// Connection, statements, buffers, random stream: everything that one client owns, allocated here.
    type Session;
    fn placement(&self) -> Placement {
        Placement::Reactors
    }
    /// Connections that each client opens.
    fn connections(&self) -> u32 {
        1
    }
    /// Prepared statements that each client keeps; servers limit them over all connections.
    fn statements(&self) -> usize {
        0
    }
    /// The names of its operations; [`Request::operation`] is a place in it.
    fn operations(&self) -> Vec<String>;
    /// The mix: pure, the same in closed and open loop.
    fn pick(&self, number: u64) -> u16;
    async fn open(&self, io: &Io, client: u32) -> Result<Self::Session, Failure>;
    async fn operate(&self, session: &mut Self::Session, request: &Request) -> Outcome;
    async fn close(&self, session: Self::Session);
}
