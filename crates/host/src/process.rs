//! Processes of this machine, found by a mark in their environment and killed without a race.
//!
//! Goal: after `kill_marked` no process with the mark is left. Non-goals: polite ends (see `server::managed`).
//!
//! The mark is inherited by everything that a marked process starts, and it is there from the moment of exec on: there
//! is no gap between starting a process and noting its id.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// The name of the variable that carries the mark.
pub const MARK: &str = "PRONY_LEASE";

/// How long a killed process may take to be gone; one that writes back gigabytes takes seconds.
const GONE_WITHIN: Duration = Duration::from_secs(60);
/// How long a process may be in the middle of its exec, where its environment cannot be read yet.
const EXEC_WITHIN: Duration = Duration::from_secs(2);

/// The time of a process's start in clock ticks since boot, field 22 of `/proc/PID/stat` (proc(5)); with the id it
/// names one process for ever. None where there is no such process.
pub fn start_ticks(pid: u32) -> Option<u64> {
    Some(Stat::of(pid)?.start_ticks)
}

/// Kills (SIGKILL) every process that carries the mark and waits until all are gone. Returns how many there were.
///
/// A process may start another one just before it dies, so it looks again until it finds none.
pub fn kill_marked(mark: &str) -> io::Result<usize> {
    let entry = format!("{MARK}={mark}");
    let began = Instant::now();
    let mut killed = 0;
    loop {
        let found = look_for(entry.as_bytes())?;
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

/// How a child ended, or None where it still runs after the limit.
pub fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    if let Some(ended) = child.try_wait()? {
        return Ok(Some(ended));
    }
    // Not collected yet, so the number is still the child's.
    let Some(process) = open(child.id())? else {
        return child.wait().map(Some);
    };
    if is_gone_within(&process, limit)? {
        child.wait().map(Some)
    } else {
        Ok(None)
    }
}

/// Asks a process to end (SIGTERM) and waits until it has. False where it had ended before; a process with its number
/// that started at another time is not it.
pub fn end(pid: u32, start_ticks: u64, limit: Duration) -> io::Result<bool> {
    let Some(process) = open(pid)? else {
        return Ok(false);
    };
    // From here on the descriptor names one process.
    if self::start_ticks(pid) != Some(start_ticks) {
        return Ok(false);
    }
    match pidfd_send_signal(&process, Signal::TERM) {
        Err(Errno::SRCH) => return Ok(false),
        sent => sent?,
    }
    if is_gone_within(&process, limit)? {
        return Ok(true);
    }
    let waited_s = limit.as_secs();
    Err(io::Error::other(format!(
        "process {pid} is still there {waited_s} s after it was asked to end"
    )))
}

#[derive(Default)]
struct Found {
    marked: Vec<u32>,
    /// A process of ours is between two programs: it may carry the mark in a moment.
    in_exec: bool,
}

fn look_for(entry: &[u8]) -> io::Result<Found> {
    let mut found = Found::default();
    for pid in all_pids()? {
        match Bearing::of(pid, entry) {
            Bearing::Marked => found.marked.push(pid),
            Bearing::InExec => found.in_exec = true,
            Bearing::Foreign => {}
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
enum Bearing {
    Marked,
    InExec,
    Foreign,
}

impl Bearing {
    fn of(pid: u32, entry: &[u8]) -> Bearing {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
            return Bearing::Foreign;
        };
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == entry)
        {
            // A zombie has no environment any more, so this one lives.
            return Bearing::Marked;
        }
        if environment.is_empty()
            && is_ours(pid)
            && Stat::of(pid).is_some_and(|stat| stat.is_in_exec())
        {
            return Bearing::InExec;
        }
        Bearing::Foreign
    }
}

fn is_ours(pid: u32) -> bool {
    let own = rustix::process::geteuid();
    own.is_root()
        || fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == own.as_raw())
}

/// False where the process was gone, or another one has its number, before the signal.
fn kill(pid: u32, entry: &[u8]) -> io::Result<bool> {
    let Some(process) = open(pid)? else {
        return Ok(false);
    };
    // The number may have been given to another process since; from here on the descriptor names one process.
    if Bearing::of(pid, entry) != Bearing::Marked {
        return Ok(false);
    }
    match pidfd_send_signal(&process, Signal::KILL) {
        Err(Errno::SRCH) => return Ok(false),
        sent => sent?,
    }
    if !is_gone_within(&process, GONE_WITHIN)? {
        let waited_s = GONE_WITHIN.as_secs();
        return Err(io::Error::other(format!(
            "process {pid} is still there {waited_s} s after SIGKILL"
        )));
    }
    Ok(true)
}

fn open(pid: u32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(None);
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

/// A process descriptor is readable once the process has ended, whether or not its parent has collected it.
fn is_gone_within(process: &OwnedFd, limit: Duration) -> io::Result<bool> {
    let limit = Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: 0,
    };
    let mut waited_for = [PollFd::new(process, PollFlags::IN)];
    loop {
        match poll(&mut waited_for, Some(&limit)) {
            // A Ctrl-C, which asks for an end as well: go on waiting.
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
    fn of(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Numbered from 1 as in proc(5). The name (2) stands in brackets and may hold anything, so fields count from the last one.
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

    /// The new program's memory is there and its environment is not: also a kernel thread and a zombie have none.
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
    fn processes_with_the_mark_are_killed_and_no_others() {
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
    fn a_child_of_a_marked_process_dies_with_it() {
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
    fn only_the_process_that_was_meant_is_asked_to_end() {
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
    fn the_start_of_a_process_is_read_whatever_its_name_holds() {
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
