//! Searches for the maximum rate that meets a threshold.
//!
//! Purpose: a pure function from the probes so far to the next rate. Starting at the lower bound, the rate is doubled until
//! a probe fails. The interval between the last success and the first failure is bisected geometrically down to 5 %. Then
//! both ends are confirmed by a probe slightly further out. If a confirmation contradicts an end, that end is discarded and
//! searched for again in growing steps. No rate is probed twice, since the rate identifies a trial.
//! Boundaries: `finished` holds the figures of a trial.

use super::Finished;
use crate::SearchSpec;
use record::TrialKey;

/// The ratio of the upper to the lower end at which the search stops.
const FINE: f64 = 1.05;
/// The distance of a confirmation probe from the end that it confirms.
const ASIDE: f64 = 1.005;
const DOUBLED: f64 = 2.0;
/// The first step after a contradiction.
const WIDENED: f64 = 1.25;
/// The maximum number of contradictions before the search gives up.
const CONTRADICTIONS_MAX: u32 = 3;
/// The number of consecutive inconclusive trials that end the search.
const SILENT_MAX: u32 = 2;
/// The maximum share of failed operations at a rate that holds.
const FAILED_SHARE_MAX: f64 = 0.01;

/// One trial of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probe {
    /// Operations per second.
    pub rate: f64,
    /// Whether the threshold held, the queue did not grow and the operations succeeded; None if inconclusive.
    pub holds: Option<bool>,
}

/// A trial as a probe of the search at `key`, which has no rate; None if it belongs to another search.
pub(super) fn probe(search: &SearchSpec, key: &TrialKey, finished: &Finished) -> Option<Probe> {
    let (last, others) = finished.key.levels.split_last()?;
    let belongs = last.0 == "rate"
        && others == key.levels
        && finished.key.server == key.server
        && finished.key.block == key.block;
    let latency_ms = finished.latency_ms.get(&search.holds.percentile);
    let within = latency_ms.is_some_and(|latency_ms| *latency_ms <= search.holds.at_most_ms);
    // Errors return quickly, so a low latency with many errors does not count.
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
    /// Confirmed to hold here and to fail 5 % above, or, if `above` is None, to hold at the upper bound too.
    Found { rate: f64, above: Option<f64> },
    /// Even the lower bound fails.
    TooHigh,
    /// The probes contradict each other repeatedly.
    Unsettled,
    /// Consecutive trials failed or were invalid.
    Silent,
}

impl Step {
    /// The result for the record; None if the search continues.
    pub(super) fn sentence(&self, search: &SearchSpec) -> Option<String> {
        let (lowest, highest) = search.between;
        let percent = search.holds.percentile.share_below() * 100.0;
        let condition = format!(
            "{percent} % of operations complete within {} ms",
            search.holds.at_most_ms
        );
        Some(match self {
            Step::Next(_) => return None,
            Step::Found {
                rate,
                above: Some(above),
            } => format!(
                "the maximum rate at which {condition} is {rate} ops/s; at {above} ops/s they do not"
            ),
            Step::Found { rate, above: None } => format!(
                "{condition} even at {rate} ops/s, the upper bound of the search ({highest}); raise the upper bound"
            ),
            Step::TooHigh => format!(
                "no rate from {lowest} ops/s upwards was found at which {condition}; lower the lower bound of the search"
            ),
            Step::Unsettled => format!(
                "the trials repeatedly contradict each other on the rate at which {condition}; measure longer, or on a less loaded machine"
            ),
            Step::Silent => format!(
                "the search for the maximum rate at which {condition} gave up: {SILENT_MAX} consecutive trials failed or were invalid"
            ),
        })
    }
}

/// The next step of a search between two rates, given all its probes in order.
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

/// The upper bound on the number of probes.
pub(super) fn probes_max(between: (f64, f64)) -> usize {
    let usual = probes_usual(between);
    // A widening starts at 1.25 and doubles its step every three probes, so it takes little more than doubling alone.
    let widened = usual + 3;
    let telling = usual + (CONTRADICTIONS_MAX as usize + 1) * widened;
    telling * SILENT_MAX as usize
}

/// The maximum number of probes without contradictions.
pub(super) fn probes_usual((low, high): (f64, f64)) -> usize {
    let doublings = (high / low).log2().ceil() as usize + 1;
    let (halvings, confirmations) = (4, 2);
    doublings + halvings + confirmations
}

/// One end of the interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    rate: f64,
    confirmed: bool,
}

/// The purpose of a probe.
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
    /// The largest rate currently assumed to hold.
    holding: Option<End>,
    /// The smallest rate currently assumed to fail.
    failing: Option<End>,
    /// The factor of the next probe beyond a known end.
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

/// The rate rounded to four digits, moved by the factor until it is unused.
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

    /// Runs a whole search against a function of the rate.
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
    fn an_inconclusive_probe_is_repeated_nearby_and_two_in_a_row_end_the_search() {
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
        fn every_search_ends_and_never_probes_a_rate_twice(low in 0.001..1e4f64, span in 1.001..1e6f64, answers in proptest::collection::vec(any::<bool>(), 400)) {
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
