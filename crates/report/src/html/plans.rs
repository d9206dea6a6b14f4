//! The plans by which each query was answered: who used which, and where one changed.

use crate::{digest, names};
use maud::{Markup, html};
use record::stats::{self, PlanChange};
use record::{Run, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// One plan of one query.
#[derive(Default)]
struct Seen<'a> {
    text: &'a str,
    rows: Vec<String>,
}

pub fn section(run: &Run, trials: &[Trial]) -> Markup {
    let queries: Vec<_> = run
        .question
        .workload
        .operations
        .iter()
        .map(|query| (query, plans(run, query, trials)))
        .collect();
    let differing = queries.iter().filter(|(_, plans)| plans.len() > 1).count();
    let changes = stats::plan_changes(&run.question, trials);
    html! {
        @if queries.iter().any(|(_, plans)| !plans.is_empty()) {
            section #plans {
                h2 { "Plans" }
                p { (differing) " of " (queries.len()) " queries were answered by more than one plan. Compare plans before times." }
                (changed(run, &changes))
                @for (query, plans) in &queries { @if !plans.is_empty() { (one_query(query, plans)) } }
            }
        }
    }
}

fn changed(run: &Run, changes: &[PlanChange]) -> Markup {
    html! {
        @if !changes.is_empty() {
            h3 { "Changed within one row of the table" }
            ul { @for change in changes { li { (digest::plan_change(run, change)) } } }
        }
    }
}

fn one_query(query: &str, plans: &BTreeMap<&str, Seen>) -> Markup {
    html! {
        details {
            summary { (query) ": " @if plans.len() == 1 { "one plan" } @else { (plans.len()) " plans" } }
            @for (hash, seen) in plans {
                p { "Plan " code { (names::plan(hash)) } ": " (seen.rows.join("; ")) }
                pre { (seen.text) }
            }
        }
    }
}

/// hash -> text and the rows that used it.
fn plans<'a>(run: &Run, query: &str, trials: &'a [Trial]) -> BTreeMap<&'a str, Seen<'a>> {
    let mut found: BTreeMap<&str, Seen> = BTreeMap::new();
    for trial in trials {
        let asked = trial
            .rounds
            .iter()
            .flat_map(|round| &round.queries)
            .filter(|asked| asked.name == query);
        let hashes: BTreeSet<&str> = asked
            .filter_map(|asked| asked.plan_hash.as_deref())
            .collect();
        for hash in hashes {
            let seen = found.entry(hash).or_default();
            seen.text = trial
                .plans
                .get(hash)
                .map_or("The record does not hold its text.", String::as_str);
            let name = names::row(&run.question, &trial.key.server, &trial.key.levels);
            if !seen.rows.contains(&name) {
                seen.rows.push(name);
            }
        }
    }
    found
}
