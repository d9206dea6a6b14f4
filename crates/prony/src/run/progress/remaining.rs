//! The time that the rest of a run takes.
//!
//! Purpose: a figure that is an estimate at first and rests on the run's own trials soon. A trial of a cell that was measured takes as
//! long as before. Another one takes what was expected of it, corrected by how the measured trials compare with what was expected of them.

use record::TrialKey;
use spec::plan::Finished;
use stats::row_key;

/// What was expected of each trial before the run, in seconds, in execution order.
pub(crate) struct Remaining {
    expected: Vec<(TrialKey, f64)>,
}

impl Remaining {
    pub(crate) fn new(expected: Vec<(TrialKey, f64)>) -> Remaining {
        Remaining { expected }
    }

    /// Seconds of the trials that will be measured (None: all that are not finished): of the first of them, and of all others.
    pub(crate) fn of_next(&self, left: Option<&[TrialKey]>, finished: &[Finished]) -> (f64, f64) {
        let is_left = |key: &TrialKey| match left {
            Some(left) => left.contains(key),
            None => finished.iter().all(|one| one.key != *key),
        };
        let left = self.expected.iter().filter(|(key, _)| is_left(key));
        let correction = self.correction(finished);
        let takes_s = |(key, expected_s): &(TrialKey, f64)| {
            measured(key, finished).unwrap_or(expected_s * correction)
        };
        let mut seconds = left.map(takes_s);
        (seconds.next().unwrap_or(0.0), seconds.sum())
    }

    /// Measured over expected; 1 before the first trial.
    fn correction(&self, finished: &[Finished]) -> f64 {
        let expected_of = |key: &TrialKey| {
            let mut expected = self.expected.iter();
            expected.find(|(known, _)| known == key)
        };
        let pairs = finished.iter().filter_map(|one| {
            let (_, expected_s) = expected_of(&one.key)?;
            Some((one.elapsed_s, *expected_s))
        });
        let (measured, expected) =
            pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        if expected > 0.0 {
            measured / expected
        } else {
            1.0
        }
    }
}

/// The mean of the finished trials of the same cell.
fn measured(key: &TrialKey, finished: &[Finished]) -> Option<f64> {
    let is_alike = |one: &&Finished| row_key(&one.key) == row_key(key);
    let alike = finished.iter().filter(is_alike).map(|one| one.elapsed_s);
    let alike: Vec<f64> = alike.collect();
    stats::mean(&alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Role;

    fn key(block: u32, clients: u32) -> TrialKey {
        TrialKey {
            block,
            server: Some("a".into()),
            levels: vec![("clients".into(), clients.to_string())],
            role: Role::Measured,
        }
    }

    fn done(block: u32, clients: u32, elapsed_s: f64) -> Finished {
        Finished {
            elapsed_s,
            ..Finished::without_figures(key(block, clients), true)
        }
    }

    /// Two blocks of two cells, of which the second is expected to take twice as long.
    fn remaining() -> Remaining {
        let trials = [(0, 1, 10.0), (0, 8, 20.0), (1, 8, 20.0), (1, 1, 10.0)];
        let trials = trials.map(|(block, clients, seconds)| (key(block, clients), seconds));
        Remaining::new(trials.to_vec())
    }

    #[test]
    fn before_the_first_trial_the_remaining_time_is_the_estimate() {
        assert_eq!(remaining().of_next(None, &[]), (10.0, 50.0));
        let first = [key(0, 1), key(0, 8)];
        assert_eq!(remaining().of_next(Some(&first), &[]), (10.0, 20.0));
    }

    #[test]
    fn finished_trials_correct_the_estimate_and_replace_it_for_their_own_cell() {
        let finished = [done(0, 1, 5.0)];
        assert_eq!(remaining().of_next(None, &finished), (10.0, 15.0));
        let finished = [done(0, 1, 5.0), done(0, 8, 30.0)];
        assert_eq!(remaining().of_next(None, &finished), (30.0, 5.0));
    }

    #[test]
    fn cells_that_do_not_go_on_after_a_look_take_no_time() {
        let finished = [done(0, 1, 5.0), done(0, 8, 30.0)];
        let coming = [key(1, 1)];
        assert_eq!(remaining().of_next(Some(&coming), &finished), (5.0, 0.0));
    }

    #[test]
    fn nothing_remains_after_the_last_trial() {
        let all = [
            done(0, 1, 1.0),
            done(0, 8, 1.0),
            done(1, 8, 1.0),
            done(1, 1, 1.0),
        ];
        assert_eq!(remaining().of_next(None, &all), (0.0, 0.0));
    }
}
