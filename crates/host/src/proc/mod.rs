//! Reads /proc: cumulative counts of a process, the machine and its network.
//!
//! Values are cumulative, so that readings can be subtracted. A value that cannot be read is None, never 0. Rates are
//! computed in `observe`; disks are in `device`.

mod interface;
mod machine;
mod process;
mod turns;

pub use interface::{Carried, Interface, retransmitted_segments};
pub use machine::{Processors, network_bytes, network_bytes_of};
pub use process::{Io, Process};
pub use turns::Turns;

use std::time::Duration;

/// CPU time of the calling thread.
pub fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// CPU time of a process since it started, including threads that have ended, in nanoseconds: from
/// clock_getcpuclockid(3), because `/proc` counts in ticks. None if the process does not exist.
pub fn process_cpu(pid: u32) -> Option<Duration> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both calls only write to the given variable.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &mut clock) != 0
            || libc::clock_gettime(clock, &mut time) != 0
    };
    (!failed).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Converts clock ticks to seconds (USER_HZ of proc(5), nearly always 100 per second).
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_uses_cpu_time_and_a_sleeping_one_does_not() {
        let began = thread_cpu();
        while thread_cpu() - began < Duration::from_millis(2) {}
        let worked = thread_cpu();
        std::thread::sleep(Duration::from_millis(50));
        assert!(thread_cpu() - worked < Duration::from_millis(50));
    }
}
