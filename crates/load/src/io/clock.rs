//! The reactors' clock: nanoseconds since a shared origin.
//!
//! Goal: reading it costs `clock_gettime` and a subtraction. Non-goal: the time of day.

use rustix::event::Timespec;
use std::mem::MaybeUninit;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Number of reading pairs for the anchor. An interrupt between the two readings is unlikely in all of them.
const PAIRS: usize = 3;

/// One point in time, both as an [`Instant`] and as the kernel's value, which an `Instant` does not expose. It is read once per
/// process, so that all reactors use the same origin to the nanosecond.
static ANCHOR: LazyLock<Anchor> = LazyLock::new(Anchor::read);

struct Anchor {
    instant: Instant,
    at_ns: u64,
}

/// A clock that starts at its origin. `Instant::elapsed` is equivalent, but costs 60 more user instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin_ns: u64,
}

impl Clock {
    pub(super) fn since(origin: Instant) -> Clock {
        let anchor = &*ANCHOR;
        let origin_ns = match anchor.instant.checked_duration_since(origin) {
            Some(before) => anchor.at_ns.saturating_sub(before.as_nanos() as u64),
            None => anchor.at_ns + origin.duration_since(anchor.instant).as_nanos() as u64,
        };
        Clock { origin_ns }
    }

    /// Nanoseconds since the origin; 0 before it.
    #[inline]
    pub(super) fn now_ns(self) -> u64 {
        monotonic_ns().saturating_sub(self.origin_ns)
    }
}

impl Anchor {
    /// Reads several pairs and keeps the one whose readings are closest.
    fn read() -> Anchor {
        let pairs = (0..PAIRS).map(|_| {
            let before_ns = monotonic_ns();
            let instant = Instant::now();
            let at_ns = monotonic_ns();
            (at_ns - before_ns, Anchor { instant, at_ns })
        });
        let closest = pairs.min_by_key(|(apart_ns, _)| *apart_ns);
        closest.expect("some pairs").1
    }
}

/// The clock of `Instant` in nanoseconds. It uses the C library, because `rustix` looks for the vDSO itself and aborts where
/// valgrind hides it.
#[inline]
fn monotonic_ns() -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is to a `timespec`, and this clock always exists, so the call initialises it.
    let now = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A duration as the kernel takes it.
pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_agrees_with_instant_before_and_after_the_anchor() {
        LazyLock::force(&ANCHOR);
        for origin in [Instant::now(), Instant::now() - Duration::from_secs(30)] {
            let clock = Clock::since(origin);
            let before_ns = origin.elapsed().as_nanos() as u64;
            let now_ns = clock.now_ns();
            let after_ns = origin.elapsed().as_nanos() as u64;
            assert!(now_ns <= after_ns);
            // Tolerance: the time between the two readings of the anchor.
            assert!(now_ns + 1_000_000_000 >= before_ns);
        }
    }

    #[test]
    fn clocks_of_one_origin_agree() {
        let origin = Instant::now();
        let clocks = [Clock::since(origin), Clock::since(origin)];
        assert_eq!(clocks[0].origin_ns, clocks[1].origin_ns);
    }

    #[test]
    fn the_clock_is_zero_before_its_origin() {
        let clock = Clock::since(Instant::now() + Duration::from_secs(3600));
        assert_eq!(clock.now_ns(), 0);
    }
}
