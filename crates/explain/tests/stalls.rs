//! Stalls with made-up series: each cause is named if its own series show it, and only then.

use explain::{NamedCause, StallCause, stall_causes};
use record::*;
use std::collections::BTreeMap;

const STALLED: std::ops::Range<usize> = 40..43;

/// A minute at 1,000 operations a second, with a stall of three seconds.
fn trial(series: &[(&str, f64, f64)]) -> Trial {
    let each = |usual: f64, during: f64| -> Vec<Option<f64>> {
        let of = |second: usize| match STALLED.contains(&second) {
            true => during,
            false => usual,
        };
        (0..60).map(|second| Some(of(second))).collect()
    };
    let mut all = BTreeMap::from([("throughput".to_string(), each(1000.0, 10.0))]);
    for (name, usual, during) in series {
        all.insert(name.to_string(), each(*usual, *during));
    }
    let key = TrialKey {
        server: Some("5.6".into()),
        ..TrialKey::default()
    };
    let load = Loaded {
        mode: Mode::Closed {
            clients: 8,
            think_s: 0.0,
        },
        warmup: Warmup::Seconds(0.0),
        started_ns: 1_000_000_000,
        elapsed_s: 60.0,
        operations: vec!["update".into()],
        series: all,
        ..Loaded::default()
    };
    Trial {
        load: Some(Box::new(load)),
        ..Trial::unmeasured(key, 0)
    }
}

fn named(trial: &Trial) -> Vec<NamedCause> {
    let load = trial.load.as_ref().unwrap();
    let summary = stats::summarise(load);
    assert_eq!(summary.stalls.len(), 1);
    stall_causes(trial, load, &summary, &summary.stalls[0])
}

fn causes(series: &[(&str, f64, f64)]) -> Vec<StallCause> {
    let named = named(&trial(series)).into_iter();
    named.map(|named| named.cause).collect()
}

#[test]
fn a_checkpoint_age_at_its_limit_is_a_full_redo_log() {
    let found = named(&trial(&[
        ("checkpoint age", 40e6, 79e6),
        ("checkpoint age limit", 80e6, 80e6),
        ("pages flushed sync", 0.0, 2500.0),
    ]));
    assert_eq!(found[0].cause, StallCause::LogFull);
    let series: Vec<&str> = found[0]
        .evidence
        .iter()
        .map(|one| one.series.as_str())
        .collect();
    assert_eq!(series, ["checkpoint age / limit", "pages flushed sync"]);
    assert_eq!(found[0].evidence[1].during, 2500.0);
}

#[test]
fn an_age_that_is_always_near_its_limit_explains_no_single_stall() {
    let near = [
        ("checkpoint age", 78e6, 79e6),
        ("checkpoint age limit", 80e6, 80e6),
    ];
    assert_eq!(causes(&near), []);
}

#[test]
fn every_cause_has_a_series_that_shows_it() {
    let of = |series: &str, during: f64| causes(&[(series, 0.0, during)]);
    assert_eq!(of("log space waits", 9.0), [StallCause::LogFull]);
    assert_eq!(
        of("pages flushed adaptive", 900.0),
        [StallCause::FlushBurst]
    );
    assert_eq!(of("free page waits", 9.0), [StallCause::NoFreePage]);
    assert_eq!(of("single page flushes", 9.0), [StallCause::NoFreePage]);
    assert_eq!(of("pages flushed LRU", 900.0), [StallCause::LruFlushing]);
    assert_eq!(of("log waits", 9.0), [StallCause::LogBuffer]);
    assert_eq!(of("row lock wait ms", 900.0), [StallCause::RowLocks]);
    assert_eq!(of("history length", 9e5), [StallCause::Purge]);
    assert_eq!(of("device busy", 0.99), [StallCause::DiskBusy]);
    assert_eq!(of("machine stolen", 0.9), [StallCause::Stolen]);
}

#[test]
fn a_state_that_does_not_rise_or_is_absent_is_no_evidence() {
    assert_eq!(causes(&[("free page waits", 7.0, 7.0)]), []);
    assert_eq!(causes(&[("device busy", 0.97, 0.99)]), []);
    assert_eq!(causes(&[]), []);
}

#[test]
fn an_event_under_way_is_named_first() {
    let mut trial = trial(&[("pages flushed sync", 0.0, 5.0)]);
    let at = |second: i64| 1_000_000_000 + second * 1_000_000_000;
    let event = |kind: &str, from, until| EventNote {
        at_ns: at(from),
        ended_ns: Some(at(until)),
        kind: kind.into(),
        node: None,
        numbers: Default::default(),
        text: String::new(),
    };
    trial.events = vec![event("kill", 39, 42), event("dump", 5, 9)];
    let causes: Vec<StallCause> = named(&trial).into_iter().map(|one| one.cause).collect();
    assert_eq!(
        causes,
        [StallCause::Event("kill".into()), StallCause::LogFull]
    );
}

#[test]
fn an_event_that_left_the_server_down_is_the_cause_until_it_is_started() {
    let mut trial = trial(&[]);
    let event = |kind: &str, (at_ms, ended_ms): (i64, i64), number: &str| EventNote {
        at_ns: 1_000_000_000 + at_ms * 1_000_000,
        ended_ns: Some(1_000_000_000 + ended_ms * 1_000_000),
        kind: kind.into(),
        node: Some(1),
        numbers: BTreeMap::from([(number.to_string(), 0.1)]),
        text: String::new(),
    };
    let stop = event("stop", (39_800, 39_900), "stop_s");
    trial.events = vec![stop.clone(), event("start", (42_000, 42_500), "start_s")];
    let causes = |trial: &Trial| -> Vec<StallCause> {
        named(trial).into_iter().map(|one| one.cause).collect()
    };
    let [stopped, started] = ["stop", "start"].map(|kind| StallCause::Event(kind.into()));
    assert_eq!(causes(&trial), [stopped, started]);
    trial.events = vec![stop, event("start", (39_900, 39_950), "start_s")];
    assert_eq!(causes(&trial), []);
}

/// A link is down at once, and the clients of the other nodes wait until these go on.
#[test]
fn an_event_is_the_cause_until_the_first_commit_after_it() {
    let mut trial = trial(&[]);
    let at_ns = 1_000_000_000 + 39_500_000_000;
    trial.events = vec![EventNote {
        at_ns,
        ended_ns: Some(at_ns + 10_000_000),
        kind: "cut".into(),
        node: Some(3),
        numbers: BTreeMap::from([("commit_s".to_string(), 3.0)]),
        text: String::new(),
    }];
    assert_eq!(named(&trial)[0].cause, StallCause::Event("cut".into()));
}
