//! The guard: a process beside prony that cleans up when prony is gone, however it went.
//!
//! It reads a pipe whose write end prony alone holds; the end of the pipe is the end of prony. A child that prony has
//! forked holds that end too, until its exec, so no child can slip through between the two. Non-goals: watching servers.

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
    /// Starts the guard of a journal and waits until it is on duty.
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

    /// The guard's own process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Lets the guard do its work and waits for it.
impl Drop for Guard {
    fn drop(&mut self) {
        self.life = None;
        // A guard that was killed has done nothing; whoever drops it looks at the journal.
        let _ = self.child.wait();
    }
}

/// The guard's whole life: waits for the end of its standard input, then works off the journal.
pub fn serve(journal: &Path) -> io::Result<()> {
    // A session of its own: what the terminal sends to prony's group (Ctrl-C, hang-up) is not for the guard. It fails only
    // for the leader of a process group, who is out of that group already.
    let _ = rustix::process::setsid();
    ignore_polite_signals();
    io::stdout().write_all(b"+")?;
    io::stdout().flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    leftovers::work_off(journal, true).map(drop)
}

/// `killall prony` means prony, and then the guard has work to do.
fn ignore_polite_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: SIG_IGN installs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The program that knows the verb: PRONY_GUARD_PROGRAM, or this one.
///
/// A test binary of cargo does not know it, and would take `guard` for the name of tests to run. It lies in a folder
/// `deps`, and prony beside that folder; None where it is not there.
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
        // Not its path: the file may have been replaced by a newer build since the start.
        _ => Some(PathBuf::from("/proc/self/exe")),
    }
}
