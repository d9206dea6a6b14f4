//! Pauses a process: SIGSTOP, and always SIGCONT afterwards.
//!
//! No process stays stopped. If prony is killed meanwhile, the guard kills the process, which works on stopped processes too.
//! The caller decides how long the pause lasts.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::OwnedFd;

/// A stopped process. It continues when this value is dropped.
pub struct Paused {
    process: OwnedFd,
}

impl Paused {
    /// Stops a process.
    ///
    /// # Errors
    /// The process does not exist, or belongs to another user.
    pub fn stop(pid: u32) -> io::Result<Paused> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let process = pidfd_open(pid.ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
        // Created before the signal is sent, so that the process is continued whatever happens.
        let paused = Paused { process };
        pidfd_send_signal(&paused.process, Signal::STOP)?;
        Ok(paused)
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
    use std::time::{Duration, Instant};

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
            let _paused = Paused::stop(pid).unwrap();
            assert!(reaches(pid, &['T']));
            panic!("deliberate");
        });
        assert!(unwound.is_err() && reaches(pid, &['S']));
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
