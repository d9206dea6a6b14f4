//! The plans in the JSON of a run.

use super::levels;
use explain::{PlanStep, PlanTime, PlanUse, RowUse, StepChange};
use record::stats::PlanChange;
use record::{Run, Trial};
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub struct QueryNote {
    query: String,
    plans: Vec<PlanNote>,
    changes: Vec<ChangeNote>,
}

#[derive(Serialize)]
struct PlanNote {
    hash: String,
    text: Option<String>,
    steps: Option<Vec<PlanStep>>,
    against: Option<String>,
    differs: Vec<StepNote>,
    rows: Vec<RowNote>,
    json: Option<String>,
}

/// `change` is `added`, `removed` or `changed`.
#[derive(Serialize)]
struct StepNote {
    change: &'static str,
    step: String,
    columns: Vec<ColumnNote>,
}

#[derive(Serialize)]
struct ColumnNote {
    name: &'static str,
    from: Option<String>,
    to: Option<String>,
}

#[derive(Serialize)]
struct RowNote {
    server: Option<String>,
    levels: Map<String, Value>,
    blocks: Vec<u32>,
    times: Vec<TimeNote>,
    analysis: Option<String>,
}

#[derive(Serialize)]
struct TimeNote {
    round: String,
    seen: usize,
    counted: usize,
    median_s: Option<f64>,
    mean_s: Option<f64>,
}

#[derive(Serialize)]
struct ChangeNote {
    server: Option<String>,
    levels: Map<String, Value>,
    seen: Vec<SeenNote>,
}

#[derive(Serialize)]
struct SeenNote {
    hash: String,
    places: Vec<String>,
}

pub fn notes(run: &Run, trials: &[Trial]) -> Vec<QueryNote> {
    let queries = explain::query_plans(&run.question, trials).into_iter();
    queries
        .map(|query| QueryNote {
            query: query.query,
            plans: query.plans.into_iter().map(plan).collect(),
            changes: query.changes.into_iter().map(change).collect(),
        })
        .collect()
}

fn plan(plan: PlanUse) -> PlanNote {
    PlanNote {
        hash: plan.hash,
        text: plan.text,
        steps: plan.steps,
        against: plan.against,
        differs: plan.differs.into_iter().map(step).collect(),
        rows: plan.rows.into_iter().map(row).collect(),
        json: plan.json,
    }
}

/// Of a step that came or went every cell is a column.
fn step(change: StepChange) -> StepNote {
    let cells = |step: &PlanStep| -> Vec<(&'static str, String)> {
        step.cells()
            .map(|(name, value)| (name, value.to_string()))
            .collect()
    };
    let name = |step: &PlanStep| step.table.clone().unwrap_or_default();
    let column = |name, from, to| ColumnNote { name, from, to };
    match change {
        StepChange::Added(added) => StepNote {
            change: "added",
            step: name(&added),
            columns: cells(&added)
                .into_iter()
                .map(|(name, value)| column(name, None, Some(value)))
                .collect(),
        },
        StepChange::Removed(removed) => StepNote {
            change: "removed",
            step: name(&removed),
            columns: cells(&removed)
                .into_iter()
                .map(|(name, value)| column(name, Some(value), None))
                .collect(),
        },
        StepChange::Changed { step, columns } => StepNote {
            change: "changed",
            step,
            columns: columns
                .into_iter()
                .map(|(name, from, to)| column(name, from, to))
                .collect(),
        },
    }
}

fn row(row: RowUse) -> RowNote {
    let time = |time: PlanTime| TimeNote {
        round: time.round,
        seen: time.seen,
        counted: time.counted,
        median_s: time.median_s,
        mean_s: time.mean_s,
    };
    RowNote {
        server: row.server,
        levels: levels(&row.levels),
        blocks: row.blocks,
        times: row.times.into_iter().map(time).collect(),
        analysis: row.analysis,
    }
}

fn change(change: PlanChange) -> ChangeNote {
    let seen = change.seen.into_iter();
    ChangeNote {
        server: change.server,
        levels: levels(&change.levels),
        seen: seen
            .map(|(hash, places)| SeenNote { hash, places })
            .collect(),
    }
}
