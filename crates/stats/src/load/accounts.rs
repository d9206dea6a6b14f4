//! What became of the operations of a timed load, by operation.
//!
//! Purpose: no operation vanishes from a report: each one that started ended in time, failed, or was cut off by the end of the load.
//! Boundaries: latency is in `percentiles`, requirements of a standard in `conformance`.

use super::measured::{recorded, to_the_end};
use record::load::{ErrorCount, ErrorKind, LatencyKind, Loaded, done_series};
use record::number::{grouped, percent};
use record::{Account, Steady};
use std::collections::BTreeMap;

/// Above this share of operations that failed, were lost or did not finish, a load is flagged.
const SPOILED_SHARE: f64 = 0.01;

/// So many of an operation may be in flight at the end by chance, however short and rare it is.
const CHANCE: u64 = 2;

/// `12 of 340 operations (3.5 %) failed, were lost or did not finish`; `none of 3 was done`.
fn words(one: &Account, noun: &str) -> String {
    let all = format!("{}{noun}", grouped(one.starts));
    match one.done {
        0 => format!("none of {all} was done"),
        _ => format!(
            "{} of {all} ({}) failed, were lost or did not finish",
            grouped(one.spoiled()),
            percent(one.spoiled_share())
        ),
    }
}

fn is_spoiled(one: &Account) -> bool {
    let done_late = one.spoiled() - one.errors;
    let by_chance = if done_late > CHANCE { 0 } else { done_late };
    let counted = (one.spoiled() - by_chance) as f64;
    counted > SPOILED_SHARE * one.starts as f64 || (one.starts > 0 && one.done == 0)
}

/// The accounts of all operations, in the workload's order.
pub(crate) fn accounts(load: &Loaded, steady: &Steady) -> Vec<Account> {
    let names = load.operations.iter();
    names.map(|name| account(load, steady, name)).collect()
}

/// Adds up the values of one name, in the order in which the names first occur.
pub fn summed<'v, V: Clone + 'v>(
    values: impl Iterator<Item = &'v V>,
    name: fn(&V) -> &str,
    add: impl Fn(&mut V, &V),
) -> Vec<V> {
    let mut sums: Vec<V> = Vec::new();
    for value in values {
        match sums.iter_mut().find(|sum| name(sum) == name(value)) {
            Some(sum) => add(sum, value),
            None => sums.push(value.clone()),
        }
    }
    sums
}

/// All operations of the mix together.
pub fn total(accounts: &[Account]) -> Account {
    let mut sum = Account::default();
    let mix = accounts.iter().filter(|one| one.is_in_mix);
    mix.for_each(|one| sum.add(one));
    sum
}

/// A sentence on work of the background of which more than 1 % failed or was given up. What it completes after the end of the load is
/// done all the same.
fn given_up(one: &Account) -> Option<String> {
    let is_given_up = !one.is_in_mix && one.failed_share() > SPOILED_SHARE;
    is_given_up.then(|| {
        format!(
            "{}: {} of {} ({}) failed or never completed",
            one.name,
            grouped(one.errors),
            grouped(one.starts),
            percent(one.failed_share())
        )
    })
}

/// If more than 1 % of the operations failed, were lost or did not finish, or of those of one name: a sentence on all together, then
/// one on each such name, and on such work of the background.
pub fn spoiled(accounts: &[Account]) -> Vec<String> {
    let mix: Vec<&Account> = accounts.iter().filter(|one| one.is_in_mix).collect();
    let all = total(accounts);
    let all = is_spoiled(&all).then(|| words(&all, " operations"));
    let named = mix.iter().filter(|one| is_spoiled(one));
    let named = named.map(|one| format!("{}: {}", one.name, words(one, "")));
    let behind = accounts.iter().filter_map(given_up);
    match mix.len() {
        // With one operation, its sentence is that of all.
        1 => all.into_iter().chain(behind).collect(),
        _ => all.into_iter().chain(named).chain(behind).collect(),
    }
}

/// A sentence if less than half of the operations that ended were done: what is left is no throughput. Those that the end of the load
/// cut off are not counted.
pub fn mostly_failed(accounts: &[Account]) -> Option<String> {
    let all = total(accounts);
    let done = all.starts - all.errors;
    (done < all.errors).then(|| {
        format!(
            "less than half of the operations were done: {} of {} failed",
            grouped(all.errors),
            grouped(all.starts)
        )
    })
}

/// A sentence if an operation takes longer than the whole load, so that the load cannot say how often it can be done. A load without
/// a whole second measures nothing anyway.
pub fn too_long(load: &Loaded, accounts: &[Account]) -> Option<String> {
    let driven_s = load.driven_s();
    let longest = accounts.iter().filter(|one| one.is_in_mix);
    let longest = longest.max_by(|a, b| a.longest_s.total_cmp(&b.longest_s))?;
    (driven_s >= 1.0 && longest.longest_s >= driven_s).then(|| {
        format!(
            "{}: one took {:.1} s or more, longer than the whole load of {driven_s:.1} s; measure for longer (--time, [protocol] time)",
            longest.name, longest.longest_s
        )
    })
}

pub(super) fn account(load: &Loaded, steady: &Steady, name: &str) -> Account {
    let own = |error: &&ErrorCount| {
        error.second >= steady.from_s && error.operation.as_deref() == Some(name)
    };
    let mut errors_by_code = BTreeMap::new();
    let mut errors = 0;
    for error in load.errors.iter().filter(own) {
        *errors_by_code.entry(error.code).or_default() += error.count;
        if error.kind != Some(ErrorKind::Retried) {
            errors += error.count;
        }
    }
    let late = load.engine.unfinished.iter();
    let late: Vec<_> = late.filter(|late| late.operation == name).collect();
    let late_done: u64 = late.iter().map(|late| late.done).sum();
    let unfinished = late_done + late.iter().map(|late| late.not_done).sum::<u64>();
    let done = done(load, steady, name, errors);
    let starts = done + errors;
    Account {
        name: name.to_string(),
        is_in_mix: is_in_mix(load, name),
        starts,
        ends: starts.saturating_sub(unfinished),
        done: done.saturating_sub(late_done),
        unfinished: unfinished.min(starts),
        errors,
        errors_by_code,
        longest_s: longest_s(load, name),
    }
}

fn is_in_mix(load: &Loaded, name: &str) -> bool {
    let standard = load.standard.iter();
    let mut requirements = standard.flat_map(|standard| &standard.requirements);
    requirements
        .find(|one| one.operation == name)
        .is_none_or(|one| one.is_in_mix)
}

/// Operations done from the measured part on. Older records have no series of them, but their histograms count them with the errors.
fn done(load: &Loaded, steady: &Steady, name: &str, errors: u64) -> u64 {
    let series = done_series(name);
    match load.series.contains_key(&series) {
        true => to_the_end(load, &series, steady) as u64,
        false => recorded(load, steady, name, LatencyKind::Service).saturating_sub(errors),
    }
}

fn longest_s(load: &Loaded, name: &str) -> f64 {
    let own = load
        .histograms
        .iter()
        .filter(|note| [LatencyKind::Service, LatencyKind::Failed].contains(&note.kind))
        .filter(|note| note.operation.as_deref() == Some(name));
    let longest_ns = own.map(|note| note.nanoseconds.unpack().max()).max();
    longest_ns.unwrap_or(0) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, histogram, series};
    use crate::summarise;
    use record::load::{HistogramNote, Requirement, Standard, Unfinished, Warmup};

    const SECOND: u64 = 1_000_000_000;

    /// 20 s of quick reads, 100 a second, and of a report that nobody has seen end.
    fn load() -> Loaded {
        let mut load = closed(|_| 100.0, 20);
        load.operations = vec!["read".into(), "report".into()];
        load.engine.until_s = Some(20.0);
        let done = series(20, |_| 100.0);
        load.series.insert(done_series("read"), done);
        load.series
            .insert(done_series("report"), series(20, |_| 0.0));
        load
    }

    fn lost(second: u32, operation: &str, kind: ErrorKind, code: u16, count: u64) -> ErrorCount {
        ErrorCount {
            second,
            kind: Some(kind),
            operation: Some(operation.into()),
            code,
            count,
        }
    }

    fn unfinished(operation: &str, done: u64, not_done: u64) -> Unfinished {
        Unfinished {
            operation: operation.into(),
            done,
            not_done,
        }
    }

    fn service(operation: &str, seconds: u64) -> HistogramNote {
        HistogramNote {
            operation: Some(operation.into()),
            kind: LatencyKind::Service,
            every_s: 10,
            start_s: 10,
            nanoseconds: histogram([seconds * SECOND]),
        }
    }

    #[test]
    fn an_operation_that_never_completes_is_listed_with_its_starts() {
        let mut load = load();
        load.engine.unfinished = vec![unfinished("report", 0, 3)];
        load.errors = vec![lost(50, "report", ErrorKind::Lost, 2013, 3)];
        let summary = summarise(&load);
        let report = &summary.accounts[1];
        assert_eq!((report.name.as_str(), report.starts), ("report", 3));
        assert_eq!((report.ends, report.done, report.unfinished), (0, 0, 3));
        assert_eq!(report.errors_by_code, BTreeMap::from([(2013, 3)]));
        assert_eq!(summary.errors, 0, "the series `errors` is empty here");
        assert_eq!(spoiled(&summary.accounts), ["report: none of 3 was done"]);
    }

    #[test]
    fn starts_are_ends_and_unfinished_operations() {
        let mut load = load();
        // One of the two that were in flight was done late.
        load.engine.unfinished = vec![unfinished("read", 1, 1)];
        load.series.insert(
            done_series("read"),
            series(21, |s| if s == 20 { 1.0 } else { 100.0 }),
        );
        load.errors = vec![
            lost(3, "read", ErrorKind::Failed, 1062, 4),
            lost(3, "read", ErrorKind::Retried, 1213, 9),
            lost(20, "read", ErrorKind::Lost, 2013, 1),
        ];
        let read = &summarise(&load).accounts[0];
        assert_eq!((read.starts, read.ends), (2006, 2004));
        assert_eq!((read.done, read.unfinished, read.errors), (2000, 2, 5));
        assert_eq!(read.spoiled(), 6);
        let codes = BTreeMap::from([(1062, 4), (1213, 9), (2013, 1)]);
        assert_eq!(read.errors_by_code, codes);
    }

    #[test]
    fn errors_in_the_warm_up_do_not_count() {
        let mut load = load();
        load.warmup = Warmup::Seconds(5.0);
        load.errors = vec![lost(3, "read", ErrorKind::Lost, 2013, 4)];
        let read = &summarise(&load).accounts[0];
        assert_eq!((read.starts, read.errors), (1500, 0));
    }

    #[test]
    fn one_percent_is_not_flagged_and_more_is() {
        let with = |failed: u64| {
            let mut load = load();
            load.errors = vec![lost(3, "read", ErrorKind::Failed, 1062, failed)];
            spoiled(&summarise(&load).accounts)
        };
        assert!(with(20).is_empty());
        assert_eq!(
            with(60),
            [
                "60 of 2,060 operations (2.9 %) failed, were lost or did not finish",
                "read: 60 of 2,060 (2.9 %) failed, were lost or did not finish"
            ]
        );
    }

    #[test]
    fn a_load_of_which_less_than_half_was_done_mostly_failed() {
        let with = |failed: u64, cut_off: u64| {
            let mut load = load();
            load.errors = vec![lost(3, "read", ErrorKind::Failed, 1366, failed)];
            load.engine.unfinished = vec![unfinished("read", cut_off, 0)];
            mostly_failed(&summarise(&load).accounts)
        };
        assert_eq!(with(2000, 0), None);
        assert_eq!(with(1999, 500), None, "the end of the load cut off 500");
        assert_eq!(
            with(2001, 0).unwrap(),
            "less than half of the operations were done: 2,001 of 4,001 failed"
        );
    }

    #[test]
    fn work_of_the_background_that_never_completes_is_named() {
        let requirement = |operation: &str, is_in_mix| Requirement {
            operation: operation.into(),
            minimum_share: None,
            is_in_mix,
            p90_limit_s: 5.0,
        };
        let with = |given_up: u64| {
            let mut load = load();
            load.standard = Some(Standard {
                counted: "read".into(),
                per_minute: "reads per minute".into(),
                requirements: vec![requirement("read", true), requirement("report", false)],
            });
            load.series
                .insert(done_series("report"), series(20, |_| 5.0));
            load.errors = vec![lost(50, "report", ErrorKind::Lost, 0, given_up)];
            spoiled(&summarise(&load).accounts)
        };
        assert!(with(1).is_empty());
        assert_eq!(
            with(100),
            ["report: 100 of 200 (50 %) failed or never completed"]
        );
    }

    #[test]
    fn a_rare_operation_that_fails_is_flagged_though_the_mix_is_fine() {
        let mut load = load();
        load.series.insert(
            done_series("report"),
            series(20, |s| (s % 4 == 0) as u8 as f64),
        );
        load.errors = vec![lost(3, "report", ErrorKind::Failed, 1317, 5)];
        let accounts = summarise(&load).accounts;
        assert!(total(&accounts).spoiled_share() < SPOILED_SHARE);
        assert_eq!(
            spoiled(&accounts),
            ["report: 5 of 10 (50 %) failed, were lost or did not finish"]
        );
    }

    #[test]
    fn a_single_operation_in_flight_at_the_end_is_chance() {
        let mut load = load();
        load.series.insert(
            done_series("report"),
            series(20, |s| (s % 4 == 0) as u8 as f64),
        );
        load.engine.unfinished = vec![unfinished("report", 1, 0)];
        assert!(spoiled(&summarise(&load).accounts).is_empty());
    }

    #[test]
    fn an_operation_as_long_as_the_load_is_too_long() {
        let with = |seconds| {
            let mut load = load();
            load.histograms.push(service("report", seconds));
            let accounts = summarise(&load).accounts;
            too_long(&load, &accounts)
        };
        assert_eq!(with(19), None);
        let text = with(25).unwrap();
        assert!(
            text.starts_with(
                "report: one took 25.0 s or more, longer than the whole load of 20.0 s"
            ),
            "{text}"
        );
    }

    #[test]
    fn an_older_record_without_series_is_counted_by_its_histograms() {
        let mut load = closed(|_| 10.0, 20);
        load.histograms.push(HistogramNote {
            operation: Some("update".into()),
            kind: LatencyKind::Service,
            every_s: 10,
            start_s: 0,
            nanoseconds: histogram([1_000_000; 200]),
        });
        load.errors = vec![lost(3, "update", ErrorKind::Failed, 1062, 20)];
        let update = &summarise(&load).accounts[0];
        assert_eq!((update.starts, update.done, update.errors), (200, 180, 20));
    }
}
