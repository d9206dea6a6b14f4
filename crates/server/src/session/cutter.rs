//! Shuts down a session's connection from another thread.
//!
//! It ends a thread that waits for a hung server. The statement keeps running in the server: KILL QUERY on another
//! connection ends it.

use super::Session;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// A handle that shuts down a session's connection; the session then fails with [`ServerError::Lost`](super::ServerError).
pub struct Cutter {
    socket: UnixStream,
}

impl Session {
    /// A handle to shut down this connection; None for SQLite and scripts, which have no connection.
    pub fn cutter(&self) -> Option<Cutter> {
        let Session::MySql(connection) = self else {
            return None;
        };
        // SAFETY: the descriptor is open for as long as the session is borrowed.
        let descriptor = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
        // Socket options and shutdown work the same for every address family, so the type does not matter.
        let socket = UnixStream::from(descriptor.try_clone_to_owned().ok()?);
        Some(Cutter { socket })
    }
}

impl Cutter {
    /// Shuts the connection down in both directions.
    pub fn cut(&self) {
        // It may be closed already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
