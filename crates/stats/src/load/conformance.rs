//! What a benchmark's standard requires of a run, against what was measured: the rate that it counts, the mix, the 90th percentiles.
//!
//! Boundaries: the requirements are the workload's (`record::load::Standard`). A run that meets them is not a result of the
//! benchmark: the standard has further rules.

use super::accounts::account;
use super::measured::{measured, sum};
use super::percentiles::quantile_ms;
use super::stability::carried;
use record::histogram::merged;
use record::load::{LatencyKind, Loaded, Mode, Requirement, Standard, done_series};
use record::{Conformance, Conforming, Steady};

/// Minimum number of operations above the 90th percentile, so that it means something.
const SAMPLES_ABOVE: f64 = 10.0;
/// Where more failed or never completed, the 90th percentile is among them.
const FAILED_SHARE_MAX: f64 = 0.1;

/// None without a standard. `has_percentiles`: an unstable load has none.
pub(crate) fn conformance(
    load: &Loaded,
    steady: &Steady,
    has_percentiles: bool,
) -> Option<Conformance> {
    let standard = load.standard.as_ref()?;
    let mut operations: Vec<Conforming> = (standard.requirements.iter())
        .map(|requirement| conforming(load, steady, requirement, has_percentiles))
        .collect();
    set_shares(standard, &mut operations);
    let mut counted = operations.iter();
    let counted = counted.find(|operation| operation.name == standard.counted);
    let seconds = f64::from(steady.seconds());
    Some(Conformance {
        counted: standard.counted.clone(),
        per_minute: standard.per_minute.clone(),
        rate: counted
            .filter(|_| seconds > 0.0)
            .map(|counted| counted.count as f64 * with_warmup(load, steady) / seconds),
        operations,
    })
}

/// By how much more was done than the operations of the measured part, as the throughput counts it. What the warm-up left is known in all:
/// its mix is that of the load.
fn with_warmup(load: &Loaded, steady: &Steady) -> f64 {
    let own = sum(load, "throughput", steady);
    1.0 + carried(load, steady) / own.max(1.0)
}

fn conforming(
    load: &Loaded,
    steady: &Steady,
    requirement: &Requirement,
    has_percentiles: bool,
) -> Conforming {
    let name = &requirement.operation;
    let few_failed = account(load, steady, name).failed_share() <= FAILED_SHARE_MAX;
    let p90_ms = p90_ms(load, steady, name);
    Conforming {
        name: name.clone(),
        count: sum(load, &done_series(name), steady) as u64,
        share: None,
        minimum_share: requirement.minimum_share,
        p90_ms: p90_ms.filter(|_| has_percentiles && few_failed),
        limit_ms: requirement.p90_limit_s * 1e3,
    }
}

fn set_shares(standard: &Standard, operations: &mut [Conforming]) {
    let pairs = operations.iter_mut().zip(&standard.requirements);
    let mix = pairs.filter(|(_, requirement)| requirement.is_in_mix);
    let mix: Vec<&mut Conforming> = mix.map(|(operation, _)| operation).collect();
    let all: u64 = mix.iter().map(|operation| operation.count).sum();
    for operation in mix.into_iter().filter(|_| all > 0) {
        operation.share = Some(operation.count as f64 / all as f64);
    }
}

/// In closed loop the service time is the response time.
fn p90_ms(load: &Loaded, steady: &Steady, operation: &str) -> Option<f64> {
    let kind = match load.mode {
        Mode::Closed { .. } => LatencyKind::Service,
        Mode::Open { .. } => LatencyKind::Response,
    };
    let notes = measured(load, steady, Some(operation), kind);
    let all = merged(notes.into_iter().map(|note| &note.nanoseconds))?;
    let enough = all.len() as f64 * 0.1 + 1e-6 >= SAMPLES_ABOVE;
    enough.then(|| quantile_ms(&all, 0, 0.9)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, histogram, open, series};
    use crate::summarise;
    use record::load::{ErrorCount, ErrorKind, HistogramNote, Warmup};

    const MS: u64 = 1_000_000;

    fn requirement(operation: &str, minimum_share: Option<f64>, is_in_mix: bool) -> Requirement {
        Requirement {
            operation: operation.into(),
            minimum_share,
            is_in_mix,
            p90_limit_s: 5.0,
        }
    }

    /// 40 seconds of orders and payments, of which the first 10 are warm-up, with a few deliveries in the background.
    fn load(payments: f64, payment_ms: u64) -> Loaded {
        let mut load = closed(|_| 10.0 + payments, 40);
        load.warmup = Warmup::Seconds(10.0);
        load.operations = vec!["order".into(), "pay".into(), "deliver".into()];
        for (name, rate, ms) in [
            ("order", 10.0, 20),
            ("pay", payments, payment_ms),
            ("deliver", 1.0, 20),
        ] {
            load.series
                .insert(done_series(name), series(40, move |_| rate));
            load.histograms
                .extend([10, 20, 30].map(|start_s| HistogramNote {
                    operation: Some(name.into()),
                    kind: LatencyKind::Service,
                    every_s: 10,
                    start_s,
                    nanoseconds: histogram(vec![ms * MS; (rate * 10.0) as usize]),
                }));
        }
        load.standard = Some(Standard {
            counted: "order".into(),
            per_minute: "NOTPM".into(),
            requirements: vec![
                requirement("order", None, true),
                requirement("pay", Some(0.43), true),
                requirement("deliver", None, false),
            ],
        });
        load
    }

    fn of(load: &Loaded) -> Conformance {
        summarise(load).conformance.unwrap()
    }

    #[test]
    fn the_rate_is_of_the_counted_operation_in_the_measured_seconds() {
        let found = of(&load(10.0, 20));
        assert_eq!((found.rate, found.operations[0].count), (Some(10.0), 300));
        assert_eq!(found.per_minute, "NOTPM");
    }

    #[test]
    fn shares_are_of_the_mix_without_the_background() {
        let found = of(&load(10.0, 20));
        let shares: Vec<_> = found.operations.iter().map(|one| one.share).collect();
        assert_eq!(shares, [Some(0.5), Some(0.5), None]);
        let met: Vec<_> = found.operations.iter().map(Conforming::share_met).collect();
        assert_eq!(met, [None, Some(true), None]);
        assert_eq!(of(&load(5.0, 20)).operations[1].share_met(), Some(false));
    }

    #[test]
    fn a_limit_is_met_by_the_90th_percentile_and_unknown_for_few_operations() {
        let met = |ms| of(&load(10.0, ms)).operations[1].limit_met();
        assert_eq!([4_900, 5_100].map(met), [Some(true), Some(false)]);
        let deliver = &of(&load(10.0, 20)).operations[2];
        assert_eq!((deliver.count, deliver.limit_met()), (30, None));
    }

    #[test]
    fn a_limit_is_unknown_where_more_than_a_tenth_never_completed() {
        let met = |never: u64| {
            let mut load = load(10.0, 20);
            load.errors = vec![ErrorCount {
                second: 41,
                kind: Some(ErrorKind::Lost),
                operation: Some("pay".into()),
                code: 0,
                count: never,
            }];
            of(&load).operations[1].limit_met()
        };
        assert_eq!([30, 40].map(met), [Some(true), None]);
    }

    /// Half of the arrivals are dropped by a short queue, so those that are served wait for little.
    #[test]
    fn an_unstable_load_meets_no_limit() {
        let served = load(10.0, 20);
        let dropped = series(40, |_| 20.0);
        let mut overloaded = open(20.0, 40, |_| 0.0);
        overloaded.series.extend(served.series);
        overloaded.series.insert("dropped".into(), dropped);
        let histograms = served.histograms.into_iter().map(|note| HistogramNote {
            kind: LatencyKind::Response,
            ..note
        });
        overloaded.histograms = histograms.collect();
        overloaded.operations = served.operations;
        overloaded.standard = served.standard;
        let summary = summarise(&overloaded);
        assert!(summary.offered.unwrap().unstable.is_some());
        let found = summary.conformance.unwrap();
        assert_eq!(found.operations[1].limit_met(), None);
        assert_eq!(found.rate, Some(10.0));
    }

    /// From 10 s to 25 s the server does what the warm-up left.
    #[test]
    fn the_rate_counts_what_the_throughput_counts() {
        let mut load = load(10.0, 20);
        load.mode = open(20.0, 40, |_| 0.0).mode;
        let of_warmup = |s: usize| (10..25).contains(&s);
        let orders = series(40, |s| if of_warmup(s) { 0.0 } else { 10.0 });
        let own = series(40, |s| if of_warmup(s) { 0.0 } else { 20.0 });
        let carried = series(40, |s| if of_warmup(s) { 20.0 } else { 0.0 });
        load.series.insert(done_series("order"), orders);
        load.series.insert("throughput".into(), own);
        load.series.insert(record::CARRIED.into(), carried);
        assert_eq!(summarise(&load).throughput, Some(20.0));
        assert_eq!(of(&load).rate, Some(10.0));
    }

    #[test]
    fn a_load_without_a_standard_has_no_conformance() {
        assert_eq!(summarise(&closed(|_| 10.0, 40)).conformance, None);
    }
}
