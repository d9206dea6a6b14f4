//! The plans by which each query was answered: who used which, how long each took, and what differs.

use crate::{digest, names, plans};
use explain::{PlanStep, PlanUse, QueryPlans};
use maud::{Markup, html};
use record::stats::PlanChange;
use record::{Run, Trial};

pub fn section(run: &Run, trials: &[Trial]) -> Markup {
    let queries = explain::query_plans(&run.question, trials);
    let changes: Vec<&PlanChange> = queries.iter().flat_map(|query| &query.changes).collect();
    html! {
        @if let Some(summary) = plans::summary(&queries) {
            section #plans {
                h2 { "Plans" }
                p { (summary) }
                (changed(run, &changes))
                @for query in &queries { (one_query(run, query)) }
            }
        }
    }
}

fn changed(run: &Run, changes: &[&PlanChange]) -> Markup {
    html! {
        @if !changes.is_empty() {
            h3 { "Changed within one row of the table" }
            ul { @for change in changes { li { (digest::plan_change(run, change)) } } }
        }
    }
}

fn one_query(run: &Run, query: &QueryPlans) -> Markup {
    html! {
        details {
            summary { (query.query) ": " @if query.plans.len() == 1 { "one plan" } @else { (query.plans.len()) " plans" } }
            (times(run, query))
            @for plan in &query.plans { (one_plan(run, plan)) }
        }
    }
}

fn times(run: &Run, query: &QueryPlans) -> Markup {
    let is_figure = |place: usize| place >= plans::HEADS.len() - 3;
    html! {
        p.quiet { "Seconds of the query by each plan: the geometric mean and the median over the rounds of trials that count." }
        div.scroll tabindex="0" { table {
            thead { tr { @for (place, head) in plans::HEADS.iter().enumerate() { th.n[is_figure(place)] scope="col" { (head) } } } }
            tbody { @for line in plans::lines(run, query) {
                tr { @for (place, cell) in line.iter().enumerate() { td.n[is_figure(place)] { (cell) } } }
            } }
        } }
    }
}

fn one_plan(run: &Run, plan: &PlanUse) -> Markup {
    html! {
        p { "Plan " code { (names::plan(&plan.hash)) } }
        @match (&plan.steps, &plan.text) {
            (Some(steps), _) => (table_of(steps)),
            (None, Some(text)) => pre { (text) },
            (None, None) => p { "The record does not hold its text." },
        }
        @if let Some(against) = plans::against(plan).filter(|_| !plan.differs.is_empty()) {
            p { (against) ":" }
            ul { @for change in &plan.differs { li { (plans::change(change)) } } }
        }
        (form("As JSON, without estimates", plan.json.as_deref().map(indented)))
        @for row in &plan.rows {
            (form(&format!("Executed once more by {} after its last round", plans::used_by(run, row)), row.analysis.clone()))
        }
    }
}

/// As EXPLAIN shows it, with the columns that any step has.
fn table_of(steps: &[PlanStep]) -> Markup {
    let mut heads: Vec<&str> = Vec::new();
    for (head, _) in steps.iter().flat_map(PlanStep::cells) {
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    heads.sort_by_key(|head| ORDER.iter().position(|known| known == head));
    let cell = |step: &PlanStep, head: &str| {
        let mut cells = step.cells();
        let found = cells.find(|(name, _)| *name == head);
        found.map(|(_, value)| value.to_string())
    };
    html! {
        div.scroll tabindex="0" { table {
            thead { tr { @for head in &heads { th scope="col" { (head) } } } }
            tbody { @for step in steps { tr { @for head in &heads { td { (cell(step, head).unwrap_or_default()) } } } } }
        } }
    }
}

/// EXPLAIN's columns.
const ORDER: [&str; 10] = [
    "id",
    "select_type",
    "table",
    "access",
    "key",
    "key_len",
    "ref",
    "rows",
    "filtered",
    "Extra",
];

fn form(name: &str, text: Option<String>) -> Markup {
    html! {
        @if let Some(text) = text {
            details { summary { (name) } pre { (text) } }
        }
    }
}

/// A text that is no JSON is left as it is.
fn indented(text: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(text);
    let indented = value.and_then(|value| serde_json::to_string_pretty(&value));
    indented.unwrap_or_else(|_| text.to_string())
}
