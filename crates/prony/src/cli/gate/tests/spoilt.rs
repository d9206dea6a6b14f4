//! What happens to the trials of a comparison.

use record::{FlagKind, Trial};
use std::collections::BTreeMap;

/// Lets the load generator use so much of its only core.
pub(super) fn busy(trial: &mut Trial, cores: f64) {
    let Some(load) = &mut trial.load else { return };
    (load.engine.reactors, load.engine.cores) = (1, 2.0);
    if let Some(summary) = &mut load.summary {
        summary.engine.cores = cores;
    }
}

/// Lets so many operations of few fail.
pub(super) fn few(trial: &mut Trial, starts: u64, errors: u64) {
    let load = trial.load.as_mut();
    if let Some(summary) = load.and_then(|load| load.summary.as_mut()) {
        let account = &mut summary.accounts[0];
        (account.starts, account.errors) = (starts, errors);
        account.done = starts - errors;
    }
}

/// Lets 100 operations change so many rows.
pub(super) fn changing(trial: &mut Trial, changed: u64) {
    let Some(load) = &mut trial.load else { return };
    load.engine.rows = vec![record::RowsNote {
        operation: "update".into(),
        done: 100,
        changed,
        found: 0,
    }];
}

/// Lets so many of these operations change nothing.
pub(super) fn idle(trial: &mut Trial, changed_nothing: u64, done: u64) {
    let Some(load) = &mut trial.load else { return };
    load.engine.effects = vec![record::EffectNote {
        operation: "update".into(),
        done,
        changed_nothing,
        found_nothing: 0,
        warned: 0,
    }];
}

/// Kills the server at 10 s and at 30 s. After the second kill the new side stays at half of its throughput.
pub(super) fn killed(trial: &mut Trial) {
    let after = match trial.key.server_name() {
        "new" => 50.0,
        _ => 100.0,
    };
    let kill = |at_s: i64| record::EventNote {
        at_ns: at_s * 1_000_000_000,
        ended_ns: None,
        kind: record::event::KILL.into(),
        node: Some(1),
        numbers: BTreeMap::from([("commit_s".to_string(), 1.0)]),
        text: String::new(),
    };
    trial.events = vec![kill(10), kill(30)];
    let parts = [(10, 100.0), (2, 0.0), (18, 100.0), (3, 0.0), (27, after)];
    let seconds = parts.map(|(count, done)| vec![Some(done); count]).concat();
    let Some(load) = &trial.load else { return };
    for text in stats::add_recovered(&mut trial.events, &seconds, 0, &load.mode) {
        trial.flag(FlagKind::NotRecovered, text);
    }
}

/// The audit of a trial that lost so many transactions.
pub(super) fn losing(lost: u64) -> record::AuditNote {
    record::AuditNote {
        acknowledged: 10_000,
        lost,
        ..record::AuditNote::default()
    }
}

/// Measures the load in slices.
pub(super) fn sliced(trial: &mut Trial) {
    let Some(load) = &mut trial.load else { return };
    let slices = serde_json::json!({
        "length_s": 1.0, "count": 30, "servers": 2, "spanned_s": 60.0, "finishing_s_max": 0.0
    });
    load.engine.slices = Some(serde_json::from_value(slices).unwrap());
}

/// A round of one query with so many rows.
pub(super) fn round(rows: u64, block: u32) -> record::Round {
    serde_json::from_value(serde_json::json!({
        "name": "hot", "index": 1, "started_ns": 0, "ended_ns": 0, "elapsed_s": 1.0 + 0.001 * f64::from(block), "coldness": null,
        "counters": {}, "queries": [{
            "name": "q", "elapsed_ns": 1_000_000_000, "rows": rows, "answer": "ok", "answer_hash": rows.to_string(),
            "plan_hash": null, "counters": {}, "profile": [], "error": null
        }]
    }))
    .unwrap()
}

pub(super) fn dataset(fingerprint: &str) -> record::DatasetNote {
    serde_json::from_value(serde_json::json!({
        "fingerprint": fingerprint, "server": "mysql@5.6.14", "rows": 4, "data_bytes": 16384, "load_s": null, "method": "INSERT"
    }))
    .unwrap()
}
