//! The queue of an open load, as written in a file.
//!
//! Purpose: its length in operations, from a number or from the time whose arrivals it holds. Boundaries: `section` reads it;
//! `load::pacer` is the queue.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The time whose arrivals the default queue holds, so that a shorter stall does not fill it.
const TIME: Duration = Duration::from_secs(10);

/// The length of the default queue in operations: at a low rate, arrivals that come close together fit; at a high one, the queue
/// takes at most 160 MB.
const LENGTHS: RangeInclusive<u64> = 10_000..=10_000_000;

/// The length of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueSpec {
    /// As many operations as arrive in 10 s; at least 10,000 and at most 10 million.
    #[default]
    Default,
    Operations(u64),
    /// As many operations as arrive in this time at the highest rate of the schedule.
    Time(Duration),
}

impl QueueSpec {
    /// The length in operations at `rate` operations per second, at least 1.
    pub fn operations(self, rate: f64) -> u64 {
        let in_time = |time: Duration| (rate * time.as_secs_f64()).ceil() as u64;
        match self {
            QueueSpec::Default => in_time(TIME).clamp(*LENGTHS.start(), *LENGTHS.end()),
            QueueSpec::Operations(operations) => operations,
            QueueSpec::Time(time) => in_time(time).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_queue_holds_ten_seconds_of_arrivals_and_at_least_10_000() {
        assert_eq!(QueueSpec::Default.operations(43_000.0), 430_000);
        assert_eq!(QueueSpec::Default.operations(500.0), 10_000);
    }

    #[test]
    fn a_queue_of_seconds_grows_with_the_rate() {
        let second = QueueSpec::Time(Duration::from_secs(1));
        assert_eq!(second.operations(500.0), 500);
        assert_eq!(second.operations(43_000.0), 43_000);
        assert_eq!(second.operations(0.1), 1);
    }

    #[test]
    fn a_queue_of_operations_is_as_long_at_any_rate() {
        assert_eq!(QueueSpec::Operations(5).operations(43_000.0), 5);
    }
}
