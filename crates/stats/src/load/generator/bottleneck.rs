//! Rule 8: whether the load generator was the bottleneck, or its lateness part of the result.

use crate::load::measured::known;
use record::claim::Percentile;
use record::load::Loaded;
use record::{EngineCheck, Latency, OwnStalls, Steady};

/// From this share on the reactors are saturated.
const BUSY: f64 = 0.9;
/// From these shares on the CPU is saturated and the generator takes part of it from the server.
const FULL: f64 = 0.95;
const SHARE_FULL: f64 = 0.2;
/// Lateness above this share of the latency at the same percentile is reported ...
const LATE_SHARE: f64 = 0.1;
/// ... and from here on it makes the trial invalid. Below, it is the cost of a wake-up on a busy machine.
const LATE_MS: f64 = 1.0;

pub(crate) fn check(
    load: &Loaded,
    steady: &Steady,
    latency: &Latency,
    stalls: Option<OwnStalls>,
) -> EngineCheck {
    let engine = &load.engine;
    // Afterwards its threads only wait for the last operations, so a saturated core would look idle.
    let cores = (engine.cpu_user_s + engine.cpu_system_s) / load.driven_s().max(1e-9);
    let share = cores / engine.cores.max(1e-9);
    let late = Late::of(load, latency).filter(Late::is_visible);
    let invalid = late.as_ref().is_some_and(Late::spoils);
    let late = late.map(|late| late.sentence());
    EngineCheck {
        cores,
        share,
        limit: reactors_full(load, cores).or_else(|| machine_full(load, steady, share)),
        invalid: late.clone().filter(|_| invalid),
        note: late.filter(|_| !invalid),
        stalls,
    }
}

/// Why a generator that used so many cores was the limit.
pub(crate) fn reactors_full(load: &Loaded, cores: f64) -> Option<String> {
    let own = f64::from(load.engine.reactors).min(load.engine.cores);
    (cores >= BUSY * own.max(1e-9)).then(|| {
        format!("the load generator was the bottleneck: it used {cores:.2} of its {own} cores")
    })
}

/// On a shared machine the generator does not saturate its own cores. It takes CPU time from the server instead.
fn machine_full(load: &Loaded, steady: &Steady, share: f64) -> Option<String> {
    let mean = |name: &str| {
        let seconds = known(load.seconds(name), steady);
        seconds.iter().sum::<f64>() / seconds.len().max(1) as f64
    };
    // The hypervisor takes a CPU only from what wants to run on it.
    let busy = mean("machine cpu") + mean("machine stolen");
    let used = busy / load.engine.cores.max(1e-9);
    // More than all cores: a CPU quota allows this process less than its CPUs have, so saturation is unknown.
    let full = (FULL..=2.0 - FULL).contains(&used) && share >= SHARE_FULL;
    full.then(|| {
        format!(
            "CPU saturated: the load generator used {:.0} % of the machine",
            share * 100.0
        )
    })
}

/// Lateness and latency at the highest percentile that is known.
struct Late {
    late_ms: f64,
    response_ms: f64,
    percentile: Percentile,
}

impl Late {
    /// Of a percentile with enough samples: lateness in few seconds spoils it as much as in many. The p95 of the lateness is not recorded; its p99 is an upper bound.
    fn of(load: &Loaded, latency: &Latency) -> Option<Late> {
        let (p50, p99) = (load.engine.lateness_us_p50, load.engine.lateness_us_p99);
        let response = latency.response.as_ref()?;
        let with = |percentile: Percentile, late_us: Option<f64>| {
            let is_enough = |_: &f64| !response.has_few_samples(percentile);
            Some(Late {
                late_ms: late_us? / 1e3,
                response_ms: response.at(percentile).filter(is_enough)?,
                percentile,
            })
        };
        with(Percentile::P99, p99)
            .or_else(|| with(Percentile::P95, p99))
            .or_else(|| with(Percentile::P50, p50))
    }

    fn is_visible(&self) -> bool {
        self.late_ms > LATE_SHARE * self.response_ms
    }

    /// Only where both figures are of the same percentile.
    fn spoils(&self) -> bool {
        self.late_ms > LATE_MS && self.percentile != Percentile::P95
    }

    fn sentence(&self) -> String {
        let at_most = match self.percentile {
            Percentile::P95 => "at most ",
            _ => "",
        };
        format!(
            "{at_most}{:.2} ms of the {} latency of {:.2} ms may be the load generator's own lateness",
            self.late_ms,
            self.percentile.text(),
            self.response_ms
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, series, with_response};
    use crate::load::summary::summarise;

    /// 20,000 responses of so many microseconds.
    fn load(response_us: u64, late_us: Option<f64>) -> Loaded {
        let mut load = closed(|_| 1000.0, 20);
        load.engine.lateness_us_p99 = late_us;
        with_response(load, 20, |_| vec![response_us * 1000; 1000])
    }

    #[test]
    fn a_generator_whose_reactors_are_busy_is_the_limit() {
        let mut busy = load(1000, None);
        (busy.engine.cpu_user_s, busy.engine.cpu_system_s) = (10.0, 9.0);
        let check = summarise(&busy).engine;
        assert_eq!((check.cores, check.share), (0.95, 0.475));
        let expected = "the load generator was the bottleneck: it used 0.95 of its 1 cores";
        assert_eq!(check.limit.as_deref(), Some(expected));
        assert_eq!(summarise(&load(1000, None)).engine.limit, None);
    }

    #[test]
    fn its_cores_are_those_of_the_time_in_which_it_started_operations() {
        let mut waits = load(1000, None);
        (waits.elapsed_s, waits.engine.until_s) = (40.0, Some(20.0));
        (waits.engine.cpu_user_s, waits.engine.cpu_system_s) = (10.0, 9.0);
        assert_eq!(summarise(&waits).engine.cores, 0.95);
    }

    /// A generator that uses so many of two cores, on a machine that uses so many of its own in the measured part.
    fn beside_a_server(generator: f64, machine: f64) -> Option<String> {
        with_stolen(generator, machine, 0.0)
    }

    /// The same where the hypervisor takes so many.
    fn with_stolen(generator: f64, machine: f64, stolen: f64) -> Option<String> {
        let mut load = load(1000, None);
        load.warmup = record::load::Warmup::Seconds(5.0);
        load.engine.reactors = 2;
        load.engine.cpu_user_s = generator * 20.0 - 1.0;
        let busy = series(20, |s| if s < 5 { 0.3 } else { machine });
        load.series.insert("machine cpu".into(), busy);
        let taken = series(20, |_| stolen);
        load.series.insert("machine stolen".into(), taken);
        summarise(&load).engine.limit
    }

    #[test]
    fn a_saturated_cpu_that_the_generator_shares_is_reported() {
        let expected = "CPU saturated: the load generator used 45 % of the machine";
        assert_eq!(beside_a_server(0.9, 1.96).as_deref(), Some(expected));
        assert_eq!(beside_a_server(0.9, 1.8), None, "not full");
        assert_eq!(beside_a_server(0.3, 1.96), None, "a small part");
        assert_eq!(beside_a_server(0.9, 12.0), None, "a quota");
    }

    #[test]
    fn a_cpu_of_which_the_hypervisor_takes_the_rest_is_saturated() {
        let expected = "CPU saturated: the load generator used 45 % of the machine";
        assert_eq!(with_stolen(0.9, 1.7, 0.25).as_deref(), Some(expected));
        assert_eq!(with_stolen(0.9, 1.5, 0.25), None, "not full");
    }

    #[test]
    fn lateness_of_a_tenth_of_the_latency_invalidates_the_percentiles() {
        let check = summarise(&load(20_000, Some(3000.0))).engine;
        assert!(
            check
                .invalid
                .unwrap()
                .starts_with("3.00 ms of the p99 latency of 20.")
        );
        assert_eq!(check.note, None);
    }

    #[test]
    fn lateness_below_a_millisecond_is_a_note_and_the_trial_stays_valid() {
        let check = summarise(&load(200, Some(76.0))).engine;
        assert!(check.invalid.is_none() && check.note.is_some());
    }

    #[test]
    fn lateness_that_is_a_small_part_of_the_latency_is_not_reported() {
        let check = summarise(&load(20_000, Some(1500.0))).engine;
        assert!(check.invalid.is_none() && check.note.is_none());
    }

    /// Operations of 20 ms from a generator with 3 ms of lateness at p99 and the given lateness at p50.
    fn few(each_second: usize, late_us_p50: f64) -> EngineCheck {
        let mut load = closed(|_| each_second as f64, 20);
        load.engine.lateness_us_p50 = Some(late_us_p50);
        load.engine.lateness_us_p99 = Some(3000.0);
        summarise(&with_response(load, 20, |_| vec![20_000_000; each_second])).engine
    }

    #[test]
    fn too_few_operations_for_a_p99_are_checked_by_the_percentile_that_they_have() {
        let check = few(150, 5.0);
        assert!(
            check
                .note
                .unwrap()
                .starts_with("at most 3.00 ms of the p95 latency of 20.")
        );
        assert_eq!(check.invalid, None, "the p95 may hold none of it");
        assert_eq!(few(50, 5.0).note, None);
        let spoilt = few(50, 2500.0).invalid.unwrap();
        assert!(spoilt.starts_with("2.50 ms of the p50 latency of 20."));
        assert_eq!(few(5, 2500.0).invalid, None, "no percentile is given");
    }
}
