//! The largest rate that holds a threshold, from the trials so far.
//!
//! Goal: a pure function from what was probed to the next rate. From the lower bound upwards the rate is doubled until one
//! fails, the interval between the last that held and the first that failed is halved geometrically to 5 %, then both ends
//! are probed once more, each a little further out. Where such a confirmation contradicts, that end is not believed any
//! more and is looked for again in growing steps. No rate is probed twice, since a trial is known by its rate.
//! Non-goal: the figures of a trial.

use super::Finished;
use crate::SearchSpec;
use record::TrialKey;

/// The interval in which the search ends: the upper end over the lower.
const FINE: f64 = 1.05;
/// A confirmation lies so far outside of the end that it confirms.
const ASIDE: f64 = 1.005;
const DOUBLED: f64 = 2.0;
/// The first step after a contradiction.
const WIDENED: f64 = 1.25;
/// The search gives up after more of them.
const CONTRADICTIONS_MAX: u32 = 3;
/// So many trials in a row that cannot tell end the search.
const SILENT_MAX: u32 = 2;
/// A rate at which more operations fail does not hold.
const FAILED_SHARE_MAX: f64 = 0.01;

/// One trial of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probe {
    /// Operations a second.
    pub rate: f64,
    /// Whether the threshold held, the queue did not grow and the operations were done; none where the trial cannot tell.
    pub holds: Option<bool>,
}

/// A trial as a probe of the search at `key`, which has no rate; none where it belongs elsewhere.
pub(super) fn probe(search: &SearchSpec, key: &TrialKey, finished: &Finished) -> Option<Probe> {
    let (last, others) = finished.key.levels.split_last()?;
    let belongs = last.0 == "rate"
        && others == key.levels
        && finished.key.server == key.server
        && finished.key.block == key.block;
    let latency_ms = finished.latency_ms.at(search.holds.quantile);
    let within = latency_ms.is_some_and(|latency_ms| latency_ms <= search.holds.at_most_ms);
    // A server that refuses is fast.
    let done = finished.failed_share <= FAILED_SHARE_MAX;
    Some(Probe {
        rate: last.1.parse().ok()?,
        holds: finished
            .is_usable
            .then_some(within && done && !finished.unstable),
    })
    .filter(|_| belongs)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Probe this rate.
    Next(f64),
    /// It held here and was confirmed; 5 % above it did not, or `above` is none: it held at the upper bound too.
    Found { rate: f64, above: Option<f64> },
    /// Not even the lower bound holds.
    TooHigh,
    /// The probes contradict each other again and again.
    Unsettled,
    /// Trials failed or were invalid, one after the other.
    Silent,
}

impl Step {
    /// What was found, for the record; none where the search goes on.
    pub(super) fn sentence(&self, search: &SearchSpec) -> Option<String> {
        let (lowest, highest) = search.between;
        let percent = search.holds.quantile * 100.0;
        let condition = format!(
            "{percent} % are answered within {} ms",
            search.holds.at_most_ms
        );
        Some(match self {
            Step::Next(_) => return None,
            Step::Found {
                rate,
                above: Some(above),
            } => format!(
                "the highest rate at which {condition} is {rate} a second; at {above} they are not"
            ),
            Step::Found { rate, above: None } => format!(
                "{condition} at {rate} a second too, the highest rate that was allowed ({highest}); allow a higher one"
            ),
            Step::TooHigh => format!(
                "there is no rate from {lowest} a second on at which {condition}; begin the search lower"
            ),
            Step::Unsettled => format!(
                "the trials contradict each other again and again on where {condition}; measure longer, or on a quieter machine"
            ),
            Step::Silent => format!(
                "the search for the highest rate at which {condition} has no answer: {SILENT_MAX} of its trials in a row failed or were invalid"
            ),
        })
    }
}

/// The next step of a search between two rates, from all of its probes in the order in which they were made.
pub(super) fn next(between: (f64, f64), probes: &[Probe]) -> Step {
    let mut search = Search::new(between);
    let mut made: Vec<f64> = Vec::new();
    let mut silent = 0;
    for probe in probes {
        match (probe.holds, search.wanted(&made)) {
            (None, _) => silent += 1,
            (Some(holds), Wanted::Probe(purpose, _)) => {
                silent = 0;
                search.learn(purpose, probe.rate, holds);
            }
            (Some(_), Wanted::Ended(_)) => {}
        }
        made.push(probe.rate);
    }
    if silent >= SILENT_MAX {
        return Step::Silent;
    }
    match search.wanted(&made) {
        Wanted::Probe(_, rate) => Step::Next(rate),
        Wanted::Ended(step) => step,
    }
}

/// More probes than this are never made.
pub(super) fn probes_max((low, high): (f64, f64)) -> usize {
    let doublings = (high / low).log2().ceil() as usize + 1;
    let halvings = 4;
    let confirmations = 2;
    // A widening begins at 1.25 and has doubled its step after three, so it takes little more than doubling alone.
    let widened = doublings + 3 + halvings + confirmations;
    let telling =
        doublings + halvings + confirmations + (CONTRADICTIONS_MAX as usize + 1) * widened;
    telling * SILENT_MAX as usize
}

/// What a search without contradictions takes at most.
pub(super) fn probes_usual((low, high): (f64, f64)) -> usize {
    (high / low).log2().ceil() as usize + 1 + 4 + 2
}

/// One end of the interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    rate: f64,
    confirmed: bool,
}

/// What a probe is made for.
#[derive(Clone, Copy)]
enum Purpose {
    Look,
    ConfirmHolding,
    ConfirmFailing,
}

enum Wanted {
    Probe(Purpose, f64),
    Ended(Step),
}

struct Search {
    low: f64,
    high: f64,
    /// The largest rate that is believed to hold.
    holding: Option<End>,
    /// The smallest rate that is believed to fail.
    failing: Option<End>,
    /// Of the next look beyond a known end.
    step: f64,
    contradictions: u32,
}

impl Search {
    fn new((low, high): (f64, f64)) -> Search {
        Search {
            low,
            high,
            holding: None,
            failing: None,
            step: DOUBLED,
            contradictions: 0,
        }
    }

    fn wanted(&self, made: &[f64]) -> Wanted {
        if self.contradictions > CONTRADICTIONS_MAX {
            return Wanted::Ended(Step::Unsettled);
        }
        match (self.holding, self.failing) {
            (None, None) => Wanted::Probe(Purpose::Look, unused(self.low, 1.0 / ASIDE, made)),
            (Some(holding), None) => self.upwards(holding, made),
            (None, Some(failing)) => self.downwards(failing, made),
            (Some(holding), Some(failing)) => self.between(holding, failing, made),
        }
    }

    fn upwards(&self, holding: End, made: &[f64]) -> Wanted {
        if holding.rate * ASIDE < self.high {
            let rate = (holding.rate * self.step).min(self.high);
            return Wanted::Probe(Purpose::Look, unused(rate, 1.0 / ASIDE, made));
        }
        confirm_holding(holding, made).unwrap_or(Wanted::Ended(Step::Found {
            rate: holding.rate,
            above: None,
        }))
    }

    fn downwards(&self, failing: End, made: &[f64]) -> Wanted {
        if failing.rate > self.low * ASIDE {
            let rate = (failing.rate / self.step).max(self.low);
            return Wanted::Probe(Purpose::Look, unused(rate, 1.0 / ASIDE, made));
        }
        confirm_failing(failing, made).unwrap_or(Wanted::Ended(Step::TooHigh))
    }

    fn between(&self, holding: End, failing: End, made: &[f64]) -> Wanted {
        if failing.rate / holding.rate > FINE {
            let middle = (holding.rate * failing.rate).sqrt();
            return Wanted::Probe(Purpose::Look, unused(middle, 1.0 / ASIDE, made));
        }
        confirm_failing(failing, made)
            .or_else(|| confirm_holding(holding, made))
            .unwrap_or(Wanted::Ended(Step::Found {
                rate: holding.rate,
                above: Some(failing.rate),
            }))
    }

    fn learn(&mut self, purpose: Purpose, rate: f64, holds: bool) {
        let seen = Some(End {
            rate,
            confirmed: false,
        });
        match (purpose, holds) {
            (Purpose::Look, true) => {
                self.holding = seen;
                self.step = (self.step * self.step).min(DOUBLED);
            }
            (Purpose::Look, false) => {
                self.failing = seen;
                self.step = (self.step * self.step).min(DOUBLED);
            }
            (Purpose::ConfirmHolding, true) => confirm(&mut self.holding),
            (Purpose::ConfirmFailing, false) => confirm(&mut self.failing),
            (Purpose::ConfirmHolding, false) => {
                (self.holding, self.failing) = (None, seen);
                self.widen();
            }
            (Purpose::ConfirmFailing, true) => {
                (self.holding, self.failing) = (seen, None);
                self.widen();
            }
        }
    }

    fn widen(&mut self) {
        self.contradictions += 1;
        self.step = WIDENED;
    }
}

fn confirm(end: &mut Option<End>) {
    if let Some(end) = end {
        end.confirmed = true;
    }
}

fn confirm_holding(holding: End, made: &[f64]) -> Option<Wanted> {
    let below = unused(holding.rate / ASIDE, 1.0 / ASIDE, made);
    (!holding.confirmed).then_some(Wanted::Probe(Purpose::ConfirmHolding, below))
}

fn confirm_failing(failing: End, made: &[f64]) -> Option<Wanted> {
    let above = unused(failing.rate * ASIDE, ASIDE, made);
    (!failing.confirmed).then_some(Wanted::Probe(Purpose::ConfirmFailing, above))
}

/// The rate with four digits, moved by the factor until no probe was made there.
fn unused(rate: f64, factor: f64, made: &[f64]) -> f64 {
    let mut here = rate;
    while made.contains(&four_digits(here)) {
        here *= factor;
    }
    four_digits(here)
}

fn four_digits(rate: f64) -> f64 {
    format!("{rate:.3e}").parse().unwrap_or(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The whole search against something that answers for each rate.
    fn searched(between: (f64, f64), mut holds: impl FnMut(f64) -> bool) -> (Step, Vec<Probe>) {
        let mut probes = Vec::new();
        loop {
            match next(between, &probes) {
                Step::Next(rate) => probes.push(Probe {
                    rate,
                    holds: Some(holds(rate)),
                }),
                end => return (end, probes),
            }
            assert!(probes.len() <= probes_max(between), "{probes:?}");
        }
    }

    #[test]
    fn the_rate_doubles_until_it_fails_and_is_then_halved() {
        let (step, probes) = searched((100.0, 20_000.0), |rate| rate <= 1000.0);
        let rates: Vec<f64> = probes.iter().map(|probe| probe.rate).collect();
        assert_eq!(
            rates,
            [
                100.0, 200.0, 400.0, 800.0, 1600.0, 1131.0, 951.2, 1037.0, 993.2, 1042.0, 988.3
            ]
        );
        assert_eq!(
            step,
            Step::Found {
                rate: 993.2,
                above: Some(1037.0)
            }
        );
    }

    #[test]
    fn a_rate_that_always_holds_ends_at_the_upper_bound() {
        let (step, _) = searched((100.0, 1000.0), |_| true);
        assert_eq!(
            step,
            Step::Found {
                rate: 1000.0,
                above: None
            }
        );
    }

    #[test]
    fn a_rate_that_never_holds_ends_at_the_lower_bound_after_a_second_try() {
        let (step, probes) = searched((100.0, 1000.0), |_| false);
        assert_eq!((step, probes.len()), (Step::TooHigh, 2));
    }

    #[test]
    fn one_wrong_failure_is_found_by_the_confirmation() {
        let (step, _) = searched((100.0, 20_000.0), |rate| rate <= 5000.0 && rate != 1600.0);
        let Step::Found { rate, .. } = step else {
            panic!("{step:?}")
        };
        assert!(rate > 5000.0 / FINE / ASIDE && rate <= 5000.0, "{rate}");
    }

    #[test]
    fn one_wrong_success_is_found_by_the_confirmation() {
        let (step, _) = searched((100.0, 20_000.0), |rate| rate <= 1000.0 || rate == 1600.0);
        let Step::Found { rate, .. } = step else {
            panic!("{step:?}")
        };
        assert!(rate > 1000.0 / FINE / ASIDE && rate <= 1000.0, "{rate}");
    }

    #[test]
    fn a_trial_that_cannot_tell_is_asked_again_beside_and_two_in_a_row_end_the_search() {
        let probe = |rate, holds| Probe { rate, holds };
        let between = (100.0, 1000.0);
        let mut probes = vec![probe(100.0, Some(true)), probe(200.0, None)];
        assert_eq!(next(between, &probes), Step::Next(199.0));
        probes.push(probe(199.0, Some(true)));
        assert_eq!(next(between, &probes), Step::Next(398.0));
        probes.extend([probe(398.0, None), probe(396.0, None)]);
        assert_eq!(next(between, &probes), Step::Silent);
    }

    proptest! {
        #[test]
        fn the_threshold_is_found_within_five_percent(low in 1.0..1e4f64, span in 1.1..1e4f64, place in 0.0..1.0f64) {
            let high = low * span;
            let threshold = low * span.powf(place);
            let (step, probes) = searched((low, high), |rate| rate <= threshold);
            let Step::Found { rate, above } = step else {
                // The threshold lies within the rounding of the lower bound.
                prop_assert!(step == Step::TooHigh && threshold < low * 1.01, "{:?}", step);
                return Ok(());
            };
            prop_assert!(rate <= threshold && threshold <= above.unwrap_or(f64::INFINITY));
            prop_assert!(above.unwrap_or(high * 1.01) / rate <= 1.06);
            prop_assert!(probes.len() <= probes_usual((low, high)) + 1, "{} {:?}", probes.len(), probes);
        }

        #[test]
        fn no_answers_make_it_endless_or_probe_a_rate_twice(low in 0.001..1e4f64, span in 1.001..1e6f64, answers in proptest::collection::vec(any::<bool>(), 400)) {
            let mut answers = answers.into_iter();
            let (_, probes) = searched((low, low * span), |_| answers.next().unwrap());
            let mut rates: Vec<f64> = probes.iter().map(|probe| probe.rate).collect();
            rates.sort_by(f64::total_cmp);
            prop_assert!(rates.windows(2).all(|pair| pair[0] < pair[1]));
        }

        #[test]
        fn noise_near_the_threshold_moves_the_answer_by_no_more_than_the_noise(seed: u64, threshold in 200.0..10_000.0f64) {
            use rand::Rng;
            let mut random = rand_pcg::Pcg32::new(seed, 1);
            let (step, _) = searched((100.0, 20_000.0), |rate| {
                let noise = random.next_u32() as f64 / u32::MAX as f64 * 0.2 - 0.1;
                rate * (1.0 + noise) <= threshold
            });
            if let Step::Found { rate, .. } = step {
                prop_assert!((0.85..1.15).contains(&(rate / threshold)), "{rate} for {threshold}");
            } else {
                prop_assert_eq!(step, Step::Unsettled);
            }
        }
    }
}
