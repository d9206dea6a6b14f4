//! The plans of each query: who used which, how long each took, and what differs.
//!
//! Boundaries: plans are compared in `explain::plan`.

use crate::document::{Block, Cell, Column, ColumnContent, Forms, Node, Section, Table};
use crate::{format, names};
use explain::{PlanStep, PlanTime, PlanUse, QueryPlans, RowUse, StepChange};
use record::Run;
use stats::PlanChange;

/// Queries with several plans that the terminal and Markdown show.
const QUERIES_OF_TERMINAL: usize = 3;
const QUERIES_OF_MARKDOWN: usize = 5;
/// Changed rows, and changed steps of a plan, in the terminal.
const CHANGES: usize = 10;
const STEPS: usize = 6;

/// None if no plan is recorded. The terminal shows it only where a query has several plans.
pub(crate) fn section(run: &Run, queries: &[QueryPlans]) -> Option<Section> {
    let mut ordered: Vec<&QueryPlans> = queries.iter().collect();
    ordered.sort_by_key(|query| (query.plans.len() < 2, query.changes.is_empty()));
    let several = queries.iter().filter(|query| query.plans.len() > 1).count();
    let forms = match several {
        0 => Forms::WRITTEN,
        _ => Forms::ALL,
    };
    let mut nodes = vec![Block::text(summary(queries)?).shown(forms)];
    let changes = queries.iter().flat_map(|query| &query.changes);
    let items: Vec<String> = changes.map(|change| plan_change(run, change)).collect();
    if !items.is_empty() {
        nodes.push(
            Block::Heading("Plans that changed within one row of the table".to_string())
                .everywhere(),
        );
        nodes.push(Block::list(items, CHANGES).everywhere());
    }
    for (place, query) in ordered.into_iter().enumerate() {
        let forms = match place {
            _ if place >= several => Forms::PAGE,
            0..QUERIES_OF_TERMINAL => Forms::ALL,
            QUERIES_OF_TERMINAL..QUERIES_OF_MARKDOWN => Forms::WRITTEN,
            _ => Forms::PAGE,
        };
        nodes.push(one_query(run, query).shown(forms));
    }
    for (forms, shown) in [
        (Forms::TERMINAL, QUERIES_OF_TERMINAL),
        (Forms::MARKDOWN, QUERIES_OF_MARKDOWN),
    ] {
        if several > shown {
            let more = format!(
                "More queries with several plans are in the page: {}.",
                several - shown
            );
            nodes.push(Block::remark(more).shown(forms));
        }
    }
    Section::unless_empty("plans", "Plans", nodes)
}

/// `2 of 13 queries used more than one plan: Q2.1 (2), Q3.1 (3).` None if no plan is recorded.
fn summary(queries: &[QueryPlans]) -> Option<String> {
    let several = queries.iter().filter(|query| query.plans.len() > 1);
    let several: Vec<String> = several
        .map(|query| format!("{} ({})", query.query, query.plans.len()))
        .collect();
    match (queries.len(), several.len()) {
        (0, _) => None,
        (1, 0) => Some("The query used one plan throughout.".to_string()),
        (all, 0) => Some(format!(
            "Each of the {all} queries used one plan throughout."
        )),
        (all, n) => Some(format!(
            "{n} of {all} queries used more than one plan: {}. Compare plans before times.",
            several.join(", ")
        )),
    }
}

/// `Q4.3, 5.6 · small pool: plan 6b6b6b6b 11 times; plan c0ffee00 in block 1, hot 1`
fn plan_change(run: &Run, change: &PlanChange) -> String {
    let row = names::row(run, change.server.as_deref(), &change.levels);
    let plans = change.seen.iter().map(|(hash, places)| {
        let places = match places.len() {
            1..=3 => {
                let places: Vec<&str> = places.iter().map(|place| within_row(place)).collect();
                format!("in {}", places.join(" and "))
            }
            n => format!("{n} times"),
        };
        format!("plan {} {places}", names::plan(hash))
    });
    let plans: Vec<String> = plans.collect();
    format!("{}, {row}: {}", change.query, plans.join("; "))
}

/// `block 1, hot 2` of a place in full words, whose row is already named.
fn within_row(place: &str) -> &str {
    place.rfind("block ").map_or(place, |start| &place[start..])
}

fn one_query(run: &Run, query: &QueryPlans) -> Block {
    let about = "Time of the query by plan (s): geometric mean and median over the rounds of trials that count. The other tables take the arithmetic mean of a trial's rounds.";
    let mut nodes = vec![
        Block::remark(about).page(),
        Block::table(times(run, query)).everywhere(),
    ];
    for plan in &query.plans {
        nodes.extend(one_plan(run, plan));
    }
    let plans = format::plural(query.plans.len(), "plan");
    Block::fold(format!("{}: {plans}", query.query), false, nodes)
}

/// A line for each row and kind of round that used a plan of the query.
fn times(run: &Run, query: &QueryPlans) -> Table {
    let times = query.plans.iter().flat_map(|plan| {
        let rows = plan.rows.iter();
        rows.flat_map(move |row| row.times.iter().map(move |time| (plan, row, time)))
    });
    let times: Vec<(&PlanUse, &RowUse, &PlanTime)> = times.collect();
    let decimals = format::decimals(times.iter().filter_map(|(.., time)| time.mean_s));
    let seconds =
        |value: Option<f64>| Cell::figure(value, |value| format::seconds(value, decimals));
    let cells = |(plan, row, time): (&PlanUse, &RowUse, &PlanTime)| {
        // People count from 1.
        let blocks = row.blocks.iter().map(|block| (block + 1).to_string());
        let counted = if time.seen == time.counted {
            time.counted.to_string()
        } else {
            format!("{} of {}", time.counted, time.seen)
        };
        vec![
            Cell::text(names::plan(&plan.hash)),
            Cell::text(used_by(run, row)),
            Cell::text(blocks.collect::<Vec<_>>().join(", ")),
            Cell::text(&time.round),
            Cell::text(counted),
            seconds(time.mean_s),
            seconds(time.median_s),
        ]
    };
    let columns = Column::list(&[
        (
            ColumnContent::Label,
            &["plan", "used by", "blocks", "round"],
        ),
        (
            ColumnContent::Figure,
            &["times", "geometric mean (s)", "median (s)"],
        ),
    ]);
    Table::new("", columns, times.into_iter().map(cells))
}

fn used_by(run: &Run, row: &RowUse) -> String {
    names::row(run, row.server.as_deref(), &row.levels)
}

fn one_plan(run: &Run, plan: &PlanUse) -> Vec<Node> {
    let hash = names::plan(&plan.hash);
    let mut nodes = vec![Block::text(format!("Plan {hash}")).page()];
    let body = match (&plan.steps, &plan.text) {
        (Some(steps), _) => Block::table(table_of(steps)),
        (None, Some(text)) => Block::Verbatim(text.clone()),
        (None, None) => Block::text("The record does not hold its text."),
    };
    nodes.push(body.page());
    if let (Some(against), false) = (&plan.against, plan.differs.is_empty()) {
        let against = names::plan(against);
        nodes.push(Block::text(format!("plan {hash} against plan {against}:")).everywhere());
        let items = plan.differs.iter().map(step_change).collect();
        nodes.push(Block::list(items, STEPS).everywhere());
    }
    let mut form = |name: String, text: Option<String>| {
        let text = text.map(|text| vec![Block::Verbatim(text).page()]);
        nodes.extend(text.map(|text| Block::fold(name, false, text).page()));
    };
    form(
        "As JSON, without estimates".to_string(),
        plan.json.as_deref().map(indented),
    );
    for row in &plan.rows {
        let name = format!(
            "Executed once more by {} after its last round",
            used_by(run, row)
        );
        form(name, row.analysis.clone());
    }
    nodes
}

/// `orders: key o_custkey → o_orderdate, rows 5 → 90`. With another key, `key_len` and `ref` differ too and are left out.
fn step_change(change: &StepChange) -> String {
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

/// The steps as EXPLAIN shows them, with the columns that any step has.
fn table_of(steps: &[PlanStep]) -> Table {
    let has = |head: &&str| {
        let mut cells = steps.iter().flat_map(PlanStep::cells);
        cells.any(|(name, _)| name == *head)
    };
    let heads: Vec<&str> = PlanStep::column_names().filter(has).collect();
    let cell = |step: &PlanStep, head: &str| {
        let found = step.cells().find(|(name, _)| *name == head);
        found.map_or_else(Cell::default, |(_, value)| Cell::text(value))
    };
    let rows = steps
        .iter()
        .map(|step| heads.iter().map(|head| cell(step, head)).collect());
    Table::new(
        "",
        Column::of(ColumnContent::Label, heads.iter().copied()),
        rows,
    )
}

/// Text that is not JSON stays unchanged.
fn indented(text: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(text);
    let indented = value.and_then(|value| serde_json::to_string_pretty(&value));
    indented.unwrap_or_else(|_| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_single_query_does_not_count() {
        let query = QueryPlans {
            query: "Q10".to_string(),
            plans: Vec::new(),
            changes: Vec::new(),
        };
        assert_eq!(
            summary(&[query]).unwrap(),
            "The query used one plan throughout."
        );
        assert_eq!(summary(&[]), None);
    }

    #[test]
    fn a_change_names_the_step_and_its_columns() {
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
            step_change(&changed),
            "orders: key o_custkey → o_orderdate, Extra nothing → Using MRR"
        );
        let step = PlanStep {
            table: of("part"),
            access: of("ALL"),
            ..PlanStep::default()
        };
        assert_eq!(step_change(&StepChange::Added(step)), "added: part ALL");
    }
}
