//! CPU time of the calling thread.

use std::ops::{Add, Sub};

/// CPU time in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    pub user_s: f64,
    pub system_s: f64,
}

impl Usage {
    pub(super) fn of_this_thread() -> Usage {
        // SAFETY: an all-zero `rusage` is valid (integers only), the kernel fills it, and the call keeps no pointer.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        Usage {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

impl Sub for Usage {
    type Output = Usage;

    fn sub(self, before: Usage) -> Usage {
        Usage {
            user_s: self.user_s - before.user_s,
            system_s: self.system_s - before.system_s,
        }
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            user_s: self.user_s + other.user_s,
            system_s: self.system_s + other.system_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn cpu_time_is_counted_per_thread() {
        let before = Usage::of_this_thread();
        let began = Instant::now();
        let mut used = Usage::default();
        while used.user_s + used.system_s < 0.02 {
            used = Usage::of_this_thread() - before;
            assert!(began.elapsed() < Duration::from_secs(60));
        }
        let elsewhere = std::thread::spawn(Usage::of_this_thread).join();
        assert!(elsewhere.expect("it ends").user_s < 0.02);
    }
}
