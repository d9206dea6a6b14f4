//! Finds processes by a mark in their environment, and kills them without race conditions.
//!
//! After `kill_marked` no process with the mark is left. Every child of a marked process inherits the mark, and has it from
//! exec on: there is no gap between starting a process and recording its id. A server's clean shutdown is the task of
//! `server::Managed`.

pub(crate) mod attached;
pub mod interrupt;
pub(crate) mod pause;
pub mod stacks;
pub mod supervisor;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// The environment variable with the mark.
pub const MARK: &str = "PRONY_LEASE";

/// Time limit for a killed process to end; one that writes back gigabytes takes seconds.
const GONE_WITHIN: Duration = Duration::from_secs(60);
/// Time limit for a process to finish its exec, during which its environment cannot be read.
const EXEC_WITHIN: Duration = Duration::from_secs(2);

/// A process's start time in clock ticks since boot, field 22 of `/proc/PID/stat` (proc(5)). Together with the id it
/// identifies the process uniquely. None if the process does not exist.
pub fn start_ticks(pid: u32) -> Option<u64> {
    Some(Stat::read(pid)?.start_ticks)
}

/// Whether a process runs a program in this folder, as far as this user can see.
pub fn runs_from(folder: &Path) -> bool {
    let Ok(folder) = fs::canonicalize(folder) else {
        return false;
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut programs = processes.filter_map(|of| fs::read_link(of.path().join("exe")).ok());
    programs.any(|program| program.starts_with(&folder))
}

/// Sends SIGKILL to every process with the mark and waits until all have ended. Returns how many were killed.
///
/// A process may start another one just before it dies, so the search repeats until it finds none.
pub(crate) fn kill_marked(mark: &str) -> io::Result<usize> {
    let entry = format!("{MARK}={mark}");
    let began = Instant::now();
    let mut killed = 0;
    loop {
        let found = find(entry.as_bytes())?;
        for pid in &found.marked {
            killed += usize::from(kill(*pid, entry.as_bytes())?);
        }
        let undecided = found.in_exec && began.elapsed() < EXEC_WITHIN;
        if found.marked.is_empty() && !undecided {
            return Ok(killed);
        }
        if undecided {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Waits for a child to end; None if it is still running after the limit.
pub fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    if let Some(ended) = child.try_wait()? {
        return Ok(Some(ended));
    }
    // The child is not reaped yet, so the id is still its own.
    let Some(process) = open(child.id())? else {
        return child.wait().map(Some);
    };
    if is_gone_within(&process, limit)? {
        child.wait().map(Some)
    } else {
        Ok(None)
    }
}

/// Sends SIGTERM to a process and waits until it has ended. Returns false if it had already ended, which includes a reused
/// process id (other start time).
pub fn end(pid: u32, start_ticks: u64, limit: Duration) -> io::Result<bool> {
    let is_it = || self::start_ticks(pid) == Some(start_ticks);
    signalled(pid, is_it, (Signal::TERM, "SIGTERM"), limit)
}

#[derive(Default)]
struct Found {
    marked: Vec<u32>,
    /// A process of this user is in the middle of an exec, and may have the mark in a moment.
    in_exec: bool,
}

fn find(entry: &[u8]) -> io::Result<Found> {
    let mut found = Found::default();
    for pid in all_pids()? {
        match MarkState::read(pid, entry) {
            MarkState::Marked => found.marked.push(pid),
            MarkState::InExec => found.in_exec = true,
            MarkState::Foreign => {}
        }
    }
    Ok(found)
}

fn all_pids() -> io::Result<Vec<u32>> {
    let names =
        fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter_map(|name| name.parse().ok()).collect())
}

#[derive(PartialEq)]
enum MarkState {
    Marked,
    InExec,
    Foreign,
}

impl MarkState {
    fn read(pid: u32, entry: &[u8]) -> MarkState {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
            return MarkState::Foreign;
        };
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == entry)
        {
            // A zombie has no environment, so this process is alive.
            return MarkState::Marked;
        }
        if environment.is_empty()
            && is_ours(pid)
            && Stat::read(pid).is_some_and(|stat| stat.is_in_exec())
        {
            return MarkState::InExec;
        }
        MarkState::Foreign
    }
}

fn is_ours(pid: u32) -> bool {
    let own = rustix::process::geteuid();
    own.is_root()
        || fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == own.as_raw())
}

/// Returns false if the process had already ended or its id was reused.
fn kill(pid: u32, entry: &[u8]) -> io::Result<bool> {
    let is_it = || MarkState::read(pid, entry) == MarkState::Marked;
    signalled(pid, is_it, (Signal::KILL, "SIGKILL"), GONE_WITHIN)
}

/// Sends a signal to a process and waits until it has ended. Returns false if it had already ended, or another process has its id, for
/// which `is_it` returns false.
fn signalled(
    pid: u32,
    is_it: impl FnOnce() -> bool,
    (signal, name): (Signal, &str),
    limit: Duration,
) -> io::Result<bool> {
    let Some(process) = open(pid)? else {
        return Ok(false);
    };
    // The id may have been reused; from here on the descriptor refers to one process.
    if !is_it() {
        return Ok(false);
    }
    match pidfd_send_signal(&process, signal) {
        Err(Errno::SRCH) => return Ok(false),
        sent => sent?,
    }
    if is_gone_within(&process, limit)? {
        return Ok(true);
    }
    let waited_s = limit.as_secs();
    Err(io::Error::other(format!(
        "process {pid} is still running {waited_s} s after {name}"
    )))
}

/// A descriptor that refers to this one process, also after its end. None if no process has this id.
pub(crate) fn open(pid: u32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(None);
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

/// A pidfd is readable once the process has ended, even if its parent has not reaped it.
fn is_gone_within(process: &OwnedFd, limit: Duration) -> io::Result<bool> {
    let limit = Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: 0,
    };
    let mut waited_for = [PollFd::new(process, PollFlags::IN)];
    loop {
        match poll(&mut waited_for, Some(&limit)) {
            // Interrupted by Ctrl-C: keep waiting.
            Err(Errno::INTR) => {}
            count => return Ok(count? > 0),
        }
    }
}

/// The fields of `/proc/PID/stat` that are needed here.
struct Stat {
    state: char,
    flags: u64,
    start_ticks: u64,
    env_end: u64,
}

/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

impl Stat {
    fn read(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses the fields, numbered from 1 as in proc(5). The name (field 2) is in parentheses and may contain anything, so
    /// parsing starts after the last parenthesis.
    fn parse(text: &str) -> Option<Stat> {
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
        let number = |n: usize| fields.get(n - 3)?.parse().ok();
        Some(Stat {
            state: fields.first()?.chars().next()?,
            flags: number(9)?,
            start_ticks: number(22)?,
            env_end: number(51)?,
        })
    }

    /// Whether the new program's memory exists but its environment does not. Kernel threads and zombies have none either.
    fn is_in_exec(&self) -> bool {
        self.env_end == 0 && self.flags & KERNEL_THREAD == 0 && !matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sleeper(mark: &str) -> std::process::Child {
        Command::new("sleep")
            .arg("1000")
            .env(MARK, mark)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    #[test]
    fn only_processes_with_the_mark_are_killed() {
        let (ours, theirs) = (
            crate::random::hex(8).unwrap(),
            crate::random::hex(8).unwrap(),
        );
        let mut dead = [sleeper(&ours), sleeper(&ours)];
        let mut alive = sleeper(&theirs);
        assert_eq!(kill_marked(&ours).unwrap(), 2);
        for child in &mut dead {
            assert!(!child.wait().unwrap().success());
        }
        assert!(alive.try_wait().unwrap().is_none());
        alive.kill().unwrap();
        alive.wait().unwrap();
    }

    #[test]
    fn children_of_a_marked_process_are_killed_too() {
        let mark = crate::random::hex(8).unwrap();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "sleep 1000 & echo; wait"])
            .env(MARK, &mark);
        let mut shell = shell.stdout(Stdio::piped()).spawn().unwrap();
        io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        assert_eq!(kill_marked(&mark).unwrap(), 2);
        shell.wait().unwrap();
    }

    #[test]
    fn a_running_program_is_found_by_its_folder() {
        let program = std::env::current_exe().unwrap();
        assert!(runs_from(program.parent().unwrap()));
        assert!(!runs_from(tempfile::tempdir().unwrap().path()));
    }

    #[test]
    fn a_process_with_another_start_time_is_not_terminated() {
        let mut child = sleeper("nobody's");
        let began = start_ticks(child.id()).unwrap();
        let limit = Duration::from_secs(60);
        assert!(!end(child.id(), began + 1, limit).unwrap());
        assert!(child.try_wait().unwrap().is_none());
        assert!(end(child.id(), began, limit).unwrap());
        child.wait().unwrap();
        assert!(!end(child.id(), began, limit).unwrap());
    }

    #[test]
    fn a_process_name_with_parentheses_does_not_break_parsing() {
        let tail = (4..=52)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(" ");
        let stat = Stat::parse(&format!("7 (a) b (c)) S {tail}\n")).unwrap();
        assert_eq!(
            (stat.state, stat.flags, stat.start_ticks, stat.env_end),
            ('S', 9, 22, 51)
        );
        assert!(start_ticks(std::process::id()).is_some());
    }
}
