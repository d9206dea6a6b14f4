//! Sums of the server's counters over the measured part of a load.

use super::levels::is_level;
use crate::Reading;
use crate::counters::OWN_STATEMENTS;
use record::Counters;
use std::collections::BTreeSet;

/// What each status value moved by in all measured readings.
#[derive(Default)]
pub(super) struct Sums {
    /// Includes levels, whose sums mean nothing.
    moved: Counters,
    /// The names of values that were reset meanwhile, so that their sums are unknown.
    reset: BTreeSet<String>,
}

impl Sums {
    /// Adds the difference `moved` of two readings.
    pub(super) fn add(&mut self, before: &Reading, after: &Reading, moved: Counters) {
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

    /// The server's counters: without levels, and without values that fell, which are not counters or were reset.
    pub(super) fn into_counters(self) -> Counters {
        let is_counter =
            |name: &String| name != OWN_STATEMENTS && !is_level(name) && !self.reset.contains(name);
        self.moved
            .into_iter()
            .filter(|(name, moved)| *moved >= 0 && is_counter(name))
            .collect()
    }
}

/// Whether a counter was reset (FLUSH STATUS), or has wrapped. A smaller fall is the end of a connection whose values counted twice for
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
}
