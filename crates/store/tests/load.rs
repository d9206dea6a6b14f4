//! Timed loads in a run's file: brief for tables, whole for pictures, live while they are under way.

use crate::common::{place, run, timed, with_summary};
use record::*;
use stats::summarise;
use std::collections::BTreeMap;
use store::{Store, StoreError};

fn live(block: u32, seconds: Vec<(u32, LiveSample)>) -> LiveTrial {
    LiveTrial {
        key: timed(block).key,
        seconds,
    }
}

fn sample(throughput: f64) -> LiveSample {
    LiveSample {
        values: BTreeMap::from([("throughput".into(), throughput)]),
        latency_ms: BTreeMap::from([("p99".into(), 12.5)]),
        errors: BTreeMap::from([(1213, 1)]),
    }
}

#[test]
fn a_timed_load_is_read_back_whole_by_its_key() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&timed(0)).unwrap();
    let load = *with_summary(timed(0)).load.unwrap();
    assert_eq!(store.load(&timed(0).key).unwrap(), Some(load));
    assert_eq!(store.load(&timed(1).key).unwrap(), None);
    assert_eq!(store.trials_whole().unwrap(), [with_summary(timed(0))]);
}

#[test]
fn trials_reads_the_summary_of_a_timed_load_without_series_and_histograms() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&timed(0)).unwrap();
    let trials = store.trials().unwrap();
    let load = trials[0].load.as_ref().unwrap();
    assert!(load.series.is_empty() && load.histograms.is_empty() && load.errors.is_empty());
    let summary = load.summary.as_ref().unwrap();
    assert_eq!(summary.throughput, Some(500.0));
    assert_eq!(*summary, summarise(timed(0).load.as_ref().unwrap()));
}

#[test]
fn single_series_are_read_by_name_with_their_gaps() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&timed(0)).unwrap();
    let series = store
        .series(&timed(0).key, &["server cpu", "no such"])
        .unwrap();
    assert_eq!(series.keys().collect::<Vec<_>>(), ["server cpu"]);
    let cpu = &series["server cpu"];
    assert_eq!((cpu.len(), cpu[6], cpu[7]), (60, Some(0.731), None));
}

#[test]
fn a_summary_by_other_rules_is_recomputed() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&timed(0)).unwrap();
    drop(store);
    let at = rusqlite::Connection::open(&path).unwrap();
    at.execute_batch("update load set rules = 0, summary_json = '{\"throughput\": 1}'")
        .unwrap();
    drop(at);
    let trials = Store::open(&path).unwrap().trials().unwrap();
    let load = trials[0].load.as_ref().unwrap();
    assert_eq!(load.summary.as_ref().unwrap().throughput, Some(500.0));
    assert!(load.histograms.is_empty());
}

#[test]
fn a_spoiled_histogram_or_series_is_named_and_does_not_keep_the_tables_from_being_read() {
    for spoil in [
        "update histogram set v2 = x'00'",
        "update series set packed = x'00'",
    ] {
        let (_folder, path) = place();
        Store::create(&path, &run())
            .unwrap()
            .save(&timed(0))
            .unwrap();
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute_batch(spoil)
            .unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(store.trials().unwrap().len(), 1);
        let refused = store.trials_whole().unwrap_err();
        assert!(
            matches!(refused, StoreError::Unreadable { .. }),
            "{refused}"
        );
    }
}

#[test]
fn a_failed_timed_trial_gives_way_with_all_its_rows() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    let failed = Trial {
        state: TrialState::Failed,
        ..timed(0)
    };
    store.save(&failed).unwrap();
    store.save(&timed(0)).unwrap();
    drop(store);
    let at = rusqlite::Connection::open(&path).unwrap();
    let count = |table: &str| {
        at.query_row(&format!("select count(*) from {table}"), [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap()
    };
    assert_eq!(
        ["load", "histogram", "series", "error"].map(count),
        [1, 66, 2, 1]
    );
}

#[test]
fn the_seconds_of_a_running_trial_are_seen_by_a_reader_until_it_is_saved() {
    let (_folder, path) = place();
    let mut writer = Store::create(&path, &run()).unwrap();
    let reader = Store::open(&path).unwrap();
    assert_eq!(reader.live_of().unwrap(), None);
    for second in 0..3 {
        writer
            .live(&timed(0).key, second, &sample(f64::from(second)))
            .unwrap();
    }
    let seconds: Vec<(u32, LiveSample)> = (0..3).map(|s| (s, sample(f64::from(s)))).collect();
    assert_eq!(reader.live_of().unwrap(), Some(live(0, seconds)));
    writer.save(&timed(0)).unwrap();
    assert_eq!(reader.live_of().unwrap(), None);
    assert_eq!(reader.trials().unwrap().len(), 1);
}

#[test]
fn live_seconds_of_a_killed_trial_stay_until_the_next_trial_starts() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    for second in 0..5 {
        store.live(&timed(0).key, second, &sample(1.0)).unwrap();
    }
    drop(store);
    let mut store = Store::resume(&path).unwrap();
    assert_eq!(store.live_of().unwrap().unwrap().seconds.len(), 5);
    store.live(&timed(0).key, 0, &sample(2.0)).unwrap();
    assert_eq!(
        store.live_of().unwrap(),
        Some(live(0, vec![(0, sample(2.0))]))
    );
    store.live(&timed(1).key, 7, &sample(3.0)).unwrap();
    assert_eq!(
        store.live_of().unwrap(),
        Some(live(1, vec![(7, sample(3.0))]))
    );
}

#[test]
fn the_space_of_live_seconds_is_given_back() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    let mut many = sample(1.0);
    let counters = (0..1_000).map(|n| (format!("counter {n}"), f64::from(n).sin()));
    many.values.extend(counters);
    for second in 0..60 {
        store.live(&timed(0).key, second, &many).unwrap();
    }
    store.save(&timed(0)).unwrap();
    drop(store);
    let before = std::fs::metadata(&path).unwrap().len();
    let mut store = Store::resume(&path).unwrap();
    let whole = store.trials_whole().unwrap();
    store.shrink();
    assert_eq!(store.trials_whole().unwrap(), whole);
    drop(store);
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(2 * after < before, "{before} bytes, then {after}");
}
