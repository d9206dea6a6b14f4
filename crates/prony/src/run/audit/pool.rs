//! Checks whether a buffer pool that is sized to hold the data did hold it.
//!
//! `innodb_buffer_pool_size = "data * 2"` promises a load without disk reads. Data that grows, undo, or a size that the server reported too
//! small can break the promise, and the figures are then of another question.

use crate::run::settings::plain;
use record::{Counters, FlagKind, Loaded, Trial};
use spec::{Pairs, Setting};

const POOL: &str = "innodb_buffer_pool_size";
const MISSES: &str = "Innodb_buffer_pool_reads";
const REQUESTS: &str = "Innodb_buffer_pool_read_requests";
/// A larger share of misses means that the pool does not hold the data.
const MISS_RATIO_MAX: f64 = 0.01;
/// Of fewer requests the ratio says nothing.
const REQUESTS_MIN: f64 = 10_000.0;

/// Flags a trial whose pool should have held the data and did not.
pub(crate) fn check(settings: &Pairs<Setting>, trial: &mut Trial) {
    let Some(requested) = holding_pool(settings) else {
        return;
    };
    let Some((misses, requests, place)) = warm_requests(trial) else {
        return;
    };
    let ratio = misses / requests.max(1.0);
    if requests < REQUESTS_MIN || ratio <= MISS_RATIO_MAX {
        return;
    }
    let ratio = record::percent(ratio);
    trial.flag(FlagKind::DataNotHeld, format!(
        "{POOL} = {requested} does not hold the data: {ratio} of the page requests {place} missed the buffer pool; choose a larger factor, or a longer warm-up"
    ));
}

/// The size as the file writes it, if it is at least that of the data.
fn holding_pool(settings: &Pairs<Setting>) -> Option<String> {
    let mut settings = settings.iter();
    let (_, setting) = settings.find(|(name, _)| plain(name) == POOL)?;
    match setting {
        Setting::OfData(factor) if *factor >= 1.0 => Some(setting.to_string()),
        _ => None,
    }
}

/// Misses and requests after the data could be read once, and where they were counted.
fn warm_requests(trial: &Trial) -> Option<(f64, f64, String)> {
    if let Some(load) = &trial.load {
        let (misses, requests) = of_load(load)?;
        return Some((misses, requests, "in the measured part".to_string()));
    }
    let last = trial.rounds.last().filter(|_| trial.rounds.len() > 1)?;
    let (misses, requests) = of_counters(&last.counters)?;
    (last.name == "hot").then(|| (misses, requests, format!("in hot {}", last.index)))
}

fn of_load(load: &Loaded) -> Option<(f64, f64)> {
    let from_s = stats::summary(load).steady.from_s as usize;
    let sum = |name: &str| {
        let seconds = load.series.get(name)?.iter().skip(from_s);
        Some(seconds.flatten().sum::<f64>())
    };
    Some((sum(MISSES)?, sum(REQUESTS)?))
}

fn of_counters(counters: &Counters) -> Option<(f64, f64)> {
    let value = |name: &str| counters.get(name).map(|moved| *moved as f64);
    Some((value(MISSES)?, value(REQUESTS)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::rounds::tests::trial_with_answers;

    /// A trial of a cold and a hot round, in which so many of 100,000 requests missed the pool.
    fn trial(misses: i64) -> Trial {
        let mut trial = trial_with_answers("5.6", &["a", "a"]);
        trial.rounds[0].name = "cold".into();
        for (round, misses) in trial.rounds.iter_mut().zip([90_000, misses]) {
            round.counters.insert(MISSES.into(), misses);
            round.counters.insert(REQUESTS.into(), 100_000);
        }
        trial
    }

    fn flagged(pool: &str, mut trial: Trial) -> Option<String> {
        let setting = Setting::from_text(pool).unwrap();
        check(&vec![(POOL.to_string(), setting)], &mut trial);
        trial.flags.pop().map(|flag| flag.text)
    }

    #[test]
    fn a_pool_of_twice_the_data_that_misses_is_named_with_its_ratio() {
        let text = flagged("data * 2", trial(3_400)).unwrap();
        assert!(
            text.starts_with("innodb_buffer_pool_size = data * 2 does not hold the data: 3.4 % of the page requests in hot 2 missed"),
            "{text}"
        );
    }

    #[test]
    fn one_percent_of_misses_is_no_warning() {
        assert_eq!(flagged("data * 2", trial(1_000)), None);
        assert!(flagged("data", trial(1_001)).is_some());
    }

    #[test]
    fn a_pool_that_promises_nothing_is_not_judged() {
        assert_eq!(flagged("data / 8", trial(50_000)), None);
        assert_eq!(flagged("128M", trial(50_000)), None);
    }

    #[test]
    fn the_first_round_fills_the_pool() {
        let mut cold = trial(50_000);
        cold.rounds.truncate(1);
        assert_eq!(flagged("data * 2", cold), None);
        let mut first_hot = trial(50_000);
        first_hot.rounds.remove(0);
        assert_eq!(flagged("data * 2", first_hot), None);
    }

    #[test]
    fn a_few_requests_say_nothing() {
        let mut idle = trial(90);
        idle.rounds[1].counters.insert(REQUESTS.into(), 100);
        assert_eq!(flagged("data * 2", idle), None);
    }
}
