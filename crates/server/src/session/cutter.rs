//! Cutting a session's connection from another thread, whatever it is waiting for.
//!
//! Goal: a thread that waits for a server that does not answer can be ended. Non-goal: ending the statement in the server (KILL
//! QUERY does, on another connection).

use super::Session;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// The other end of a session's life: its wait fails as `Lost` once this is used.
pub struct Cutter {
    socket: UnixStream,
}

impl Session {
    /// None for a session that is no connection: SQLite, a script.
    pub fn cutter(&self) -> Option<Cutter> {
        let Session::MySql(connection) = self else {
            return None;
        };
        // SAFETY: the descriptor is open for as long as the session is borrowed.
        let descriptor = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
        // What the options and the shutdown of a socket do is the same for every family, so its type does not matter.
        let socket = UnixStream::from(descriptor.try_clone_to_owned().ok()?);
        Some(Cutter { socket })
    }
}

impl Cutter {
    /// Nothing can be sent or received from now on.
    pub fn cut(&self) {
        // One that is closed already is cut.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
