//! Ends a session's connection from another thread.
//!
//! It ends a thread that waits for a hung server. The statement keeps running in the server: KILL QUERY on another
//! connection ends it.

use super::Session;
use wire::Stopper;

/// A handle that ends a session's connection; the session then fails with [`ServerError::Lost`](super::ServerError).
pub struct Cutter(Stopper);

impl Session {
    /// A handle to end this connection; None for SQLite and scripts, which have no connection.
    pub fn cutter(&self) -> Option<Cutter> {
        let connection = self.connection();
        connection.map(|connection| Cutter(connection.stopper()))
    }
}

impl Cutter {
    /// Ends the current wait of the session within 0.2 s, and every later one.
    pub fn cut(&self) {
        self.0.interrupt();
    }
}
