//! The highest rate at which a condition still holds, such as "p99 <= 10ms".
//!
//! Goal: a pure function from the rates that were tried to the next one, so that a plan, a resume and a test are the same
//! call. It doubles until the condition fails, then halves the interval (on a log scale), then tries both ends again: one
//! trial is no proof. An end that contradicts itself is tried a third time, the majority counts, and where the end falls the
//! interval widens to the next rate that stood. Non-goal: driving.

use super::loads::counted;
use crate::claim::Percentile;
use crate::load::{Kind, Mode};
use crate::trial::Trial;

/// One trial at a rate of operations a second, and whether the condition held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    pub rate: f64,
    pub met: bool,
}

/// Rates are operations a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The first rate to try.
    pub start: f64,
    pub lowest: f64,
    pub highest: f64,
    /// The answer is known when the rate above it is at most this share higher: 0.05.
    pub precision: f64,
    /// More trials are not made.
    pub tries_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    Try(f64),
    /// The condition held at `rate` and not at `above`. Confirmed: each in two trials at least, by majority.
    Found {
        rate: f64,
        above: f64,
        confirmed: bool,
    },
    /// It held up to the highest rate that may be tried.
    AtLeast {
        rate: f64,
    },
    /// It did not even hold at the lowest.
    NotMet {
        lowest: f64,
    },
}

/// What follows from the trials so far, whatever their order. Rates are compared by value: give them back as they were asked.
pub fn next(tried: &[Tried], goal: &Goal) -> Next {
    let rates = Rate::all(tried);
    if let Some(undecided) = rates.iter().find(|rate| rate.met == rate.failed) {
        return or_stop(undecided.rate, tried, goal, &rates);
    }
    let above = rates.iter().find(|rate| rate.failed > rate.met);
    let holds = |rate: &&Rate| rate.met > rate.failed && above.is_none_or(|a| rate.rate < a.rate);
    let below = rates.iter().rfind(holds);
    let step = match (below, above) {
        (None, None) => Step::Try(clamped(goal.start, goal)),
        (Some(below), None) if below.rate >= goal.highest => {
            Step::decided_by(below, Next::AtLeast { rate: below.rate })
        }
        (Some(below), None) => Step::Try(clamped(below.rate * 2.0, goal)),
        (None, Some(above)) if above.rate <= goal.lowest => {
            Step::decided_by(above, Next::NotMet { lowest: above.rate })
        }
        (None, Some(above)) => Step::Try(clamped(above.rate / 2.0, goal)),
        (Some(below), Some(above)) => between(below, above, goal),
    };
    match step {
        Step::Try(rate) => or_stop(rate, tried, goal, &rates),
        Step::End(end) => end,
    }
}

enum Step {
    Try(f64),
    End(Next),
}

impl Step {
    /// An end that was tried once is tried again.
    fn decided_by(rate: &Rate, end: Next) -> Step {
        match rate.count() {
            1 => Step::Try(rate.rate),
            _ => Step::End(end),
        }
    }
}

fn between(below: &Rate, above: &Rate, goal: &Goal) -> Step {
    let middle = rounded((below.rate * above.rate).sqrt());
    let narrow = above.rate <= below.rate * (1.0 + goal.precision);
    if !narrow && middle > below.rate && middle < above.rate {
        return Step::Try(middle);
    }
    let found = Next::Found {
        rate: below.rate,
        above: above.rate,
        confirmed: true,
    };
    match below.count() {
        1 => Step::Try(below.rate),
        _ => Step::decided_by(above, found),
    }
}

/// Tries, or where no more trials are allowed says what is known.
fn or_stop(rate: f64, tried: &[Tried], goal: &Goal, rates: &[Rate]) -> Next {
    if tried.len() < goal.tries_max {
        return Next::Try(rate);
    }
    let above = rates.iter().find(|rate| rate.failed >= rate.met);
    let holds = |rate: &&Rate| rate.met > rate.failed && above.is_none_or(|a| rate.rate < a.rate);
    match (rates.iter().rfind(holds), above) {
        (Some(below), Some(above)) => Next::Found {
            rate: below.rate,
            above: above.rate,
            confirmed: false,
        },
        (Some(below), None) => Next::AtLeast { rate: below.rate },
        (None, above) => Next::NotMet {
            lowest: above.map_or(goal.lowest, |above| above.rate),
        },
    }
}

/// All trials at one rate.
struct Rate {
    rate: f64,
    met: usize,
    failed: usize,
}

impl Rate {
    /// Ascending.
    fn all(tried: &[Tried]) -> Vec<Rate> {
        let mut ascending = tried.to_vec();
        ascending.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        let rate = |trials: &[Tried]| {
            let met = trials.iter().filter(|tried| tried.met).count();
            Rate {
                rate: trials[0].rate,
                met,
                failed: trials.len() - met,
            }
        };
        ascending
            .chunk_by(|a, b| a.rate == b.rate)
            .map(rate)
            .collect()
    }

    fn count(&self) -> usize {
        self.met + self.failed
    }
}

fn clamped(rate: f64, goal: &Goal) -> f64 {
    rounded(rate).clamp(goal.lowest, goal.highest)
}

/// To three digits, so that a level's name (`2370`) is the rate itself.
fn rounded(rate: f64) -> f64 {
    format!("{rate:.2e}").parse().unwrap_or(rate)
}

/// A condition on a percentile of an open load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    pub kind: Kind,
    pub percentile: Percentile,
    pub at_most_ms: f64,
}

/// The open loads among finished trials as tries; unstable ones did not meet it.
///
/// # Errors
/// A trial that did too few operations for the percentile, with what it takes.
pub fn tried(trials: &[Trial], condition: &Condition) -> Result<Vec<Tried>, String> {
    let all: Vec<&Trial> = trials.iter().collect();
    let one = |counted: super::loads::Counted| {
        let Mode::Open { rate, .. } = counted.load.mode else {
            return None;
        };
        let summary = &counted.summary;
        if summary
            .offered
            .as_ref()
            .is_some_and(|o| o.unstable.is_some())
        {
            return Some(Ok(Tried { rate, met: false }));
        }
        let percentiles = summary.latency.of(condition.kind);
        // The percentile lies below the largest value in any case.
        let surely = percentiles.is_some_and(|p| p.max_ms <= condition.at_most_ms);
        let at = percentiles.and_then(|p| p.at(condition.percentile));
        let met = at
            .map(|ms| ms <= condition.at_most_ms)
            .or(surely.then_some(true));
        let why = || {
            format!(
                "{}: its {} operations are too few for a {} (100 have to lie above it); give the trial more time, or the search a higher lowest rate",
                counted.trial.key,
                summary.operations,
                condition.percentile.text()
            )
        };
        Some(met.map(|met| Tried { rate, met }).ok_or_else(why))
    };
    counted(&all).into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{open, trial, with_response};
    use super::*;
    use proptest::prelude::*;

    const GOAL: Goal = Goal {
        start: 1000.0,
        lowest: 10.0,
        highest: 1e6,
        precision: 0.05,
        tries_max: 60,
    };

    /// Searches where the condition holds as told; gives the answer and all tries.
    fn search(goal: &Goal, mut holds: impl FnMut(f64, usize) -> bool) -> (Next, Vec<Tried>) {
        let mut tried = Vec::new();
        loop {
            match next(&tried, goal) {
                Next::Try(rate) => {
                    let met = holds(rate, tried.len());
                    tried.push(Tried { rate, met });
                }
                end => return (end, tried),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_highest_rate_that_holds_is_found_and_confirmed(limit in 11.0..900_000.0f64, start in 10.0..900_000.0f64) {
            let (end, tried) = search(&Goal { start, ..GOAL }, |rate, _| rate <= limit);
            let Next::Found { rate, above, confirmed } = end else {
                panic!("{end:?}")
            };
            prop_assert!(confirmed && rate <= limit && limit < above);
            prop_assert!(above <= rate * 1.06, "{} {}", rate, above);
            prop_assert!(tried.len() <= 30, "{}", tried.len());
        }

        #[test]
        fn it_ends_whatever_the_trials_say(answers in proptest::collection::vec(any::<bool>(), 60)) {
            let (_, tried) = search(&GOAL, |_, n| answers[n]);
            prop_assert!(tried.len() <= 60);
        }
    }

    #[test]
    fn a_rate_that_held_by_chance_is_found_out_and_the_interval_widens() {
        // 1400 holds once although the limit is 1200.
        let mut first = true;
        let (end, tried) = search(&GOAL, |rate, _| {
            let lucky = rate > 1200.0 && rate < 1500.0 && std::mem::take(&mut first);
            lucky || rate <= 1200.0
        });
        let Next::Found { rate, above, .. } = end else {
            panic!("{end:?}")
        };
        assert!(rate <= 1200.0 && above > 1200.0, "{rate} {above}");
        assert!(tried.iter().any(|tried| tried.met && tried.rate > 1200.0));
    }

    #[test]
    fn a_rate_that_failed_by_chance_does_not_hold_the_answer_down() {
        let (end, _) = search(&GOAL, |rate, n| n != 1 && rate <= 5000.0);
        let Next::Found { rate, above, .. } = end else {
            panic!("{end:?}")
        };
        assert!(rate <= 5000.0 && above > 5000.0, "{rate} {above}");
    }

    #[test]
    fn the_bounds_are_answers_too() {
        assert_eq!(search(&GOAL, |_, _| true).0, Next::AtLeast { rate: 1e6 });
        assert_eq!(search(&GOAL, |_, _| false).0, Next::NotMet { lowest: 10.0 });
    }

    #[test]
    fn when_the_trials_are_used_up_what_is_known_is_said_to_be_unconfirmed() {
        let goal = Goal {
            tries_max: 4,
            ..GOAL
        };
        let (end, _) = search(&goal, |rate, _| rate <= 3000.0);
        let known = Next::Found {
            rate: 2830.0,
            above: 4000.0,
            confirmed: false,
        };
        assert_eq!(end, known);
    }

    #[test]
    fn trials_become_tries_by_their_percentile_and_unstable_ones_fail() {
        let stable = |rate: f64, ms: u64| {
            let load = open(rate, 20, |_| 0.0);
            trial(
                0,
                &[],
                with_response(load, 20, |_| vec![ms * 1_000_000; 1000]),
            )
        };
        let unstable = trial(0, &[], open(4000.0, 60, |s| 900.0 * s as f64));
        let trials = [stable(1000.0, 5), stable(2000.0, 15), unstable];
        let condition = Condition {
            kind: Kind::Response,
            percentile: Percentile::P99,
            at_most_ms: 10.0,
        };
        let met = tried(&trials, &condition).unwrap();
        let known = [(1000.0, true), (2000.0, false), (4000.0, false)];
        assert_eq!(met, known.map(|(rate, met)| Tried { rate, met }));
    }

    #[test]
    fn too_few_operations_for_the_percentile_are_told() {
        let load = with_response(open(50.0, 20, |_| 0.0), 20, |_| vec![20_000_000; 50]);
        let condition = Condition {
            kind: Kind::Response,
            percentile: Percentile::P99,
            at_most_ms: 10.0,
        };
        let why = tried(&[trial(0, &[], load)], &condition).unwrap_err();
        assert!(
            why.contains("1000 operations are too few for a p99"),
            "{why}"
        );
    }
}
