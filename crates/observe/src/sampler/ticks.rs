//! When readings are due: at the origin and every whole second after it, whatever the ones before took.
//!
//! Goal: no drift. Non-goal: waiting.

use std::time::{Duration, Instant};

/// Tick n ends second n - 1 and begins second n.
#[derive(Clone, Copy)]
pub(super) struct Ticks {
    pub(super) origin: Instant,
    pub(super) every: Duration,
}

impl Ticks {
    pub(super) fn due(&self, tick: u32) -> Instant {
        self.origin + self.every * tick
    }

    /// A reading after this is nearer to the next tick: it counts for none.
    pub(super) fn too_late(&self, tick: u32) -> Instant {
        self.due(tick) + self.every / 2
    }

    /// The first tick from `least` on that can still be read in time.
    pub(super) fn next(&self, least: u32, now: Instant) -> u32 {
        let late = now
            .saturating_duration_since(self.origin)
            .saturating_sub(self.every / 2);
        let missed = late.as_nanos().div_ceil(self.every.as_nanos());
        least.max(u32::try_from(missed).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ticks() -> Ticks {
        Ticks {
            origin: Instant::now(),
            every: Duration::from_secs(1),
        }
    }

    fn next_at(millis: u64) -> u32 {
        let ticks = ticks();
        ticks.next(0, ticks.origin + Duration::from_millis(millis))
    }

    #[test]
    fn a_tick_can_be_read_up_to_half_a_second_after_it_is_due() {
        assert_eq!([0, 499, 500, 501, 1400].map(next_at), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn before_the_origin_the_first_tick_is_next() {
        let ticks = ticks();
        let early = ticks.origin - Duration::from_millis(300);
        assert_eq!(ticks.next(0, early), 0);
    }

    #[test]
    fn no_tick_comes_twice() {
        let ticks = ticks();
        assert_eq!(ticks.next(8, ticks.due(3)), 8);
    }

    proptest! {
        #[test]
        fn the_next_tick_is_the_first_that_is_not_too_late(millis in 0_u64..10_000_000) {
            let ticks = ticks();
            let now = ticks.origin + Duration::from_millis(millis);
            let next = ticks.next(0, now);
            prop_assert!(now <= ticks.too_late(next));
            prop_assert!(next == 0 || now > ticks.too_late(next - 1));
        }
    }
}
