//! The keys of a trial with a timed load.
//!
//! Purpose: a value for each key, null where the load has none. Boundaries: series of the server's counters are in `csv::samples`.

use record::{
    Account, Conformance, Conforming, Counters, EngineNote, Latency, LatencyKind, LevelShift,
    Loaded, Mode, Percentiles, Period, StaleReads, Stall, Summary,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Milliseconds; null where fewer than ten operations lie above a percentile.
pub(super) fn latency(latency: &Latency, kind: LatencyKind) -> Option<Value> {
    let found = latency.of(kind)?;
    Some(json!({
        "p50": found.p50_ms,
        "p95": found.p95_ms,
        "p99": found.p99_ms,
        "p999": found.p999_ms,
        "max": found.max_ms,
        "uncertain": found.uncertain,
        "mean": found.mean_ms,
    }))
}

/// What only timed loads have; all null, or empty, for rounds.
#[derive(Default, Serialize)]
pub(super) struct LoadNote<'a> {
    load: Option<&'a Mode>,
    wait_ms: Option<Value>,
    service_ms: Option<Value>,
    failed_ms: Option<Value>,
    offered: Option<f64>,
    completed: Option<f64>,
    queued_at_end: Option<u64>,
    queued_at_start: Option<u64>,
    dropped: Option<u64>,
    stable: Option<bool>,
    unstable: Option<String>,
    steady: Option<Value>,
    /// The standard deviation of the throughput of single seconds as a share of its mean.
    variation: Option<f64>,
    retried: Option<u64>,
    errors_by_code: BTreeMap<u16, u64>,
    by_operation: Vec<Value>,
    counted: Option<Value>,
    stalls: Vec<Stall>,
    level_shifts: Vec<LevelShift>,
    period: Option<Period>,
    engine: Option<EngineFields<'a>>,
    counters: Option<&'a Counters>,
    operations_counted: Option<u64>,
    unknown: Option<u64>,
    stale_reads: Option<StaleReads>,
}

#[derive(Serialize)]
struct EngineFields<'a> {
    #[serde(flatten)]
    note: &'a EngineNote,
    cores_used: f64,
    cpu_share: f64,
    limit: Option<String>,
    invalid: Option<String>,
    lateness: Option<String>,
}

/// One second.
#[derive(Serialize)]
pub(super) struct Sample {
    second: usize,
    /// Whether it counts: after the warm-up, and whole.
    measured: bool,
    throughput: Option<f64>,
    errors: Option<f64>,
    retried: Option<f64>,
    dropped: Option<f64>,
    queued: Option<f64>,
    running: Option<f64>,
    idle: Option<f64>,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
}

impl<'a> LoadNote<'a> {
    pub(super) fn from_load(load: &'a Loaded, summary: &Summary) -> LoadNote<'a> {
        let offered = summary.offered.as_ref();
        LoadNote {
            load: Some(&load.mode),
            wait_ms: latency(&summary.latency, LatencyKind::Wait),
            service_ms: latency(&summary.latency, LatencyKind::Service),
            failed_ms: latency(&summary.latency, LatencyKind::Failed),
            offered: offered.map(|offered| offered.offered),
            completed: offered.map(|offered| offered.completed),
            queued_at_end: offered.map(|offered| offered.queued_at_end),
            queued_at_start: offered.map(|offered| offered.queued_at_start),
            dropped: offered.map(|offered| offered.dropped),
            stable: offered.map(|offered| offered.unstable.is_none()),
            unstable: offered.and_then(|offered| offered.unstable.clone()),
            steady: Some(steady(summary)),
            variation: summary.variation,
            retried: Some(summary.retried),
            unknown: Some(summary.unknown),
            errors_by_code: errors_by_code(load, summary),
            by_operation: operations(summary),
            counted: summary.conformance.as_ref().map(counted),
            stalls: summary.stalls.clone(),
            level_shifts: summary.shifts.clone(),
            period: summary.period.clone(),
            engine: Some(EngineFields {
                note: &load.engine,
                cores_used: summary.engine.cores,
                cpu_share: summary.engine.share,
                limit: summary.engine.limit.clone(),
                invalid: summary.engine.invalid.clone(),
                lateness: summary.engine.note.clone(),
            }),
            counters: Some(&load.counters),
            operations_counted: Some(summary.operations_counted),
            stale_reads: summary.stale_reads.clone(),
        }
    }
}

fn steady(summary: &Summary) -> Value {
    let steady = &summary.steady;
    json!({
        "shown": steady.shape.is_steady(),
        "shape": steady.shape,
        "from_s": steady.from_s,
        "until_s": steady.until_s,
        "reason": steady.reason,
    })
}

/// The figure of the benchmark's standard.
fn counted(found: &Conformance) -> Value {
    json!({
        "operation": found.counted,
        "per_second": found.rate,
        "per_minute": found.rate.map(|rate| rate * 60.0),
        "per_minute_name": found.per_minute,
    })
}

/// Every operation, also one that never completed.
fn operations(summary: &Summary) -> Vec<Value> {
    let required = summary.conformance.as_ref();
    let required: &[Conforming] = required.map_or(&[], |conformance| &conformance.operations);
    let accounts = summary.accounts.iter();
    accounts
        .map(|account| operation(account, summary, required))
        .collect()
}

fn operation(account: &Account, summary: &Summary, required: &[Conforming]) -> Value {
    let name = account.name.as_str();
    let mut known = summary.by_operation.iter();
    let own = known.find(|(known, _)| known == name);
    let of = |kind| own.and_then(|(_, own)| latency(own, kind));
    let required = required.iter().find(|required| required.name == name);
    json!({
        "name": name,
        "latency_ms": of(LatencyKind::Response),
        "wait_ms": of(LatencyKind::Wait),
        "service_ms": of(LatencyKind::Service),
        "failed_ms": of(LatencyKind::Failed),
        "count": required.map_or(account.done, |required| required.count),
        "share": required.and_then(|required| required.share),
        "minimum_share": required.and_then(|required| required.minimum_share),
        "p90_ms": required.and_then(|required| required.p90_ms),
        "limit_ms": required.map(|required| required.limit_ms),
        "limit_met": required.and_then(Conforming::limit_met),
        "starts": account.starts,
        "ends": account.ends,
        "unfinished": account.unfinished,
        "errors": account.errors,
        "errors_by_code": account.errors_by_code,
    })
}

/// The errors in the measured part and after it, by code.
pub(super) fn errors_by_code(load: &Loaded, summary: &Summary) -> BTreeMap<u16, u64> {
    let measured = summary.steady.from_s..;
    let mut codes = BTreeMap::new();
    for error in load
        .errors
        .iter()
        .filter(|error| measured.contains(&error.second))
    {
        *codes.entry(error.code).or_default() += error.count;
    }
    codes
}

/// Every second of the load, from whole trials; none of a trial that was read without its series.
pub(super) fn samples(load: &Loaded, summary: &Summary) -> Vec<Sample> {
    let mut percentiles: BTreeMap<u32, Percentiles> = BTreeMap::new();
    let each_second = load.histograms.iter().filter(|note| {
        note.operation.is_none() && note.kind == LatencyKind::Response && note.every_s == 1
    });
    for note in each_second {
        if let Some(found) = stats::percentiles(&note.nanoseconds.unpack()) {
            percentiles.insert(note.start_s, found);
        }
    }
    let measured = summary.steady.from_s as usize..summary.steady.until_s as usize;
    (0..load.seconds("throughput").len())
        .map(|second| {
            let found = percentiles.get(&(second as u32));
            Sample {
                second,
                measured: measured.contains(&second),
                throughput: load.done(second),
                errors: load.at("errors", second),
                retried: load.at("retried", second),
                dropped: load.at("dropped", second),
                queued: load.at("queued", second),
                running: load.at("running", second),
                idle: load.at("idle", second),
                p50_ms: found.and_then(|found| found.p50_ms),
                p95_ms: found.and_then(|found| found.p95_ms),
                p99_ms: found.and_then(|found| found.p99_ms),
                max_ms: found.map(|found| found.max_ms),
            }
        })
        .collect()
}
