//! Tests that differences whose mechanism is known are explained by it, or not at all, on real servers at a small scale.
//!
//! `PRONY_TESTS=long cargo test -p prony --test tests causes_known -- --nocapture` runs all and prints the table of
//! bench/results/explanations.md. A busy machine changes the times, so a difference may drown in noise (silence); the direction
//! of counters is robust.
//!
//! Tiers: all, long.
#![cfg(tier_all)]

mod cases;

use crate::support::{Bench, can_limit, has};
use cases::{CASES, Case};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// Of all cases, how many must be explained.
const RIGHT_MIN: usize = 8;

/// One case measures at a time.
static MEASURING: Mutex<()> = Mutex::new(());

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Right,
    Silent,
    Wrong,
}

/// What the report says about a case.
struct Explained {
    outcome: Outcome,
    /// Throughput of `fast` over `slow`, with its interval.
    ratio: String,
    sentence: String,
}

fn experiment(case: &Case) -> String {
    let Case {
        name,
        build,
        settings,
        levels: [slow, fast],
        workload,
        clients,
        ..
    } = case;
    // With a pool for all data they are in memory from the start, however slow the disk is; a limited disk has to be read.
    let preload = settings.contains("256M") && !slow.starts_with("limits");
    format!(
        r#"
title = "{name}"
question = "Is the difference explained by its known mechanism?"

[server.one]
build = "{build}"

[settings]
{settings}
[variant.slow]
{slow}
[variant.fast]
{fast}

{workload}
[load.closed]
clients = {clients}

[protocol]
time = "4s"
warmup = "1s"
preload = {preload}
blocks = 3
control = false

[[claim]]
says = "fast is faster"
value = "throughput"
of = {{ variant = "fast" }}
to = {{ variant = "slow" }}
at_least = 1.05
"#
    )
}

/// Runs the case and reads its explanation. None if the build or its limits are not available.
fn explained(case: &Case) -> Option<Explained> {
    let is_limited = case.levels.iter().any(|level| level.starts_with("limits"));
    if !has(case.build) || is_limited && !can_limit() {
        return None;
    }
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::with_shared_snapshots();
    let file = bench.experiment("known", &experiment(case));
    let ended = bench.run(&["run", &file]);
    assert!(
        [0, 3].contains(&ended.status),
        "{}: {}",
        case.name,
        ended.stderr
    );
    let shown = bench.json(&bench.runs().pop().unwrap());
    let claim = &shown["claims"][0];
    let why = &claim["why"];
    let figure = |value: &Value| {
        value
            .as_f64()
            .map_or("-".to_string(), |x| format!("{x:.2}"))
    };
    let (measured, ci) = (figure(&claim["measured"]), &claim["ci"]);
    Some(Explained {
        outcome: outcome(case, why),
        ratio: format!("{measured} ({} to {})", figure(&ci[0]), figure(&ci[1])),
        sentence: why["sentence"].as_str().unwrap_or("").to_string(),
    })
}

/// Right needs the counter or limit of the mechanism and, where one is named, its cause; nothing unintended may be reported.
fn outcome(case: &Case, why: &Value) -> Outcome {
    let Some(explained_by) = why["explained_by"].as_str() else {
        return Outcome::Silent;
    };
    let causes = why["because"].as_array().unwrap();
    let is_known = |cause: &Value| cause.as_str().unwrap().starts_with(case.because);
    let names_it = case.explained_by.contains(&explained_by);
    let causes_it = causes.iter().all(is_known);
    let intended = why["unintended"].as_array().unwrap().is_empty();
    match names_it && causes_it && intended {
        true => Outcome::Right,
        false => Outcome::Wrong,
    }
}

/// The case must be right or silent. It prints a row of the table.
fn right_or_silent(name: &str) -> Option<Outcome> {
    let case = CASES.iter().find(|case| case.name == name).unwrap();
    let explained = explained(case)?;
    println!(
        "| {name} | {} | {:?} | {} |",
        explained.ratio, explained.outcome, explained.sentence
    );
    Some(explained.outcome)
}

fn is_not_wrong(name: &str) {
    assert_ne!(right_or_silent(name), Some(Outcome::Wrong), "{name}");
}

#[test]
fn fewer_flushes_of_the_redo_log_are_explained_by_fsyncs_or_not_at_all() {
    is_not_wrong("innodb_flush_log_at_trx_commit");
}

#[test]
fn index_condition_pushdown_is_explained_by_rows_that_are_not_read_or_not_at_all() {
    is_not_wrong("index condition pushdown");
}

#[test]
fn a_limited_disk_is_explained_by_its_limit_or_not_at_all() {
    is_not_wrong("limit read_iops");
}

#[test]
#[cfg(tier_long)]
fn known_mechanisms_are_explained_right_or_not_at_all() {
    println!(
        "| setting | throughput, fast / slow (95 % CI) | | explanation |\n| --- | --- | --- | --- |"
    );
    let outcomes = CASES
        .iter()
        .map(|case| (case.name, right_or_silent(case.name)));
    let outcomes: Vec<(&str, Option<Outcome>)> = outcomes.collect();
    let of = |wanted: Outcome| {
        let found = outcomes.iter().filter(|(_, one)| *one == Some(wanted));
        found.map(|(name, _)| *name).collect::<Vec<_>>()
    };
    assert_eq!(of(Outcome::Wrong), [""; 0]);
    let right = of(Outcome::Right);
    assert!(right.len() >= RIGHT_MIN, "right: {right:?}");
}
