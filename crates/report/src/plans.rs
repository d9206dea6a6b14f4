//! Plans in words: who used which, what differs, how long each took.
//!
//! Goal: sentences and cells that every form of a report shares. Non-goal: comparing plans (`explain::plan`).

use crate::{format, names};
use explain::{PlanTime, PlanUse, QueryPlans, RowUse, StepChange};
use record::Run;

/// The heads of [`lines`]; the last three are figures.
pub const HEADS: [&str; 7] = [
    "plan",
    "used by",
    "blocks",
    "round",
    "times",
    "mean, s",
    "median, s",
];

/// Queries that were answered by more than one plan.
pub fn with_several(queries: &[QueryPlans]) -> impl Iterator<Item = &QueryPlans> {
    queries.iter().filter(|query| query.plans.len() > 1)
}

/// `2 of 13 queries were answered by more than one plan: Q2.1 (2), Q3.1 (3).` None where no plan is recorded.
pub fn summary(queries: &[QueryPlans]) -> Option<String> {
    let several: Vec<String> = with_several(queries)
        .map(|query| format!("{} ({})", query.query, query.plans.len()))
        .collect();
    let all = queries.len();
    match (all, several.len()) {
        (0, _) => None,
        (1, 0) => Some("The query was answered by one plan all through.".to_string()),
        (_, 0) => Some(format!(
            "Each of {all} queries was answered by one plan all through."
        )),
        (_, n) => Some(format!(
            "{n} of {all} queries were answered by more than one plan: {}. Compare plans before times.",
            several.join(", ")
        )),
    }
}

/// The first of these queries, those before the others whose plan changed within a row, and how many are left out.
pub fn foremost(queries: &[QueryPlans], most: usize) -> (Vec<&QueryPlans>, usize) {
    let mut several: Vec<&QueryPlans> = with_several(queries).collect();
    several.sort_by_key(|query| query.changes.is_empty());
    let left_out = several.len().saturating_sub(most);
    several.truncate(most);
    (several, left_out)
}

/// A line for each row and kind of round that used a plan of the query.
pub fn lines(run: &Run, query: &QueryPlans) -> Vec<[String; 7]> {
    let decimals = decimals(query);
    let line = |plan: &PlanUse, row: &RowUse, time: &PlanTime| {
        [
            names::plan(&plan.hash),
            used_by(run, row),
            blocks(row),
            time.round.clone(),
            times(time),
            seconds(time.mean_s, decimals),
            seconds(time.median_s, decimals),
        ]
    };
    let mut lines = Vec::new();
    for plan in &query.plans {
        for row in &plan.rows {
            lines.extend(row.times.iter().map(|time| line(plan, row, time)));
        }
    }
    lines
}

/// `mariadb · on: cold 1.20 s (3), hot 0.31 s (1 of 3)`: the geometric mean, and of how many times, `1 of 3` where the others
/// failed or ran into the limit. None where it was never timed.
pub fn in_short(run: &Run, query: &QueryPlans, row: &RowUse) -> Option<String> {
    let decimals = decimals(query);
    let time = |time: &PlanTime| {
        let mean = match time.mean_s {
            Some(mean_s) => format!("{} s", format::seconds(mean_s, decimals)),
            None => "no time".to_string(),
        };
        format!("{} {mean} ({})", time.round, times(time))
    };
    let times: Vec<String> = row.times.iter().map(time).collect();
    (!times.is_empty()).then(|| format!("{}: {}", used_by(run, row), times.join(", ")))
}

/// `mariadb · on`
pub fn used_by(run: &Run, row: &RowUse) -> String {
    names::row(&run.question, row.server.as_deref(), &row.levels)
}

/// From 1, as people count.
fn blocks(row: &RowUse) -> String {
    let blocks = row.blocks.iter().map(|block| (block + 1).to_string());
    blocks.collect::<Vec<_>>().join(", ")
}

/// How many times count, of how many it was seen.
fn times(time: &PlanTime) -> String {
    match time.seen == time.counted {
        true => time.counted.to_string(),
        false => format!("{} of {}", time.counted, time.seen),
    }
}

fn decimals(query: &QueryPlans) -> usize {
    let rows = query.plans.iter().flat_map(|plan| &plan.rows);
    let times = rows.flat_map(|row| &row.times);
    format::decimals(times.filter_map(|time| time.mean_s))
}

fn seconds(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_string(), |value| format::seconds(value, decimals))
}

/// `plan c0ffee00 against plan 6b6b6b6b`; None for the query's first plan.
pub fn against(plan: &PlanUse) -> Option<String> {
    let other = names::plan(plan.against.as_ref()?);
    Some(format!(
        "plan {} against plan {other}",
        names::plan(&plan.hash)
    ))
}

/// `orders: key o_custkey → o_orderdate, rows 5 → 90`. With another key its length and what it is compared with are others
/// too, and not told.
pub fn change(change: &StepChange) -> String {
    let (step, columns) = match change {
        StepChange::Added(step) => return format!("added: {step}"),
        StepChange::Removed(step) => return format!("removed: {step}"),
        StepChange::Changed { step, columns } => (step, columns),
    };
    let value = |value: &Option<String>| value.clone().unwrap_or("nothing".to_string());
    let another_key = columns.iter().any(|(name, ..)| *name == "key");
    let columns = columns
        .iter()
        .filter(|(name, ..)| !(another_key && matches!(*name, "key_len" | "ref")))
        .map(|(name, from, to)| format!("{name} {} → {}", value(from), value(to)));
    format!("{step}: {}", columns.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_query_is_not_counted() {
        let query = QueryPlans {
            query: "Q10".to_string(),
            plans: Vec::new(),
            changes: Vec::new(),
        };
        assert_eq!(
            summary(&[query]).unwrap(),
            "The query was answered by one plan all through."
        );
    }

    use explain::PlanStep;

    #[test]
    fn a_change_names_the_step_and_what_of_it() {
        let of = |text: &str| Some(text.to_string());
        let changed = StepChange::Changed {
            step: "orders".to_string(),
            columns: vec![
                ("key", of("o_custkey"), of("o_orderdate")),
                ("key_len", of("4"), of("3")),
                ("Extra", None, of("Using MRR")),
            ],
        };
        assert_eq!(
            change(&changed),
            "orders: key o_custkey → o_orderdate, Extra nothing → Using MRR"
        );
        let step = PlanStep {
            table: of("part"),
            access: of("ALL"),
            ..PlanStep::default()
        };
        assert_eq!(change(&StepChange::Added(step)), "added: part ALL");
    }

    #[test]
    fn a_run_without_plans_says_nothing_of_them() {
        assert_eq!(summary(&[]), None);
    }
}
