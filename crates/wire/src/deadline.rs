//! The time that a login has.
//!
//! Goal: it holds for the login as a whole; a stream's own limit begins anew with each operation, so that a peer that sends a
//! byte now and then would never reach it. Non-goal: waiting.

use load::Io;
use std::io;
use std::time::Duration;

pub struct Deadline<'a> {
    io: &'a Io,
    at_ns: u64,
}

impl<'a> Deadline<'a> {
    pub fn new(io: &'a Io, within: Duration) -> Deadline<'a> {
        let within_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        Deadline {
            io,
            at_ns: io.now_ns().saturating_add(within_ns),
        }
    }

    /// The limit of the next operation.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] where nothing is left.
    pub fn left(&self) -> io::Result<Duration> {
        match self.at_ns.saturating_sub(self.io.now_ns()) {
            0 => Err(io::ErrorKind::TimedOut.into()),
            left_ns => Ok(Duration::from_nanos(left_ns)),
        }
    }
}
