//! The plans in the JSON of a run.

use super::levels;
use explain::{PlanStep, PlanTime, PlanUse, QueryPlans, RowUse, StepChange};
use serde_json::{Value, json};
use stats::PlanChange;

pub(super) fn query(query: &QueryPlans) -> Value {
    json!({
        "query": query.query,
        "plans": query.plans.iter().map(plan).collect::<Vec<_>>(),
        "changes": query.changes.iter().map(change).collect::<Vec<_>>(),
    })
}

fn plan(plan: &PlanUse) -> Value {
    json!({
        "hash": plan.hash,
        "text": plan.text,
        "steps": plan.steps,
        "against": plan.against,
        "differs": plan.differs.iter().map(step).collect::<Vec<_>>(),
        "rows": plan.rows.iter().map(row).collect::<Vec<_>>(),
        "json": plan.json,
    })
}

/// `change` is `added`, `removed` or `changed`. Of a step that was added or removed every cell is a column.
fn step(change: &StepChange) -> Value {
    let column = |name: &str, from: Option<&str>, to: Option<&str>| json!({ "name": name, "from": from, "to": to });
    let name = |step: &PlanStep| step.table.clone().unwrap_or_default();
    let (change, step, columns): (_, _, Vec<Value>) = match change {
        StepChange::Added(step) => {
            let columns = step
                .cells()
                .map(|(name, value)| column(name, None, Some(value)));
            ("added", name(step), columns.collect())
        }
        StepChange::Removed(step) => {
            let columns = step
                .cells()
                .map(|(name, value)| column(name, Some(value), None));
            ("removed", name(step), columns.collect())
        }
        StepChange::Changed { step, columns } => {
            let columns = columns.iter();
            let columns =
                columns.map(|(name, from, to)| column(name, from.as_deref(), to.as_deref()));
            ("changed", step.clone(), columns.collect())
        }
    };
    json!({ "change": change, "step": step, "columns": columns })
}

fn row(row: &RowUse) -> Value {
    let time = |time: &PlanTime| {
        json!({
            "round": time.round,
            "seen": time.seen,
            "counted": time.counted,
            "median_s": time.median_s,
            "mean_s": time.mean_s,
        })
    };
    json!({
        "server": row.server,
        "levels": levels(&row.levels),
        "blocks": row.blocks,
        "times": row.times.iter().map(time).collect::<Vec<_>>(),
        "analysis": row.analysis,
    })
}

fn change(change: &PlanChange) -> Value {
    let seen = change.seen.iter();
    let seen = seen.map(|(hash, places)| json!({ "hash": hash, "places": places }));
    json!({
        "server": change.server,
        "levels": levels(&change.levels),
        "seen": seen.collect::<Vec<_>>(),
    })
}
