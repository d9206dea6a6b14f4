//! The schedule of readings: at the origin and every whole second after it, so that it does not drift.

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

    /// The tick that is nearest to a reading.
    pub(super) fn nearest(&self, at: Instant) -> u32 {
        let since = at.saturating_duration_since(self.origin) + self.every / 2;
        u32::try_from(since.as_nanos() / self.every.as_nanos()).unwrap_or(u32::MAX)
    }

    /// A reading after this time is closer to the next tick and is discarded.
    pub(super) fn too_late(&self, tick: u32) -> Instant {
        self.due(tick) + self.every / 2
    }

    /// The first tick, not before `min`, that can still be read in time.
    pub(super) fn next(&self, min: u32, now: Instant) -> u32 {
        let late = now
            .saturating_duration_since(self.origin)
            .saturating_sub(self.every / 2);
        let missed = late.as_nanos().div_ceil(self.every.as_nanos());
        min.max(u32::try_from(missed).unwrap_or(u32::MAX))
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
    fn a_tick_can_be_read_until_half_a_second_after_it_is_due() {
        assert_eq!([0, 499, 500, 501, 1400].map(next_at), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn the_first_tick_is_next_before_the_origin() {
        let ticks = ticks();
        let early = ticks.origin - Duration::from_millis(300);
        assert_eq!(ticks.next(0, early), 0);
    }

    #[test]
    fn ticks_never_go_back() {
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
