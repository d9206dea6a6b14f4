//! Processes started by a test: signals, exit, leftovers.

use super::{Bench, Ended};
use host::Process;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Sends a signal; the process may have ended already.
pub(crate) fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = kill_process(pid, signal);
}

pub(crate) fn ended(child: Child) -> Ended {
    child.wait_with_output().unwrap().into()
}

/// A time limit that no test reaches, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until the condition holds.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "timed out waiting for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// (pid, socket) of the servers of this bench, without prony and its guard.
pub(crate) fn servers(bench: &Bench) -> Vec<(u32, String)> {
    let lines = bench.processes();
    let servers = lines.iter().filter_map(|line| {
        let (pid, line) = line.split_once(": ")?;
        let socket = line.split_once("--socket=")?.1.split(' ').next()?;
        Some((pid.parse().ok()?, socket.to_string()))
    });
    servers.collect()
}

/// Whether a process is stopped (state `T` in /proc).
pub(crate) fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|rest| rest.starts_with('T'))
}

/// Whether a server of this bench executes what it was sent: none uses that much CPU time for its start.
pub(crate) fn works(bench: &Bench) -> bool {
    let used_s = |pid| Process::read(pid).map_or(0.0, |now| now.user_s + now.system_s);
    servers(bench).iter().any(|(pid, _)| used_s(*pid) > 3.0)
}

pub(crate) fn nothing_is_left(bench: &Bench) {
    bench.wait_until_quiet();
    assert_eq!(bench.leftovers(), Vec::<PathBuf>::new());
}

/// Runs prony as the user nobody, with its own home.
pub(crate) fn as_nobody(bench: &Bench, arguments: &[&str]) -> Ended {
    const NOBODY: u32 = 65_534;
    let folder = bench.folder.path();
    let (home, program) = (folder.join("of-nobody"), folder.join("prony"));
    std::fs::create_dir(&home).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    // In a separate process, from a folder that every user can read: see store/tests/killed.rs.
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_prony")).arg(&program);
    assert!(copy.status().unwrap().success());
    let mut command = Command::new(program);
    command.args(arguments).env("PRONY_HOME", home);
    command.current_dir(folder).uid(NOBODY).gid(NOBODY);
    Ended::from(command.output().unwrap())
}
