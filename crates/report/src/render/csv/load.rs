//! Timed loads as CSV: one row for each trial, or one for each second.

use super::{PRONY, key, key_heads, prony, record, state};
use crate::document::{Document, Recorded};
use ::record::Summary;
use ::record::{AuditNote, Kind, Mode, Percentile};
use std::collections::BTreeSet;

const OF_A_TRIAL: [&str; 52] = [
    "block",
    "state",
    "loop",
    "load_clients",
    "load_workers",
    "load_rate",
    "throughput",
    "operations",
    "retried",
    "errors",
    "offered",
    "completed",
    "dropped",
    "queued_at_end",
    "stable",
    "response_p50_ms",
    "response_p95_ms",
    "response_p99_ms",
    "response_p999_ms",
    "response_max_ms",
    "wait_p50_ms",
    "wait_p95_ms",
    "wait_p99_ms",
    "wait_p999_ms",
    "wait_max_ms",
    "service_p50_ms",
    "service_p95_ms",
    "service_p99_ms",
    "service_p999_ms",
    "service_max_ms",
    "from_s",
    "until_s",
    "shape",
    "stalls",
    "engine_cores",
    "lateness_p99_us",
    "note",
    "acknowledged",
    "refused",
    "unknown",
    "unknown_kept",
    "lost",
    "ghosts",
    "partly_applied",
    "seen_but_lost",
    "loss_window_s",
    "violations",
    "failed_inputs",
    "uncertain",
    "load_rate_min",
    "load_rate_max",
    "queued_at_start",
];

/// The columns after those of the audit.
const AFTER_AUDIT: usize = 4;

/// How many of them are about the audit. They are the last but one.
const OF_AN_AUDIT: usize = 11;

/// Columns: `server`, one per factor, then those of `OF_A_TRIAL`, then `PRONY`. What a load does not have is empty.
pub(super) fn trials(document: &Document) -> String {
    let mut text = String::new();
    let heads = key_heads(document.run).chain(OF_A_TRIAL);
    record(&mut text, heads.chain([PRONY]));
    for recorded in &document.trials {
        let own = fields(recorded);
        let own = own.iter().map(String::as_str);
        let key = key(document.run, recorded.trial);
        record(&mut text, key.chain(own).chain([prony(document.run)]));
    }
    text
}

/// One row for each second of each trial: `server`, one column per factor, `block`, `second`, `measured` (1 where the second
/// counts), then every series of the record by its name. Needs whole trials (`Store::trials_whole`).
pub fn samples(document: &Document) -> String {
    let loads = || {
        document.trials.iter().filter_map(|recorded| {
            let load = recorded.trial.load.as_deref()?;
            Some((recorded.trial, load, recorded.summary.as_deref()?))
        })
    };
    let names: BTreeSet<&str> = loads()
        .flat_map(|(_, load, _)| load.series.keys())
        .map(String::as_str)
        .collect();
    let mut text = String::new();
    let head = key_heads(document.run)
        .chain(["block", "second", "measured"])
        .chain(names.iter().copied());
    record(&mut text, head);
    for (trial, load, summary) in loads() {
        let measured = summary.steady.from_s as usize..summary.steady.until_s as usize;
        let seconds = load.series.values().map(Vec::len).max().unwrap_or(0);
        for second in 0..seconds {
            let values = names.iter().map(|name| or_empty(load.at(name, second)));
            let own: Vec<String> = [
                trial.key.block.to_string(),
                second.to_string(),
                u8::from(measured.contains(&second)).to_string(),
            ]
            .into_iter()
            .chain(values)
            .collect();
            let key = key(document.run, trial);
            record(&mut text, key.chain(own.iter().map(String::as_str)));
        }
    }
    text
}

fn fields(recorded: &Recorded) -> Vec<String> {
    let trial = recorded.trial;
    let mut fields = vec![trial.key.block.to_string(), state(trial.state).to_string()];
    if let (Some(load), Some(summary)) = (trial.load.as_deref(), recorded.summary.as_deref()) {
        fields.extend(requested(&load.mode));
        fields.extend(done(summary));
        let kinds = [Kind::Response, Kind::Wait, Kind::Service].into_iter();
        fields.extend(kinds.flat_map(|kind| latency(summary, kind)));
        fields.extend(judged(summary));
        fields.push(format!("{:.3}", summary.engine.cores));
        fields.push(or_empty(load.engine.lateness_us_p99));
    }
    let note = trial
        .flags
        .first()
        .map_or(String::new(), |flag| flag.text.clone());
    let last = OF_A_TRIAL.len() - AFTER_AUDIT;
    fields.resize(last - OF_AN_AUDIT - 1, String::new());
    fields.push(note);
    match &trial.audit {
        Some(note) => fields.extend(audited(note)),
        None => fields.resize(last, String::new()),
    }
    let summary = recorded.summary.as_deref();
    fields.push(summary.map_or(String::new(), uncertain));
    let range = match trial.load.as_deref().map(|load| &load.mode) {
        Some(Mode::Open { range, .. }) => *range,
        _ => None,
    };
    fields.push(or_empty(range.map(|range| range.min)));
    fields.push(or_empty(range.map(|range| range.max)));
    let offered = summary.and_then(|summary| summary.offered.as_ref());
    fields.push(or_empty(offered.map(|offered| offered.queued_at_start)));
    fields
}

/// The columns whose percentiles are uncertain, with spaces between: `response_p99_ms response_p999_ms`.
fn uncertain(summary: &Summary) -> String {
    let kinds = [
        ("response", Kind::Response),
        ("wait", Kind::Wait),
        ("service", Kind::Service),
    ];
    let named = kinds.iter().flat_map(|(name, kind)| {
        let found = summary.latency.of(*kind).into_iter();
        let uncertain = found.flat_map(|found| &found.uncertain);
        uncertain.map(move |percentile| format!("{name}_{}_ms", percentile.text()))
    });
    named.collect::<Vec<_>>().join(" ")
}

fn audited(note: &AuditNote) -> [String; OF_AN_AUDIT] {
    [
        note.acknowledged.to_string(),
        note.refused.to_string(),
        note.unknown.to_string(),
        note.unknown_kept.to_string(),
        note.lost.to_string(),
        note.ghosts.to_string(),
        note.partly_applied.to_string(),
        note.seen_but_lost.to_string(),
        or_empty(note.loss_window_s),
        note.violations.len().to_string(),
        note.failed_inputs().count().to_string(),
    ]
}

fn requested(mode: &Mode) -> [String; 4] {
    match mode {
        Mode::Closed { clients, .. } => [
            "closed".into(),
            clients.to_string(),
            String::new(),
            String::new(),
        ],
        Mode::Open { rate, workers, .. } => [
            "open".into(),
            String::new(),
            workers.to_string(),
            rate.to_string(),
        ],
    }
}

fn done(summary: &Summary) -> [String; 9] {
    let offered = summary.offered.as_ref();
    [
        or_empty(summary.throughput),
        summary.operations.to_string(),
        summary.retried.to_string(),
        summary.errors.to_string(),
        or_empty(offered.map(|offered| offered.offered)),
        or_empty(offered.map(|offered| offered.completed)),
        or_empty(offered.map(|offered| offered.dropped)),
        or_empty(offered.map(|offered| offered.queued_at_end)),
        or_empty(offered.map(|offered| u8::from(offered.unstable.is_none()))),
    ]
}

fn latency(summary: &Summary, kind: Kind) -> [String; 5] {
    let percentiles = summary.latency.of(kind);
    Percentile::ALL.map(|percentile| or_empty(percentiles.and_then(|found| found.at(percentile))))
}

fn judged(summary: &Summary) -> [String; 4] {
    let steady = &summary.steady;
    let shape = serde_json::to_value(steady.shape);
    let shape = shape
        .ok()
        .and_then(|shape| Some(shape.as_str()?.to_string()));
    [
        steady.from_s.to_string(),
        steady.until_s.to_string(),
        shape.unwrap_or_default(),
        summary.stalls.len().to_string(),
    ]
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
