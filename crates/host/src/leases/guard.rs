//! The guard: a child process that cleans up after prony has ended for any reason, even SIGKILL.
//!
//! It reads the pipe of `attached`. A child between fork and exec holds the write end too, so the guard cleans up only once every
//! child carries its mark. It does not watch servers.

use super::leftovers;
use crate::process::attached::{self, Attached};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Stdio;

/// The hidden verb by which prony starts itself as a guard.
pub const VERB: &str = "guard";

/// prony's end of the guard. When it is dropped, the guard cleans up, and prony waits for it. A killed guard has done nothing; the
/// caller then reads the journal.
pub struct Guard(Attached);

impl Guard {
    /// Starts the guard of a journal and waits until it is ready.
    pub fn start(program: &Path, journal: &Path) -> io::Result<Guard> {
        let mut guard = Attached::start(program, VERB, &[journal.into()], Stdio::piped())?;
        let mut ready = [0];
        let answer = guard
            .stdout()
            .map(|mut answers| answers.read_exact(&mut ready));
        if !matches!(answer, Some(Ok(()))) {
            let status = guard.end()?;
            return Err(io::Error::other(format!(
                "{} {VERB} ended at once, {status}",
                program.display()
            )));
        }
        Ok(Guard(guard))
    }

    /// The guard's process id.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }
}

/// The guard process's main function: waits for the end of its standard input, then cleans up by the journal.
pub fn serve(journal: &Path) -> io::Result<()> {
    attached::outlive_signals();
    io::stdout().write_all(b"+")?;
    io::stdout().flush()?;
    attached::await_end()?;
    leftovers::work_off(journal, true).map(drop)
}
