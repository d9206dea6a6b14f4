//! The keys of a comparison: of servers in one run, and of runs.

use super::{
    control, doubts, drift, failed, finite, levels, progress, without_nulls, work, written,
};
use crate::build::ratios::contrasts::word;
use crate::document::{Comparison, Difference, DifferenceKind, Faults};
use crate::format;
use record::{Run, Slim};
use serde_json::{Value, json};
use stats::{Contrast, Drift, Estimate, LeftOut};

/// Runs side by side.
pub fn comparison_json(comparison: &Comparison) -> String {
    let runs = comparison.runs.iter().zip(&comparison.faults);
    let drifts = |drifts: &Vec<Drift>| drifts.iter().map(drift).collect::<Vec<_>>();
    written(&json!({
        "headline": &*comparison.headline,
        "tolerance": comparison.tolerance,
        "runs": runs.map(run).collect::<Vec<_>>(),
        "controls": comparison.controls.iter().map(control).collect::<Vec<_>>(),
        "drifts": comparison.drifts.iter().map(drifts).collect::<Vec<_>>(),
        "differences": comparison.differences.iter().map(difference).collect::<Vec<_>>(),
        "comparisons": comparison.contrasts.iter().map(contrast).collect::<Vec<_>>(),
        "not_compared": comparison.left_out.iter().map(left_out).collect::<Vec<_>>(),
    }))
}

fn run((run, faults): (&Run, &Faults)) -> Value {
    let keys = json!({
        "run": run.id,
        "experiment": run.question.name,
        "started": format::moment(run.started_ns),
        "prony": run.environment.prony_version,
        "incomplete": faults.missing.map(progress),
        "invalid": faults.invalid.len(),
        "slim": run.slim.as_ref().map(slim),
    });
    without_nulls(keys, &["slim"])
}

/// What a slim record says of itself: the prony that made it, and the version of the rules that made its summaries.
pub(super) fn slim(slim: &Slim) -> Value {
    json!({ "prony": slim.prony_version, "rules": slim.rules })
}

fn left_out(row: &LeftOut) -> Value {
    json!({ "run": row.run, "row": row.row, "why": row.why })
}

fn difference(found: &Difference) -> Value {
    let kind = match found.kind {
        DifferenceKind::Environment => "environment",
        DifferenceKind::Experiment => "experiment",
        DifferenceKind::Data => "data",
        DifferenceKind::Setting => "setting",
    };
    json!({ "kind": kind, "what": found.what, "values": found.values })
}

/// One value of one cell, new against old.
pub(super) fn contrast(contrast: &Contrast) -> Value {
    let (subject, judged, basis) = (&contrast.subject, &contrast.judged, &contrast.basis);
    let mean = |found: &Option<Estimate>| found.as_ref().map(|found| found.mean);
    let keys = json!({
        "old": contrast.old,
        "new": contrast.new,
        "server": contrast.server,
        "levels": levels(&contrast.levels),
        "round": subject.round,
        "query": subject.query,
        "without": (!subject.without.is_empty()).then_some(&subject.without),
        "value": subject.value.field(),
        "gated": subject.decides,
        "old_value": mean(&contrast.old_value),
        "new_value": mean(&contrast.new_value),
        "ratio": judged.measured,
        "ci": judged.ci.map(|(low, high)| (low, finite(high))),
        "limit": judged.limit,
        "verdict": word(contrast),
        "blocks_to_decide": judged.blocks_to_decide,
        "blocks": judged.blocks,
        "failed_share": basis.failed.as_ref().map(failed),
        "other_work": work(&basis.other_work),
        "other_data": basis.other_data,
        "other_answer": basis.other_answer,
        "doubts": doubts(basis),
        "reason": judged.reason,
    });
    without_nulls(keys, &["without", "doubts"])
}
