//! Pauses a process: SIGSTOP, and always SIGCONT afterwards.
//!
//! No process stays stopped. If prony is killed meanwhile, the guard kills the process, which works on stopped processes too.
//! The caller decides how long the pause lasts.

use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A stopped process. It continues when this value is dropped.
pub struct Paused {
    process: OwnedFd,
    pid: u32,
}

/// Pause between two looks at the threads.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// The states of threads that run no more: stopped, traced, or ended (proc_pid_stat(5)).
const STOPPED: [Option<char>; 4] = [Some('T'), Some('t'), Some('Z'), Some('X')];

/// The state in a line of `/proc/PID/stat`. It follows the name in parentheses, which may contain anything.
fn state(stat: &str) -> Option<char> {
    stat[stat.rfind(')')? + 1..].trim_start().chars().next()
}

impl Paused {
    /// Stops a process.
    ///
    /// # Errors
    /// The process does not exist, or belongs to another user.
    pub fn stop(pid: u32) -> io::Result<Paused> {
        let process = super::open(pid)?.ok_or(Errno::SRCH)?;
        // Created before the signal is sent, so that the process is continued whatever happens.
        let paused = Paused { process, pid };
        pidfd_send_signal(&paused.process, Signal::STOP)?;
        Ok(paused)
    }

    /// This process when every thread is stopped. The signal only requests it: a thread that waits for the disk stops after that.
    ///
    /// # Errors
    /// A thread was still running after the limit, or when `gives_up` said so. The process continues.
    pub fn until_stopped(self, limit: Duration, gives_up: &dyn Fn() -> bool) -> io::Result<Paused> {
        let began = Instant::now();
        while !self.is_stopped()? {
            if gives_up() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if began.elapsed() > limit {
                let says = format!(
                    "a thread is still running {} s after SIGSTOP",
                    limit.as_secs()
                );
                return Err(io::Error::other(says));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(self)
    }

    fn is_stopped(&self) -> io::Result<bool> {
        for thread in fs::read_dir(format!("/proc/{}/task", self.pid))? {
            let stat = match fs::read_to_string(thread?.path().join("stat")) {
                // It has ended meanwhile.
                Err(_) => continue,
                Ok(stat) => stat,
            };
            if !STOPPED.contains(&state(&stat)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        // It may have ended meanwhile.
        let _ = pidfd_send_signal(&self.process, Signal::CONT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{MARK, kill_marked};
    use std::process::{Child, Command};

    fn state(pid: u32) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat[stat.rfind(')').unwrap() + 2..].chars().next().unwrap()
    }

    fn reaches(pid: u32, states: &[char]) -> bool {
        let began = Instant::now();
        while !states.contains(&state(pid)) {
            if began.elapsed() > Duration::from_secs(60) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    fn sleeper(mark: &str) -> Child {
        Command::new("sleep")
            .arg("1000")
            .env(MARK, mark)
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_process_stays_stopped_until_the_value_is_dropped_even_by_a_panic() {
        let mut child = sleeper("nobody's");
        let pid = child.id();
        let unwound = std::panic::catch_unwind(|| {
            let paused = Paused::stop(pid).unwrap();
            let _paused = paused
                .until_stopped(Duration::from_secs(60), &|| false)
                .unwrap();
            assert_eq!(state(pid), 'T');
            panic!("deliberate");
        });
        assert!(unwound.is_err() && reaches(pid, &['S']));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn who_gives_up_does_not_wait_for_a_process_that_runs_on() {
        let mut child = sleeper("nobody's");
        let paused = Paused::stop(child.id()).unwrap();
        assert!(reaches(child.id(), &['T']));
        pidfd_send_signal(&paused.process, Signal::CONT).unwrap();
        assert!(reaches(child.id(), &['S']));
        let stopped = paused.until_stopped(Duration::from_secs(60), &|| true);
        assert_eq!(stopped.err().unwrap().kind(), io::ErrorKind::Interrupted);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_guards_kill_ends_a_stopped_process() {
        let mark = crate::random::hex(8).unwrap();
        let mut child = sleeper(&mark);
        let paused = Paused::stop(child.id()).unwrap();
        assert!(reaches(child.id(), &['T']));
        assert_eq!(kill_marked(&mark).unwrap(), 1);
        child.wait().unwrap();
        drop(paused);
    }

    #[test]
    fn a_missing_process_cannot_be_stopped() {
        assert!(Paused::stop(0).is_err() && Paused::stop(u32::MAX).is_err());
    }
}
