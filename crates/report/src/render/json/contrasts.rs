//! The keys of a comparison: of servers in one run, and of runs.

use super::{ControlNote, FailedNote, ProgressNote, WorkNote, finite, levels};
use crate::build::ratios::contrasts::word;
use crate::document::{Comparison, Difference, DifferenceKind};
use crate::format;
use record::{BlocksUsed, Limit, Slim, Value};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use stats::{Contrast, Estimate};

/// Runs side by side.
pub fn comparison_json(comparison: &Comparison) -> String {
    let runs = comparison.runs.iter().zip(&comparison.faults);
    let runs = runs.map(|(run, faults)| RunNote {
        run: &run.id,
        experiment: &run.question.name,
        started: format::moment(run.started_ns),
        prony: &run.environment.prony_version,
        incomplete: faults.missing.map(ProgressNote::of),
        invalid: faults.invalid.len(),
        slim: run.slim.as_ref().map(SlimNote::of),
    });
    let left_out = comparison.left_out.iter().map(|row| LeftOutNote {
        run: row.run,
        row: &row.row,
        why: &row.why,
    });
    let note = ComparisonNote {
        headline: &comparison.headline,
        tolerance: comparison.tolerance,
        runs: runs.collect(),
        controls: comparison.controls.iter().map(ControlNote::of).collect(),
        differences: comparison.differences.iter().map(difference).collect(),
        comparisons: comparison.contrasts.iter().map(ContrastNote::of).collect(),
        not_compared: left_out.collect(),
    };
    let text = serde_json::to_string_pretty(&note);
    text.expect("plain data with text keys always serialises") + "\n"
}

#[derive(Serialize)]
struct ComparisonNote<'a> {
    headline: &'a str,
    tolerance: f64,
    runs: Vec<RunNote<'a>>,
    /// The controls of the runs that have one.
    controls: Vec<ControlNote>,
    differences: Vec<DifferenceNote<'a>>,
    comparisons: Vec<ContrastNote<'a>>,
    not_compared: Vec<LeftOutNote<'a>>,
}

#[derive(Serialize)]
struct RunNote<'a> {
    run: &'a str,
    experiment: &'a str,
    started: String,
    prony: &'a str,
    /// None for a complete run.
    incomplete: Option<ProgressNote>,
    /// Trials that failed or are invalid.
    invalid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    slim: Option<SlimNote<'a>>,
}

/// What a slim record says of itself.
#[derive(Serialize)]
pub(super) struct SlimNote<'a> {
    /// The prony that made it.
    prony: &'a str,
    /// The version of the rules that made its summaries.
    rules: u32,
}

impl SlimNote<'_> {
    pub(super) fn of(slim: &Slim) -> SlimNote<'_> {
        SlimNote {
            prony: &slim.prony_version,
            rules: slim.rules,
        }
    }
}

#[derive(Serialize)]
struct LeftOutNote<'a> {
    run: usize,
    row: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct DifferenceNote<'a> {
    kind: &'static str,
    what: &'a str,
    values: &'a [Option<String>],
}

fn difference(found: &Difference) -> DifferenceNote<'_> {
    DifferenceNote {
        kind: match found.kind {
            DifferenceKind::Environment => "environment",
            DifferenceKind::Experiment => "experiment",
            DifferenceKind::Data => "data",
            DifferenceKind::Setting => "setting",
        },
        what: &found.what,
        values: &found.values,
    }
}

/// One value of one cell, new against old.
#[derive(Serialize)]
pub(super) struct ContrastNote<'a> {
    old: &'a str,
    new: &'a str,
    server: Option<&'a str>,
    levels: Map<String, Json>,
    round: Option<&'a str>,
    query: Option<&'a str>,
    /// Queries that the sum of the round leaves out.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    without: &'a [String],
    /// `elapsed_s`, `throughput`, `p99_ms`
    value: String,
    /// Whether a gate tests it.
    gated: bool,
    old_value: Option<f64>,
    new_value: Option<f64>,
    /// New over old.
    ratio: Option<f64>,
    ci: Option<(Option<f64>, Option<f64>)>,
    limit: Option<Limit>,
    /// `faster`, `slower`, `equivalent`, `inconclusive`, `not available`
    verdict: &'static str,
    blocks_to_decide: Option<u32>,
    blocks: Option<BlocksUsed>,
    /// None if the same share failed on both sides.
    failed_share: Option<FailedNote<'a>>,
    /// None if the operations of both sides do the same.
    other_work: Option<WorkNote<'a>>,
    /// Why the data or the answers are not the same, in sentences; None within a run, and where they are the same.
    other_data: Option<&'a str>,
    other_answer: Option<&'a str>,
    reason: Option<&'a str>,
}

impl ContrastNote<'_> {
    pub(super) fn of(contrast: &Contrast) -> ContrastNote<'_> {
        let (subject, judged) = (&contrast.subject, &contrast.judged);
        let mean = |found: &Option<Estimate>| found.as_ref().map(|found| found.mean);
        ContrastNote {
            old: &contrast.old,
            new: &contrast.new,
            server: contrast.server.as_deref(),
            levels: levels(&contrast.levels),
            round: subject.round.as_deref(),
            query: subject.query.as_deref(),
            without: &subject.without,
            value: match &subject.value {
                Value::Throughput => "throughput".to_string(),
                Value::Latency { percentile, .. } => format!("{}_ms", percentile.text()),
                _ => "elapsed_s".to_string(),
            },
            gated: subject.decides,
            old_value: mean(&contrast.old_value),
            new_value: mean(&contrast.new_value),
            ratio: judged.measured,
            ci: judged.ci.map(|(low, high)| (Some(low), finite(high))),
            limit: judged.limit,
            verdict: word(contrast),
            blocks_to_decide: judged.blocks_to_decide,
            blocks: judged.blocks,
            failed_share: contrast.basis.failed.as_ref().map(FailedNote::of),
            other_work: contrast.basis.other_work.as_ref().map(WorkNote::of),
            other_data: contrast.basis.other_data.as_deref(),
            other_answer: contrast.basis.other_answer.as_deref(),
            reason: judged.reason.as_deref(),
        }
    }
}
