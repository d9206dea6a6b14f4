//! The reactors' clock: nanoseconds since an origin that they share.
//!
//! Goal: a look at it costs the kernel's answer and a subtraction. Non-goal: the time of day.

use std::mem::MaybeUninit;
use std::sync::LazyLock;
use std::time::Instant;

/// Pairs that are read for the anchor: an interrupt between the two readings of one does not come three times in a row.
const PAIRS: usize = 3;

/// One moment, as an [`Instant`] and as the number that the kernel has for it, which no `Instant` tells. It is read once
/// in a process, so that all reactors count from the same origin to the nanosecond.
static ANCHOR: LazyLock<Anchor> = LazyLock::new(Anchor::read);

struct Anchor {
    instant: Instant,
    at_ns: u64,
}

/// `Instant::elapsed` does the same by way of `Duration` and 128 bits, for 60 user instructions more.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    pub fn since(origin: Instant) -> Clock {
        let anchor = &*ANCHOR;
        let origin_ns = match anchor.instant.checked_duration_since(origin) {
            Some(before) => anchor.at_ns.saturating_sub(before.as_nanos() as u64),
            None => anchor.at_ns + origin.duration_since(anchor.instant).as_nanos() as u64,
        };
        Clock { origin_ns }
    }

    /// 0 before the origin.
    #[inline]
    pub fn now_ns(self) -> u64 {
        monotonic_ns().saturating_sub(self.origin_ns)
    }
}

impl Anchor {
    /// The pair whose readings lie closest together.
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

/// The clock of `Instant`, as a number. By the C library: `rustix` looks for the kernel's page itself, and ends the process
/// where valgrind has hidden it.
#[inline]
fn monotonic_ns() -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the place is one for a `timespec`, and this clock is always there, so it is written.
    let now = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_counts_as_instants_do_from_before_and_after_the_anchor() {
        LazyLock::force(&ANCHOR);
        for origin in [Instant::now(), Instant::now() - Duration::from_secs(30)] {
            let clock = Clock::since(origin);
            let before_ns = origin.elapsed().as_nanos() as u64;
            let now_ns = clock.now_ns();
            let after_ns = origin.elapsed().as_nanos() as u64;
            assert!(now_ns <= after_ns);
            // What lies between the two readings of the anchor.
            assert!(now_ns + 10_000_000 >= before_ns);
        }
    }

    #[test]
    fn clocks_of_one_origin_agree() {
        let origin = Instant::now();
        let clocks = [Clock::since(origin), Clock::since(origin)];
        assert_eq!(clocks[0].origin_ns, clocks[1].origin_ns);
    }

    #[test]
    fn before_its_origin_it_stands_at_zero() {
        let clock = Clock::since(Instant::now() + Duration::from_secs(3600));
        assert_eq!(clock.now_ns(), 0);
    }
}
