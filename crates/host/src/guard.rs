//! The guard: a child process that cleans up after prony has ended for any reason, even SIGKILL.
//!
//! It reads a pipe whose write end only prony holds, so end of file means that prony is gone. A child between fork and exec
//! holds the write end too, so the guard cleans up only once every child carries its mark. It does not watch servers.

use crate::{leftovers, process};
use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The hidden verb by which prony starts itself as a guard.
pub const VERB: &str = "guard";

/// prony's end of the guard.
pub struct Guard {
    child: Child,
    life: Option<PipeWriter>,
}

impl Guard {
    /// Starts the guard of a journal and waits until it is ready.
    pub fn start(program: &Path, journal: &Path) -> io::Result<Guard> {
        let (read, life) = io::pipe()?;
        let mut child = Command::new(program)
            .arg0("prony")
            .arg(VERB)
            .arg(journal)
            .env_remove(process::MARK)
            .current_dir("/")
            .stdin(read)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut ready = [0];
        let answer = child
            .stdout
            .take()
            .map(|mut answers| answers.read_exact(&mut ready));
        if !matches!(answer, Some(Ok(()))) {
            drop(life);
            let status = child.wait()?;
            return Err(io::Error::other(format!(
                "{} {VERB} ended at once, {status}",
                program.display()
            )));
        }
        Ok(Guard {
            child,
            life: Some(life),
        })
    }

    /// The guard's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Lets the guard clean up and waits for it.
impl Drop for Guard {
    fn drop(&mut self) {
        self.life = None;
        // A killed guard has done nothing; the caller then reads the journal.
        let _ = self.child.wait();
    }
}

/// The guard process's main function: waits for the end of its standard input, then cleans up by the journal.
pub fn serve(journal: &Path) -> io::Result<()> {
    outlive_the_terminal();
    io::stdout().write_all(b"+")?;
    io::stdout().flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    leftovers::work_off(journal, true).map(drop)
}

/// Makes this process one that only SIGKILL ends: `killall prony` reaches it too, and that is when it has work to do.
pub(crate) fn outlive_the_terminal() {
    // A new session: signals that the terminal sends to prony's process group (Ctrl-C, hang-up) do not reach this process. It
    // fails only for the leader of a process group, which no longer is in prony's group.
    let _ = rustix::process::setsid();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: SIG_IGN installs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The prony program, for starting guards and gauges: PRONY_GUARD_PROGRAM, or this executable.
///
/// A cargo test binary would take `guard` for the name of tests to run. It is in a folder `deps`, and prony is next to
/// that folder. None if prony is not there.
pub fn program() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("PRONY_GUARD_PROGRAM") {
        return Some(given.into());
    }
    match std::env::current_exe()
        .ok()
        .as_deref()
        .and_then(Path::parent)
    {
        Some(folder) if folder.ends_with("deps") => {
            Some(folder.with_file_name("prony")).filter(|prony| prony.exists())
        }
        // Not its path: a newer build may have replaced the file since the start.
        _ => Some(PathBuf::from("/proc/self/exe")),
    }
}
