//! The deadline of a login.
//!
//! Goal: one limit for the login as a whole. A stream's own timeout restarts with each operation, so a peer that sends a byte
//! now and then would never exceed it. Non-goal: waiting.

use load::Io;
use std::io;
use std::time::Duration;

/// A point in time on the reactor's clock.
pub(crate) struct Deadline<'a> {
    io: &'a Io,
    at_ns: u64,
}

impl<'a> Deadline<'a> {
    pub(crate) fn new(io: &'a Io, within: Duration) -> Deadline<'a> {
        let within_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        Deadline {
            io,
            at_ns: io.now_ns().saturating_add(within_ns),
        }
    }

    /// The time left for the next operation.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if no time is left.
    pub(crate) fn left(&self) -> io::Result<Duration> {
        match self.at_ns.saturating_sub(self.io.now_ns()) {
            0 => Err(io::ErrorKind::TimedOut.into()),
            left_ns => Ok(Duration::from_nanos(left_ns)),
        }
    }
}
