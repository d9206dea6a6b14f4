//! A supervisor for one server: a process that kills it when prony is gone.
//!
//! It reads the pipe of `attached`, as the guard does. The guard cleans up everything, the supervisor is for the case
//! that the guard was killed too: then no server stays that nobody stops. What else was left waits for the next prony. A server that
//! started in the millisecond before both were killed has no supervisor yet, and waits for the next prony too.

use super::attached::{self, Attached};
use crate::process;
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};
use std::io;
use std::process::Stdio;

/// The hidden verb by which prony starts itself as a supervisor.
pub const VERB: &str = "supervise";

/// prony's end of a supervisor. When it is dropped, the supervisor kills its process, if that still runs, and prony waits for it.
pub struct Supervisor {
    _process: Attached,
}

impl Supervisor {
    /// Starts the supervisor of a running process. None if prony's own program is missing, as in some tests.
    pub fn start(pid: u32) -> io::Result<Option<Supervisor>> {
        let (Some(program), Some(ticks)) = (attached::program(), process::start_ticks(pid)) else {
            return Ok(None);
        };
        let arguments = [pid.to_string().into(), ticks.to_string().into()];
        let process = Attached::start(&program, VERB, &arguments, Stdio::null())?;
        Ok(Some(Supervisor { _process: process }))
    }
}

/// The supervisor's main function: waits for the end of its standard input, then kills the process with this id and start time.
///
/// # Errors
/// The process cannot be looked at or killed.
pub fn serve(pid: u32, start_ticks: u64) -> io::Result<()> {
    attached::outlive_signals();
    let Some(process) = process::open(pid)? else {
        return Ok(());
    };
    // From here on the descriptor refers to one process.
    if process::start_ticks(pid) != Some(start_ticks) {
        return Ok(());
    }
    attached::await_end()?;
    match pidfd_send_signal(&process, Signal::KILL) {
        Err(Errno::SRCH) => Ok(()),
        sent => Ok(sent?),
    }
}
