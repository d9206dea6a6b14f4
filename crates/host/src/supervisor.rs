//! A supervisor for one server: a process that kills it when prony is gone.
//!
//! It reads a pipe whose write end only prony holds, as the guard does. The guard cleans up everything, the supervisor is for the case
//! that the guard was killed too: then no server stays that nobody stops. What else was left waits for the next prony. A server that
//! started in the millisecond before both were killed has no supervisor yet, and waits for the next prony too.

use crate::{guard, process};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};
use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The hidden verb by which prony starts itself as a supervisor.
pub const VERB: &str = "supervise";

/// prony's end of a supervisor.
pub struct Supervisor {
    child: Child,
    life: Option<PipeWriter>,
}

impl Supervisor {
    /// Starts the supervisor of a running process. None where prony's own program is missing, as in some tests.
    pub fn start(pid: u32) -> io::Result<Option<Supervisor>> {
        let (Some(program), Some(ticks)) = (guard::program(), process::start_ticks(pid)) else {
            return Ok(None);
        };
        let (read, life) = io::pipe()?;
        let child = Command::new(program)
            .arg0("prony")
            .arg(VERB)
            .arg(pid.to_string())
            .arg(ticks.to_string())
            .env_remove(process::MARK)
            .current_dir("/")
            .stdin(read)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let life = Some(life);
        Ok(Some(Supervisor { child, life }))
    }
}

/// Lets the supervisor kill its process, if that still runs, and waits for it.
impl Drop for Supervisor {
    fn drop(&mut self) {
        self.life = None;
        let _ = self.child.wait();
    }
}

/// The supervisor's main function: waits for the end of its standard input, then kills the process with this id and start time.
///
/// # Errors
/// The process cannot be looked at or killed.
pub fn serve(pid: u32, start_ticks: u64) -> io::Result<()> {
    guard::outlive_the_terminal();
    let Some(process) = process::open(pid)? else {
        return Ok(());
    };
    // From here on the descriptor refers to one process.
    if process::start_ticks(pid) != Some(start_ticks) {
        return Ok(());
    }
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    match pidfd_send_signal(&process, Signal::KILL) {
        Err(Errno::SRCH) => Ok(()),
        sent => Ok(sent?),
    }
}
