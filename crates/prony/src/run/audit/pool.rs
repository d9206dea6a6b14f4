//! Checks whether a buffer pool that is sized to hold the data did hold it.
//!
//! `innodb_buffer_pool_size = "data * 2"` promises a load without disk reads. Data that grows, undo, or a size that the server reported too
//! small can break the promise, and the figures are then of another question.

use record::names::SERVER_READ;
use record::{Counters, FlagKind, Loaded, Trial};
use spec::{Pairs, Setting, setting_of};
use std::collections::BTreeMap;

const POOL: &str = "innodb_buffer_pool_size";
/// The pages that were read from disk, ahead of their request or not; else those alone that a query waited for, which are few in a scan.
const MISSES: [&str; 2] = ["Innodb_pages_read", "Innodb_buffer_pool_reads"];
const REQUESTS: &str = "Innodb_buffer_pool_read_requests";
/// A larger share of misses means that the pool does not hold the data.
const MISS_RATIO_MAX: f64 = 0.01;
/// Fewer misses are those of the server's own tables.
const MISSES_MIN: f64 = 100.0;
/// InnoDB's default, where the server does not report its own.
const PAGE_BYTES: f64 = 16384.0;
const PAGE_SIZE: &str = "innodb_page_size";
/// A pass that reads a larger share of the data fills the pool, however often it visits the pages. Fewer pages take no time that counts.
const FILLED_SHARE: f64 = 0.1;
const FILLED_MIN: f64 = 10.0;

/// Flags a trial whose pool should have held the data and did not.
pub(crate) fn check(settings: &Pairs<Setting>, trial: &mut Trial) {
    let Some(pool) = holding_pool(settings, trial) else {
        return;
    };
    let Some((misses, requests, place)) = warm_requests(trial) else {
        return;
    };
    let ratio = misses / requests.max(1.0);
    if misses < MISSES_MIN || ratio <= MISS_RATIO_MAX {
        return;
    }
    let ratio = record::percent(ratio);
    trial.flag(FlagKind::DataNotHeld, format!(
        "{pool} does not hold the data: {ratio} of the page requests {place} read from disk; choose a larger one, or a longer warm-up"
    ));
}

/// Whether a pass read its data into memory, so that it was no hot one: many of the pages that it requested, or of those that the data has,
/// of whatever engine. `settings` are those in force.
pub(crate) fn was_filled_by(
    counters: &Counters,
    data_bytes: u64,
    settings: &BTreeMap<String, String>,
) -> bool {
    let page_bytes = settings.get(PAGE_SIZE).and_then(|bytes| bytes.parse().ok());
    let page_bytes: f64 = page_bytes.unwrap_or(PAGE_BYTES);
    let are_of_data = |pages: f64| {
        let of_data = pages * page_bytes / data_bytes as f64;
        pages >= FILLED_MIN && data_bytes > 0 && of_data > FILLED_SHARE
    };
    let has_missed = of_counters(counters).is_some_and(|(misses, requests)| {
        (misses >= MISSES_MIN && misses > MISS_RATIO_MAX * requests) || are_of_data(misses)
    });
    // The rows of other engines are in no pool that counts its misses.
    let read_bytes = counters.get(SERVER_READ);
    has_missed || read_bytes.is_some_and(|bytes| are_of_data(*bytes as f64 / page_bytes))
}

/// The size as the file writes it, or as the server has it, if it is at least that of the data.
fn holding_pool(settings: &Pairs<Setting>, trial: &Trial) -> Option<String> {
    match setting_of(settings, POOL) {
        Some(setting @ Setting::OfData(factor)) => {
            (*factor >= 1.0).then(|| format!("{POOL} = {setting}"))
        }
        _ => {
            let bytes: u64 = trial.settings.get(POOL)?.parse().ok()?;
            let data_bytes = trial.data_bytes;
            (data_bytes > 0 && bytes >= data_bytes)
                .then(|| format!("{POOL} = {bytes}, above the {data_bytes} bytes of the data,"))
        }
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
    Some((MISSES.into_iter().find_map(sum)?, sum(REQUESTS)?))
}

fn of_counters(counters: &Counters) -> Option<(f64, f64)> {
    let value = |name: &str| counters.get(name).map(|moved| *moved as f64);
    Some((MISSES.into_iter().find_map(value)?, value(REQUESTS)?))
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
            round.counters.insert(MISSES[0].into(), misses);
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
            text.starts_with("innodb_buffer_pool_size = data * 2 does not hold the data: 3.4 % of the page requests in hot 2 read from disk"),
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
    fn a_scan_makes_few_requests_and_is_judged_too() {
        let with = |misses, requests| {
            let mut scan = trial(misses);
            scan.rounds[1].counters.insert(REQUESTS.into(), requests);
            flagged("data * 2", scan)
        };
        assert!(
            with(3_840, 6_000)
                .unwrap()
                .contains("64 % of the page requests")
        );
        assert_eq!(with(90, 100), None, "of the server's own tables");
    }

    #[test]
    fn a_size_in_bytes_is_judged_where_it_is_above_that_of_the_data() {
        let of = |data_bytes| {
            let mut sized = trial(50_000);
            sized.settings.insert(POOL.into(), "134217728".into());
            sized.data_bytes = data_bytes;
            flagged("128M", sized)
        };
        let text = of(100_000_000).unwrap();
        let expected = "innodb_buffer_pool_size = 134217728, above the 100000000 bytes of the data, does not hold the data: 50 %";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(of(200_000_000), None);
    }

    #[test]
    fn a_pass_that_reads_the_data_is_no_hot_one() {
        let counters = |misses, requests| {
            Counters::from([(MISSES[0].into(), misses), (REQUESTS.into(), requests)])
        };
        let mib_200 = 200 << 20;
        let of_pages = |bytes: &str, misses| {
            let settings = BTreeMap::from([(PAGE_SIZE.to_string(), bytes.to_string())]);
            was_filled_by(&counters(misses, 900_000), mib_200, &settings)
        };
        let unknown = BTreeMap::new();
        let is_filled =
            |misses, requests| was_filled_by(&counters(misses, requests), mib_200, &unknown);
        assert!(is_filled(6_000, 9_000));
        assert!(is_filled(6_000, 900_000), "half of the data");
        assert!(!is_filled(600, 900_000), "some of both");
        assert!(!is_filled(9, 20));
        let small = |misses| was_filled_by(&counters(misses, 76), 1 << 20, &unknown);
        assert!(small(66), "all of a small table");
        assert!(!small(7));
        assert!(!was_filled_by(&Counters::new(), mib_200, &unknown));
        assert!(!of_pages("4096", 4_000), "8 % of the data");
        assert!(of_pages("65536", 600), "19 % of the data");
    }

    /// MyISAM keeps its rows in the page cache, and InnoDB counts nothing.
    #[test]
    fn a_pass_of_another_engine_that_reads_the_data_from_disk_is_no_hot_one() {
        let after_reading = |bytes: i64| {
            let counters = Counters::from([
                (MISSES[0].into(), 0),
                (REQUESTS.into(), 40),
                (SERVER_READ.into(), bytes),
            ]);
            was_filled_by(&counters, 200 << 20, &BTreeMap::new())
        };
        assert!(after_reading(150 << 20));
        assert!(!after_reading(2 << 20), "1 % of the data");
        assert!(!after_reading(0));
    }
}
