//! Readings of /proc: what a process, the machine and its network have done so far.
//!
//! Goal: cumulative amounts that can be subtracted, each as cheap as the kernel gives it; what cannot be read is absent
//! (None), never 0. Non-goals: rates (see `observe`), devices (`host::device`).

mod machine;
mod process;
mod turns;

pub use machine::{Processors, network_bytes};
pub use process::Process;
pub use turns::Turns;

use std::time::Duration;

/// The processor time of the thread that asks.
pub fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The processor time of all threads of a process since it started, those that have ended among them, to the nanosecond: the
/// clock of clock_getcpuclockid(3), where `/proc` counts in ticks. None where there is no such process.
pub fn process_cpu(pid: u32) -> Option<Duration> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both calls write to the variable that is given and to nothing else.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &mut clock) != 0
            || libc::clock_gettime(clock, &mut time) != 0
    };
    (!failed).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Seconds of a count of clock ticks (USER_HZ of proc(5), 100 a second nearly everywhere).
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_uses_time_and_one_that_sleeps_does_not() {
        let began = thread_cpu();
        while thread_cpu() - began < Duration::from_millis(2) {}
        let worked = thread_cpu();
        std::thread::sleep(Duration::from_millis(50));
        assert!(thread_cpu() - worked < Duration::from_millis(50));
    }
}
