//! How exactly a trial's value is known, however little it varies from block to block.
//!
//! A throughput counts whole operations, and a recovery whole seconds. What falls between two counts is rounded the same way in every block, so
//! more blocks do not show it: the interval of a ratio is never narrower than the rounding of both of its sides
//! ("Evaluation of measurement data", JCGM 100:2008, F.2.2.1, resolution of an indication).

use crate::inference::moderated::MIN_VARIANCE;
use crate::load::summary::of_trial;
use record::claim::Value;
use record::load::{LatencyKind, Loaded, Mode};
use record::trial::Trial;
use record::{AuditFigure, Summary};

/// Seconds of the samples in which a throughput returns.
const SAMPLE_S: f64 = 1.0;
/// How often a server's log is read and a connection is tried (s).
const POLL_S: f64 = 0.005;
/// How often the number is written by which the age of reads is measured (ms).
const BEAT_MS: f64 = 50.0;
/// The largest share of a variance that rounding is taken to be.
const ROUNDED_MOST: f64 = 0.99;

/// The largest rounding of the value that a trial was found to have, as a difference of logarithms; 0 where it is far below everything that a trial shows:
/// times of queries are known to a nanosecond, and their counters exactly.
pub(crate) fn rounding(trial: &Trial, value: &Value, found: f64) -> f64 {
    match value {
        Value::Throughput => (trial.load.as_deref().zip(of_trial(trial)))
            .map_or(0.0, |(load, summary)| throughput(load, &summary)),
        Value::Counter(name) => counted(trial, &[name]),
        Value::Quotient(over, under) => counted(trial, &[over, under]),
        Value::Recovery(number) => recovery(number, found),
        Value::ReadAge => one_in(found / BEAT_MS),
        Value::Variation => of_trial(trial).map_or(0.0, |summary| variation(&summary)),
        Value::Audit(AuditFigure::LossWindowS) | Value::Elapsed | Value::Latency { .. } => 0.0,
        Value::Audit(_) => one_in(found),
    }
}

/// The least variance of its logarithm, from the steps of the histograms that it is read from; 0 without one.
pub(crate) fn of_histogram(value: &Value) -> f64 {
    match value {
        Value::Latency { .. } => MIN_VARIANCE,
        Value::Elapsed | Value::Counter(_) | Value::Quotient(..) | Value::Throughput => 0.0,
        Value::Variation | Value::ReadAge | Value::Recovery(_) | Value::Audit(_) => 0.0,
    }
}

/// Of a number of a recovery: a time, or a count of rows, pages or bytes.
pub(crate) fn recovery(number: &str, found: f64) -> f64 {
    match number {
        "recovered_s" => one_in(found / SAMPLE_S),
        time if time.ends_with("_s") => one_in(found / POLL_S),
        _ => one_in(found),
    }
}

/// Of a standard deviation of seconds that count whole operations: what remains of its variance without that of the rounding, one twelfth.
fn variation(summary: &Summary) -> f64 {
    let rounded = summary.throughput.zip(summary.variation);
    let share = rounded.map_or(0.0, |(rate, variation)| {
        1.0 / 12.0 / (rate * variation).powi(2)
    });
    -0.5 * (1.0 - share.min(ROUNDED_MOST)).ln()
}

/// `ln(1 + 1 / count)`: the next count.
fn one_in(count: f64) -> f64 {
    match count > 0.0 {
        true => (1.0 / count).ln_1p(),
        false => 0.0,
    }
}

/// Of a throughput that counts whole operations.
pub(crate) fn throughput(load: &Loaded, summary: &Summary) -> f64 {
    let service = summary.latency.of(LatencyKind::Service);
    let mean_ms = service.map(|service| service.mean_ms);
    let tally = Tally {
        operations: summary.operations as f64,
        seconds: f64::from(summary.steady.seconds()),
        mean_s: mean_ms.map(|mean_ms| mean_ms / 1e3),
    };
    match load.mode {
        Mode::Closed { clients, think_s } => tally.closed(f64::from(clients), think_s > 0.0),
        Mode::Open { .. } => tally.open(),
    }
}

/// Operations in the measured part of a load.
struct Tally {
    operations: f64,
    seconds: f64,
    /// From the start of an operation to its end; None where it is not recorded.
    mean_s: Option<f64>,
}

impl Tally {
    /// At each edge of the measured part the operations in flight count or do not.
    fn open(&self) -> f64 {
        let in_flight = self.in_flight().unwrap_or(1.0).max(1.0);
        one_in(self.operations / in_flight)
    }

    /// Each client's count is known to one operation. Where all wait for one another, all are wrong in the same way; how wrong is what clients
    /// that are always busy lack of their time. If they lack more than one operation each, they have pauses, which spread them over the time.
    fn closed(&self, clients: f64, has_pauses: bool) -> f64 {
        let one = one_in(self.operations);
        let in_flight = self.in_flight();
        let slots = in_flight.map_or(clients, |in_flight| in_flight.round().max(clients));
        let each_one = one_in(self.operations / slots);
        let lacking = in_flight.map(|in_flight| (in_flight / slots).ln().abs());
        match lacking.filter(|lacking| !has_pauses && *lacking <= each_one) {
            Some(lacking) => lacking.max(one),
            None => one_in(self.operations / slots.sqrt()),
        }
    }

    /// The mean number of operations in flight (Little's law).
    fn in_flight(&self) -> Option<f64> {
        let mean_s = self.mean_s.filter(|_| self.seconds > 0.0)?;
        Some(self.operations * mean_s / self.seconds)
    }
}

/// Of counters of a timed load, per operation or one by the other: each is known to one event at the edges. Those of a query are exact.
fn counted(trial: &Trial, names: &[&String]) -> f64 {
    let Some(load) = trial.load.as_deref() else {
        return 0.0;
    };
    let counters = names.iter().filter_map(|name| load.counters.get(*name));
    counters.map(|count| one_in(*count as f64)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{noisy, uniform};
    use crate::inference::ratio::LogMean;

    /// What clients count that all begin an operation of this length at once, and the true logarithm of their rate.
    fn in_step(clients: f64, seconds: f64, length_s: f64) -> (Tally, f64) {
        let tally = Tally {
            operations: clients * (seconds / length_s + 1e-9).floor(),
            seconds,
            mean_s: Some(length_s),
        };
        (tally, (clients / length_s).ln())
    }

    #[test]
    fn the_true_ratio_of_clients_in_step_lies_within_the_rounding_of_both_sides() {
        for clients in [1.0, 2.0, 8.0, 64.0] {
            for (old_s, new_s) in [(0.45, 0.49), (0.49, 0.51), (0.3, 0.34), (0.2, 0.201)] {
                for seconds in [2.0, 3.0, 7.0] {
                    let [old, new] = [old_s, new_s].map(|s| in_step(clients, seconds, s));
                    let measured = (new.0.operations / old.0.operations).ln();
                    let known_to = [&old.0, &new.0].map(|one| one.closed(clients, false));
                    let wrong = (measured - (new.1 - old.1)).abs();
                    let known_to: f64 = known_to.iter().sum();
                    assert!(
                        wrong <= known_to + 1e-9,
                        "{clients} clients, {old_s} against {new_s} in {seconds} s"
                    );
                }
            }
        }
    }

    /// What clients count whose operations have this length, each a little different.
    fn simulated(clients: usize, seconds: f64, length_s: f64, shocks: &[f64]) -> Tally {
        let (mut operations, mut took_s, mut shocks) = (0.0, 0.0, shocks.iter().cycle());
        for _ in 0..clients {
            let mut at_s = 0.0;
            for shock in shocks.by_ref() {
                let one_s = length_s * (1.0 + shock);
                at_s += one_s;
                if at_s > seconds {
                    break;
                }
                (operations, took_s) = (operations + 1.0, took_s + one_s);
            }
        }
        Tally {
            operations,
            seconds,
            mean_s: (operations > 0.0).then_some(took_s / operations),
        }
    }

    /// Without the rounding, such loads call a tenth of equal servers different, and intervals of blocks with equal counts exclude the
    /// truth in most of them.
    #[test]
    fn intervals_of_few_operations_contain_the_truth_and_equal_servers_stay_undecided() {
        let (mut loads, mut missed, mut apart) = (0, 0, 0);
        for seed in 0..600 {
            let random = uniform(4, seed);
            let clients = [1, 2, 4, 16][(4.0 * random[0]) as usize];
            let seconds = (2.0 + 9.0 * random[1]).floor();
            let (old_s, faster) = (0.1 + 0.6 * random[2], seed % 2 == 0);
            let new_s = old_s * if faster { 0.8 + 0.4 * random[3] } else { 1.0 };
            let jitter = [0.0, 0.001, 0.02, 0.1][seed as usize / 2 % 4];
            let side = |length_s: f64, block: u64, side: u64| {
                let shocks = noisy(400, 100 * seed + 10 * block + side, |_| 0.0, jitter);
                simulated(clients, seconds, length_s, &shocks)
            };
            let blocks: Vec<[Tally; 2]> = (0..3)
                .map(|block| [side(new_s, block, 0), side(old_s, block, 1)])
                .collect();
            let values = |at: usize| -> Vec<f64> {
                blocks.iter().map(|sides| sides[at].operations).collect()
            };
            let known_to = |at: usize| {
                let each = blocks.iter().map(|sides| &sides[at]);
                each.map(|one| one.closed(clients as f64, false))
                    .sum::<f64>()
                    / 3.0
            };
            let ratio = LogMean::of_ratios(&values(0), &values(1)).unwrap();
            let (low, high) = ratio.known_to(known_to(0) + known_to(1)).ci().unwrap();
            let truth = old_s / new_s;
            loads += 1;
            missed += u32::from(truth < low || high < truth);
            apart += u32::from(!faster && (low > 1.0 || high < 1.0));
        }
        assert!(missed * 20 <= loads, "{missed} of {loads}");
        assert!(apart * 40 <= loads, "{apart} of {}", loads / 2);
    }

    #[test]
    fn of_many_operations_the_rounding_is_below_a_thousandth() {
        let busy = |clients: f64| Tally {
            operations: 60_000.0,
            seconds: 60.0,
            mean_s: Some(clients / 1000.0 * 0.9999),
        };
        assert!(busy(8.0).closed(8.0, false) < 0.001);
        assert!(busy(8.0).open() < 0.001);
    }

    #[test]
    fn pauses_spread_clients_so_that_their_roundings_do_not_add_up() {
        let terminals = Tally {
            operations: 400.0,
            seconds: 60.0,
            mean_s: Some(0.01),
        };
        assert!((terminals.closed(100.0, false) - (10.0_f64 / 400.0).ln_1p()).abs() < 1e-12);
    }
}
