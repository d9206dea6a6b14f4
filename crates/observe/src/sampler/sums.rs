//! Sums of the server's counters over the measured part of a load.

use super::levels::is_level;
use crate::Reading;
use crate::counters::{OWN_STATEMENTS, flushed};
use record::{Counters, Flag};
use std::collections::BTreeSet;

/// What each status value moved by in all measured readings.
#[derive(Default)]
pub(super) struct Sums {
    /// Includes levels, whose sums mean nothing.
    moved: Counters,
    /// The names of values that were reset meanwhile, so that their sums are unknown.
    reset: BTreeSet<String>,
    /// That somebody reset them all.
    flushed: Option<Flag>,
}

impl Sums {
    /// Adds the difference `moved` of two readings.
    pub(super) fn add(&mut self, before: &Reading, after: &Reading, moved: Counters) {
        self.flushed = self.flushed.take().or_else(|| flushed(before, after));
        for (name, moved) in moved {
            if was_reset(before[&name], after[&name]) {
                self.reset.insert(name.clone());
            }
            *self.moved.entry(name).or_default() += moved;
        }
    }

    /// The statements that prony itself has sent; None if nothing was added.
    pub(super) fn own_statements(&self) -> Option<i64> {
        self.moved.get(OWN_STATEMENTS).copied()
    }

    /// Why there are no counters although the server was read.
    pub(super) fn flushed(&self) -> Option<Flag> {
        self.flushed.clone()
    }

    /// The server's counters: without levels, and without values that fell, which are not counters or were reset. None after a FLUSH STATUS.
    pub(super) fn into_counters(self) -> Counters {
        if self.flushed.is_some() {
            return Counters::new();
        }
        let is_counter =
            |name: &String| name != OWN_STATEMENTS && !is_level(name) && !self.reset.contains(name);
        self.moved
            .into_iter()
            .filter(|(name, moved)| *moved >= 0 && is_counter(name))
            .collect()
    }
}

/// Whether a counter was reset, or has wrapped. A smaller fall is the end of a connection whose values counted twice for
/// a moment.
fn was_reset(before: i64, after: i64) -> bool {
    after < before / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(values: [(&str, i64); 3]) -> Reading {
        values.map(|(name, value)| (name.to_string(), value)).into()
    }

    #[test]
    fn a_counter_that_was_reset_between_two_readings_has_no_sum() {
        let names = ["Com_select", "Handler_commit", "Threads_running"];
        let mut sums = Sums::default();
        // The sum of the second one is above zero, and lacks what came before the reset.
        let readings = [[0, 100, 1], [50, 10, 5], [70, 900, 3]];
        let readings = readings.map(|values| {
            let [one, two, three] = values;
            reading([(names[0], one), (names[1], two), (names[2], three)])
        });
        for pair in readings.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            let moved = after.iter();
            let moved = moved.map(|(name, value)| (name.clone(), value - before[name]));
            sums.add(before, after, moved.collect());
        }
        let expected = Counters::from([("Com_select".to_string(), 70)]);
        assert_eq!(sums.into_counters(), expected);
    }

    /// The sums of two seconds. In the second one somebody executed FLUSH STATUS so many seconds ago.
    fn with_a_flush(since_flush: i64) -> Sums {
        let names = ["Key_reads", "Uptime", "Uptime_since_flush_status"];
        let readings = [[100, 60, 60], [300, 61, 61], [400, 62, since_flush]];
        let readings = readings.map(|values| {
            let [one, two, three] = values;
            reading([(names[0], one), (names[1], two), (names[2], three)])
        });
        let mut sums = Sums::default();
        for pair in readings.windows(2) {
            let moved = pair[1].iter();
            let moved = moved.map(|(name, value)| (name.clone(), value - pair[0][name]));
            sums.add(&pair[0], &pair[1], moved.collect());
        }
        sums
    }

    #[test]
    fn no_counter_has_a_sum_after_a_flush_status_even_if_it_never_fell() {
        let flushed = with_a_flush(0);
        assert!(flushed.flushed().is_some());
        assert!(flushed.into_counters().is_empty());
        let whole = with_a_flush(62);
        assert_eq!(whole.flushed(), None);
        assert_eq!(whole.into_counters()["Key_reads"], 300);
    }
}
