//! Timed loads as CSV: one row for each trial, or one for each second.

use super::{record, state};
use ::record::stats::{self, Summary};
use ::record::{Kind, Mode, Percentile, Run, Trial};
use std::collections::BTreeSet;

const OF_A_TRIAL: [&str; 37] = [
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
];

/// Columns: `server`, one per factor, then those of `OF_A_TRIAL`. What a load does not have is empty.
pub fn trials(run: &Run, trials: &[Trial]) -> String {
    let mut text = String::new();
    let head = key_heads(run).chain(OF_A_TRIAL);
    record(&mut text, head);
    for trial in trials {
        let own = fields(trial);
        record(
            &mut text,
            key(run, trial).chain(own.iter().map(String::as_str)),
        );
    }
    text
}

/// One row for each second of each trial: `server`, one column per factor, `block`, `second`, `measured` (1 where the second
/// counts), then every series of the record by its name. From whole trials (`Store::trials_whole`).
pub fn samples(run: &Run, trials: &[Trial]) -> String {
    let loads = || {
        trials
            .iter()
            .filter_map(|trial| Some((trial, trial.load.as_deref()?)))
    };
    let names: BTreeSet<&str> = loads()
        .flat_map(|(_, load)| load.series.keys())
        .map(String::as_str)
        .collect();
    let mut text = String::new();
    let head = key_heads(run)
        .chain(["block", "second", "measured"])
        .chain(names.iter().copied());
    record(&mut text, head);
    for (trial, load) in loads() {
        let steady = stats::summary(load).steady.clone();
        let seconds = load.series.values().map(Vec::len).max().unwrap_or(0);
        for second in 0..seconds {
            let measured = (steady.from_s as usize..steady.until_s as usize).contains(&second);
            let values = names.iter().map(|name| {
                let value = load.seconds(name).get(second).copied().flatten();
                value.map_or(String::new(), |value| value.to_string())
            });
            let own: Vec<String> = [
                trial.key.block.to_string(),
                second.to_string(),
                u8::from(measured).to_string(),
            ]
            .into_iter()
            .chain(values)
            .collect();
            record(
                &mut text,
                key(run, trial).chain(own.iter().map(String::as_str)),
            );
        }
    }
    text
}

fn key_heads(run: &Run) -> impl Iterator<Item = &str> {
    let factors = run
        .question
        .factors
        .iter()
        .map(|factor| factor.name.as_str());
    std::iter::once("server").chain(factors)
}

fn key<'a>(run: &'a Run, trial: &'a Trial) -> impl Iterator<Item = &'a str> {
    let factors = run.question.factors.iter();
    let levels = factors.map(|factor| trial.key.level(&factor.name).unwrap_or_default());
    std::iter::once(trial.key.server_name()).chain(levels)
}

fn fields(trial: &Trial) -> Vec<String> {
    let mut fields = vec![trial.key.block.to_string(), state(trial.state).to_string()];
    if let Some(load) = trial.load.as_deref() {
        let summary = stats::summary(load);
        fields.extend(asked(&load.mode));
        fields.extend(done(&summary));
        fields.extend(
            [Kind::Response, Kind::Wait, Kind::Service]
                .into_iter()
                .flat_map(|kind| latency(&summary, kind)),
        );
        fields.extend(judged(&summary));
        fields.push(format!("{:.3}", summary.engine.cores));
        fields.push(or_empty(load.engine.lateness_us_p99));
    }
    let note = trial
        .flags
        .first()
        .map_or(String::new(), |flag| flag.text.clone());
    fields.resize(OF_A_TRIAL.len() - 1, String::new());
    fields.push(note);
    fields
}

fn asked(mode: &Mode) -> [String; 4] {
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
