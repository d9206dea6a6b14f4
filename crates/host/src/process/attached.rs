//! A process of prony's own program that outlives prony and notices its end.
//!
//! It reads a pipe whose write end only prony holds, so end of file means that prony is gone. What it does then is the concern of
//! `guard` and `supervisor`.

use crate::process;
use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// prony's end.
pub(crate) struct Attached {
    child: Child,
    life: Option<PipeWriter>,
}

impl Attached {
    /// Starts `prony VERB ARGUMENTS`. It does not carry prony's mark, so a guard does not end it.
    pub(crate) fn start(
        program: &Path,
        verb: &str,
        arguments: &[OsString],
        stdout: Stdio,
    ) -> io::Result<Attached> {
        let (read, life) = io::pipe()?;
        let child = Command::new(program)
            .arg0("prony")
            .arg(verb)
            .args(arguments)
            .env_remove(process::MARK)
            .current_dir("/")
            .stdin(read)
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn()?;
        let life = Some(life);
        Ok(Attached { child, life })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output, once, if that is a pipe.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Closes the pipe, as prony's end would, and waits until the process has done its work.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        self.life = None;
        self.child.wait()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Makes this process one that only SIGKILL ends: `killall prony` reaches it too, and that is when it has work to do.
pub(crate) fn outlive_signals() {
    // A new session: signals that the terminal sends to prony's process group (Ctrl-C, hang-up) do not reach this process. It
    // fails only for the leader of a process group, which no longer is in prony's group.
    let _ = rustix::process::setsid();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: SIG_IGN installs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Waits for the end of prony.
pub(crate) fn await_end() -> io::Result<()> {
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop)
}

/// The prony program, for starting guards, gauges and other helpers: PRONY_GUARD_PROGRAM, or this executable.
///
/// A cargo test binary would take `guard` for the name of tests to run. It is in a folder `deps`, and prony is next to
/// that folder. None if prony is not there.
pub(crate) fn program() -> Option<PathBuf> {
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
