//! Rule 8: whether the load generator was the limit, or its lateness part of the result.

use super::percentiles::Latency;
use crate::load::Loaded;
use serde::{Deserialize, Serialize};

/// What the load generator says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineCheck {
    /// Cores that it used on average, and their share of what the machine gives it.
    pub cores: f64,
    pub share: f64,
    /// Why the result is the generator's and not the server's: `the load generator was the limit: ...`.
    pub limit: Option<String>,
    /// The percentiles hold so much of the generator's own lateness that they mean nothing.
    pub invalid: Option<String>,
    /// Lateness that is a visible part of the percentiles and leaves them useful.
    pub note: Option<String>,
}

/// Reactors this busy had no time left.
const BUSY: f64 = 0.9;
/// Lateness beyond this share of the response, both at the 99th percentile, is told ...
const LATE_SHARE: f64 = 0.1;
/// ... and from here on it makes the trial invalid. Below, it is what waking up costs on a busy machine.
const LATE_MS: f64 = 1.0;

pub(super) fn check(load: &Loaded, latency: &Latency) -> EngineCheck {
    let engine = &load.engine;
    let cores = (engine.cpu_user_s + engine.cpu_system_s) / load.elapsed_s.max(1e-9);
    let own = f64::from(engine.reactors).min(engine.cores).max(1e-9);
    let limit = (cores >= BUSY * own).then(|| {
        format!("the load generator was the limit: it used {cores:.2} of its {own} cores")
    });
    let late = late_ms(load, latency);
    let share = |(late, p99): (f64, f64)| {
        format!(
            "{late:.2} ms of the 99th percentile of {p99:.2} ms may be the load generator's own lateness"
        )
    };
    EngineCheck {
        cores,
        share: cores / engine.cores.max(1e-9),
        limit,
        invalid: late.filter(|(late, _)| *late > LATE_MS).map(share),
        note: late.filter(|(late, _)| *late <= LATE_MS).map(share),
    }
}

/// Lateness and response, both p99, where the one is a visible part of the other.
fn late_ms(load: &Loaded, latency: &Latency) -> Option<(f64, f64)> {
    let late = load.engine.lateness_us_p99? / 1e3;
    let response = latency.response.as_ref()?.p99_ms?;
    (late > LATE_SHARE * response).then_some((late, response))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{closed, with_response};
    use super::super::summary::summarise;
    use super::*;

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
        let says = "the load generator was the limit: it used 0.95 of its 1 cores";
        assert_eq!(check.limit.as_deref(), Some(says));
        assert_eq!(summarise(&load(1000, None)).engine.limit, None);
    }

    #[test]
    fn lateness_of_milliseconds_that_is_a_tenth_of_the_response_makes_it_invalid() {
        let check = summarise(&load(20_000, Some(3000.0))).engine;
        assert!(
            check
                .invalid
                .unwrap()
                .starts_with("3.00 ms of the 99th percentile of 20.")
        );
        assert_eq!(check.note, None);
    }

    #[test]
    fn lateness_below_a_millisecond_is_told_and_leaves_the_trial_valid() {
        let check = summarise(&load(200, Some(76.0))).engine;
        assert!(check.invalid.is_none() && check.note.is_some());
    }

    #[test]
    fn lateness_that_is_a_small_part_of_the_response_is_not_told() {
        let check = summarise(&load(20_000, Some(1500.0))).engine;
        assert!(check.invalid.is_none() && check.note.is_none());
    }
}
