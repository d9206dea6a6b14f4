//! A process that stands still for a while: SIGSTOP, and SIGCONT in any case.
//!
//! Goal: nobody leaves a stopped process behind. A prony that is killed meanwhile cannot continue it, but then the guard kills it,
//! which works on stopped processes. Non-goal: how long it stands still.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::OwnedFd;

/// A stopped process. It goes on when this value is dropped.
pub struct Paused {
    process: OwnedFd,
}

impl Paused {
    /// Stops a process.
    ///
    /// # Errors
    /// There is no such process, or it belongs to another user.
    pub fn stop(pid: u32) -> io::Result<Paused> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let process = pidfd_open(pid.ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
        // Made before the signal is sent: from then on it is continued whatever happens.
        let paused = Paused { process };
        pidfd_send_signal(&paused.process, Signal::STOP)?;
        Ok(paused)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        // One that has ended meanwhile needs no signal.
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

    fn comes_to(pid: u32, states: &[char]) -> bool {
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
    fn a_process_stands_still_until_the_value_is_dropped_even_by_a_panic() {
        let mut child = sleeper("nobody's");
        let pid = child.id();
        let unwound = std::panic::catch_unwind(|| {
            let _paused = Paused::stop(pid).unwrap();
            assert!(comes_to(pid, &['T']));
            panic!("as this test wants it");
        });
        assert!(unwound.is_err() && comes_to(pid, &['S']));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_guards_kill_ends_a_stopped_process() {
        let mark = crate::random::hex(8).unwrap();
        let mut child = sleeper(&mark);
        let paused = Paused::stop(child.id()).unwrap();
        assert!(comes_to(child.id(), &['T']));
        assert_eq!(kill_marked(&mark).unwrap(), 1);
        child.wait().unwrap();
        drop(paused);
    }

    #[test]
    fn a_process_that_is_not_there_cannot_be_stopped() {
        assert!(Paused::stop(0).is_err() && Paused::stop(u32::MAX).is_err());
    }
}
