//! The plans in the JSON of a run.

use super::levels;
use explain::{PlanStep, PlanTime, PlanUse, QueryPlans, RowUse, StepChange};
use record::stats::PlanChange;
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub struct QueryNote<'a> {
    query: &'a str,
    plans: Vec<PlanNote<'a>>,
    changes: Vec<ChangeNote<'a>>,
}

#[derive(Serialize)]
struct PlanNote<'a> {
    hash: &'a str,
    text: Option<&'a str>,
    steps: Option<&'a [PlanStep]>,
    against: Option<&'a str>,
    differs: Vec<StepNote<'a>>,
    rows: Vec<RowNote<'a>>,
    json: Option<&'a str>,
}

/// `change` is `added`, `removed` or `changed`.
#[derive(Serialize)]
struct StepNote<'a> {
    change: &'static str,
    step: &'a str,
    columns: Vec<ColumnNote<'a>>,
}

#[derive(Serialize)]
struct ColumnNote<'a> {
    name: &'static str,
    from: Option<&'a str>,
    to: Option<&'a str>,
}

#[derive(Serialize)]
struct RowNote<'a> {
    server: Option<&'a str>,
    levels: Map<String, Value>,
    blocks: &'a [u32],
    times: Vec<TimeNote<'a>>,
    analysis: Option<&'a str>,
}

#[derive(Serialize)]
struct TimeNote<'a> {
    round: &'a str,
    seen: usize,
    counted: usize,
    median_s: Option<f64>,
    mean_s: Option<f64>,
}

#[derive(Serialize)]
struct ChangeNote<'a> {
    server: Option<&'a str>,
    levels: Map<String, Value>,
    seen: Vec<SeenNote<'a>>,
}

#[derive(Serialize)]
struct SeenNote<'a> {
    hash: &'a str,
    places: &'a [String],
}

pub fn query(query: &QueryPlans) -> QueryNote<'_> {
    QueryNote {
        query: &query.query,
        plans: query.plans.iter().map(plan).collect(),
        changes: query.changes.iter().map(change).collect(),
    }
}

fn plan(plan: &PlanUse) -> PlanNote<'_> {
    PlanNote {
        hash: &plan.hash,
        text: plan.text.as_deref(),
        steps: plan.steps.as_deref(),
        against: plan.against.as_deref(),
        differs: plan.differs.iter().map(step).collect(),
        rows: plan.rows.iter().map(row).collect(),
        json: plan.json.as_deref(),
    }
}

fn step(change: &StepChange) -> StepNote<'_> {
    let column = |name, from, to| ColumnNote { name, from, to };
    match change {
        StepChange::Added(added) => StepNote {
            change: "added",
            step: added.table.as_deref().unwrap_or_default(),
            columns: (added.cells())
                .map(|(name, value)| column(name, None, Some(value)))
                .collect(),
        },
        StepChange::Removed(removed) => StepNote {
            change: "removed",
            step: removed.table.as_deref().unwrap_or_default(),
            columns: (removed.cells())
                .map(|(name, value)| column(name, Some(value), None))
                .collect(),
        },
        StepChange::Changed { step, columns } => StepNote {
            change: "changed",
            step,
            columns: (columns.iter())
                .map(|(name, from, to)| column(name, from.as_deref(), to.as_deref()))
                .collect(),
        },
    }
}

fn row(row: &RowUse) -> RowNote<'_> {
    RowNote {
        server: row.server.as_deref(),
        levels: levels(&row.levels),
        blocks: &row.blocks,
        times: row.times.iter().map(self::time).collect(),
        analysis: row.analysis.as_deref(),
    }
}

fn time(time: &PlanTime) -> TimeNote<'_> {
    TimeNote {
        round: &time.round,
        seen: time.seen,
        counted: time.counted,
        median_s: time.median_s,
        mean_s: time.mean_s,
    }
}

fn change(change: &PlanChange) -> ChangeNote<'_> {
    let seen = change.seen.iter();
    ChangeNote {
        server: change.server.as_deref(),
        levels: levels(&change.levels),
        seen: seen
            .map(|(hash, places)| SeenNote { hash, places })
            .collect(),
    }
}
