//! A run as JSON: the contract for scripts, described in docs/JSON.md.
//!
//! Purpose: keys and nesting that never change their meaning. A value that this kind of load does not have is null, not left out.

mod audit;
mod claims;
mod contrasts;
mod load;
mod looks;
mod plans;
mod why;

pub use contrasts::comparison_json;

use super::csv;
use crate::document::{Document, Recorded};
use load::{LoadNote, Sample};
use record::names::{DEVICE_READ, SERVER_READ};
use record::{
    Coldness, Counters, DatasetNote, Environment, EventNote, Flag, LatencyKind, LimitNote, Role,
    Run, Sharing, Trial, TrialState,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use stats::{Basis, Control, Drift, FailedShares, OtherWork, Progress};
use std::collections::BTreeMap;

/// The version of the keys in docs/JSON.md. A key that is added leaves it; one that changes its meaning or goes raises it.
const SCHEMA_VERSION: u32 = 1;

/// The queries' counters and the seconds of timed loads are in it where the trials were read whole.
pub fn json(document: &Document) -> String {
    let run = document.run;
    let note = RunNote {
        schema_version: SCHEMA_VERSION,
        run_id: &run.id,
        seed: run.seed,
        experiment: &run.question.name,
        valid: document.valid,
        incomplete: document.faults.missing.map(progress),
        environment: &run.environment,
        sharing: run.sharing.as_ref(),
        slim: run.slim.as_ref().map(contrasts::slim),
        trials: (document.trials.iter().chain(&document.controls))
            .map(|recorded| trial(run, recorded))
            .collect(),
        claims: document.claims.iter().map(claims::claim).collect(),
        blocks: document.blocks.as_ref().map(looks::blocks),
        caveat: document.caveat,
        largest_difference: document.largest.as_ref().map(why::largest),
        plans: document.plans.iter().map(plans::query).collect(),
        comparisons: document.contrasts.iter().map(contrasts::contrast).collect(),
        control: document.control.as_ref().map(control),
        drifts: document.drifts.iter().map(drift).collect(),
        headline: &document.headline,
    };
    written(&note)
}

#[derive(Serialize)]
struct RunNote<'a> {
    schema_version: u32,
    /// The name of the run's folder.
    run_id: &'a str,
    seed: u64,
    experiment: &'a str,
    valid: bool,
    /// How far a run is that was interrupted; None for a complete one.
    incomplete: Option<Value>,
    environment: &'a Environment,
    /// Set if several machines share the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing: Option<&'a Sharing>,
    /// Set if the record is slim: it has no seconds, so the samples of its trials are empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    slim: Option<Value>,
    /// All trials; those of the control are last.
    trials: Vec<TrialNote<'a>>,
    claims: Vec<Value>,
    /// None for a fixed number of blocks.
    blocks: Option<Value>,
    /// A warning to readers of the explanations.
    caveat: Option<&'static str>,
    largest_difference: Option<Value>,
    /// The plans of each query; empty for timed loads.
    plans: Vec<Value>,
    /// The servers against the first one, if there are no claims.
    comparisons: Vec<Value>,
    control: Option<Value>,
    /// Queries whose hot rounds have no level.
    drifts: Vec<Value>,
    /// The answer in a sentence or two.
    headline: &'a str,
}

/// How far a run is.
fn progress(progress: Progress) -> Value {
    json!({ "recorded": progress.recorded, "planned": progress.planned })
}

/// Shares of failed operations that differ, from 0 to 1. Without an operation: all of the mix.
fn failed(shares: &FailedShares) -> Value {
    let keys = json!({ "operation": shares.operation, "row": shares.row, "old": shares.old, "new": shares.new });
    without_nulls(keys, &["row"])
}

/// The first operation that does other work on one side.
fn work(all: &[OtherWork]) -> Option<Value> {
    let work = all.iter().find(|work| work.is_named())?;
    let (operation, what) = (&work.operation, work.word());
    Some(json!({ "operation": operation, "what": what, "old": work.old, "new": work.new }))
}

/// What keeps a strict gate from passing although the figures are decided, in sentences; None without a doubt.
fn doubts(basis: &Basis) -> Option<Vec<&str>> {
    let all = [
        &basis.clients_limit,
        &basis.other_tables,
        &basis.one_sided,
        &basis.hidden,
    ];
    let all: Vec<&str> = all.into_iter().flatten().map(String::as_str).collect();
    (!all.is_empty()).then_some(all)
}

/// The A/A control.
fn control(control: &Control) -> Value {
    let figure = control.figure.as_ref().ok();
    json!({
        "measured": figure.map(|twice| twice.measured),
        "ci": figure.and_then(|twice| twice.ci),
        "differs": figure.is_some_and(|twice| twice.is_bad()),
    })
}

/// The last hot round of a query over the first.
fn drift(drift: &Drift) -> Value {
    let (first, last) = drift.rounds;
    json!({
        "query": drift.query,
        "server": drift.server,
        "levels": levels(&drift.levels),
        "first": first,
        "last": last,
        "ratio": drift.ratio,
        "trials": drift.trials,
    })
}

#[derive(Serialize)]
struct TrialNote<'a> {
    server: Option<&'a str>,
    variant: Option<&'a str>,
    levels: Map<String, Value>,
    block: u32,
    state: TrialState,
    rounds: Vec<RoundNote<'a>>,
    /// Throughput (ops/s): in rounds over the time that they took, else over the measured part.
    throughput: Option<f64>,
    /// A load of queries in rounds has too few operations for percentiles.
    latency_ms: Option<Value>,
    samples: Vec<Sample>,
    operations: u64,
    errors: u64,
    flags: &'a [Flag],
    limits: &'a [LimitNote],
    events: Vec<Event<'a>>,
    audit: Option<Value>,
    #[serde(flatten)]
    timed: LoadNote<'a>,
    dataset: Option<&'a DatasetNote>,
    /// The version as the build or the server reports it.
    server_version: Option<&'a str>,
    /// Where second 0 of the samples begins, in seconds after the start of the trial; None for rounds.
    load_started_s: Option<f64>,
    role: Role,
}

#[derive(Serialize)]
struct RoundNote<'a> {
    name: &'a str,
    index: u32,
    /// None if a query failed: the sum would lack it.
    elapsed_s: Option<f64>,
    timed_out: bool,
    coldness: Option<&'a Coldness>,
    queries: Vec<QueryNote<'a>>,
    clients: u32,
    queries_per_hour: Option<f64>,
    counters: &'a Counters,
}

#[derive(Serialize)]
struct QueryNote<'a> {
    name: &'a str,
    elapsed_s: Option<f64>,
    timed_out_s: Option<f64>,
    rows: u64,
    answer: &'static str,
    plan_hash: Option<&'a str>,
    counters: &'a Counters,
    client: u32,
    /// Bytes read by the server's process, or else by all processes; null where neither is known.
    disk_read_bytes: Option<i64>,
}

/// An event during the load, with what was measured of it.
#[derive(Serialize)]
struct Event<'a> {
    /// Seconds after the start of the trial.
    at_s: f64,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u32>,
    /// What was measured of it, by names that end in their unit.
    #[serde(flatten)]
    numbers: &'a BTreeMap<String, f64>,
    text: &'a str,
}

impl Event<'_> {
    fn from_note(event: &EventNote, started_ns: i64) -> Event<'_> {
        let after_s = |at_ns: i64| (at_ns - started_ns) as f64 / 1e9;
        Event {
            at_s: after_s(event.at_ns),
            kind: &event.kind,
            ended_s: event.ended_ns.map(after_s),
            node: event.node,
            numbers: &event.numbers,
            text: &event.text,
        }
    }
}

fn trial<'a>(run: &'a Run, recorded: &'a Recorded) -> TrialNote<'a> {
    let trial = recorded.trial;
    let identity = run.environment.servers.get(trial.key.server_name());
    let note = TrialNote {
        server_version: identity.map(|identity| identity.version.as_str()),
        ..in_rounds(trial)
    };
    let (Some(load), Some(summary)) = (trial.load.as_deref(), recorded.summary.as_deref()) else {
        return note;
    };
    TrialNote {
        throughput: summary.throughput,
        latency_ms: load::latency(&summary.latency, LatencyKind::Response),
        samples: load::samples(load, summary),
        operations: summary.operations,
        errors: summary.errors,
        load_started_s: Some((load.started_ns - trial.started_ns) as f64 / 1e9),
        timed: LoadNote::from_load(load, summary),
        ..note
    }
}

fn in_rounds(trial: &Trial) -> TrialNote<'_> {
    let rounds: Vec<RoundNote> = trial.rounds.iter().map(round).collect();
    let queries = || rounds.iter().flat_map(|round| &round.queries);
    let operations = queries().filter(|query| query.elapsed_s.is_some()).count();
    let elapsed_s: f64 = if trial.rounds.iter().any(|round| round.clients() > 1) {
        rounds.iter().filter_map(|round| round.elapsed_s).sum()
    } else {
        queries().filter_map(|query| query.elapsed_s).sum()
    };
    // Its time is unknown, and leaving it out would bias the result.
    let has_timed_out = trial.rounds.iter().any(record::Round::timed_out);
    TrialNote {
        role: trial.key.role,
        server: trial.key.server.as_deref(),
        variant: trial.key.level("variant"),
        levels: levels(&trial.key.levels),
        block: trial.key.block,
        state: trial.state,
        dataset: trial.dataset.as_ref(),
        server_version: None,
        throughput: (elapsed_s > 0.0 && !has_timed_out).then(|| operations as f64 / elapsed_s),
        latency_ms: None,
        samples: Vec::new(),
        operations: operations as u64,
        errors: (queries().count() - operations) as u64,
        flags: &trial.flags,
        limits: &trial.limits,
        events: trial
            .events
            .iter()
            .map(|event| Event::from_note(event, trial.started_ns))
            .collect(),
        load_started_s: None,
        audit: trial.audit.as_ref().map(audit::audit),
        timed: LoadNote::default(),
        rounds,
    }
}

/// The levels, in the file's order of factors.
fn levels(levels: &[(String, String)]) -> Map<String, Value> {
    levels
        .iter()
        .map(|(factor, level)| (factor.clone(), level.clone().into()))
        .collect()
}

fn round(round: &record::Round) -> RoundNote<'_> {
    let queries = round.queries.iter().map(|query| QueryNote {
        name: &query.name,
        client: query.client,
        elapsed_s: query
            .error
            .is_none()
            .then_some(query.elapsed_ns as f64 / 1e9),
        timed_out_s: query.timed_out_s(),
        rows: query.rows,
        answer: csv::answer(query.answer),
        plan_hash: query.plan_hash.as_deref(),
        counters: &query.counters,
        disk_read_bytes: [SERVER_READ, DEVICE_READ]
            .into_iter()
            .find_map(|name| query.counters.get(name).copied()),
    });
    RoundNote {
        name: &round.name,
        index: round.index,
        elapsed_s: (!round.lacks_queries()).then_some(round.elapsed_s),
        timed_out: round.timed_out(),
        clients: round.clients(),
        queries_per_hour: round.queries_per_hour(),
        coldness: round.coldness.as_ref(),
        queries: queries.collect(),
        counters: &round.counters,
    }
}

/// The upper end of an interval; none if it is open.
fn finite(high: f64) -> Option<f64> {
    Some(high).filter(|high| high.is_finite())
}

fn written(keys: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(keys);
    text.expect("plain data with text keys always serialises") + "\n"
}

/// The object without those of these keys that are null.
fn without_nulls(mut object: Value, keys: &[&str]) -> Value {
    if let Value::Object(all) = &mut object {
        all.retain(|key, value| !value.is_null() || !keys.contains(&key.as_str()));
    }
    object
}
