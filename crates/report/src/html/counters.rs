//! Counters side by side, for any two rows; the largest difference is chosen beforehand.

use super::rows::{Row, Rows};
use crate::{digest, why};
use explain::{Difference, Explanation};
use maud::{Markup, html};
use record::{Run, Trial};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The comparison that the page opens with.
pub struct Compared {
    explanation: Option<Explanation>,
    /// None where another section has said it.
    caveat: Option<&'static str>,
}

impl Compared {
    pub fn of(run: &Run, trials: &[Trial]) -> Compared {
        let explanation = explain::explain_largest(&run.question, trials, usize::MAX);
        let said_before = why::caveat(&why::claims(run, trials), None).is_some();
        let caveat = why::caveat(&[], explanation.as_ref());
        Compared {
            explanation,
            caveat: caveat.filter(|_| !said_before),
        }
    }
}

pub fn section(rows: &Rows, compared: &Compared) -> Markup {
    let Some(explanation) = &compared.explanation else {
        return html! {};
    };
    html! {
        section #counters-section {
            h2 { "Counters side by side" }
            p {
                "The largest difference of the table: " strong { (digest::difference(explanation)) } ". "
                "Per query, means over rounds and blocks; a counter that a server lacks is absent, not 0."
            }
            @if let Some(reason) = &explanation.why.reason {
                p { (why::sentence(reason, ("A", "B"))) "." @if let Some(caveat) = compared.caveat { " " (caveat) } }
            }
            (choice(rows, explanation))
            div.scroll.tall tabindex="0" { table #counter-table {
                thead { tr {
                    th scope="col" { "Counter" } th.n scope="col" { "A" } th.n scope="col" { "B" } th.n scope="col" { "A / B" } th scope="col" { "Meaning" }
                } }
                tbody { @for difference in &explanation.why.differences { (line(difference)) } }
            } }
            @if let Some(note) = digest::counter_note(&explanation.why) { p.quiet { (note) } }
        }
    }
}

fn choice(rows: &Rows, explanation: &Explanation) -> Markup {
    let (of, to) = (
        rows.position(&explanation.of),
        rows.position(&explanation.to),
    );
    html! {
        p { strong { "A" } " = " (name(rows, of)) br; strong { "B" } " = " (name(rows, to)) }
        form.needs-script #counter-choice autocomplete="off" {
            @for (id, chosen) in [("A", of), ("B", to)] {
                label { (id) " " select name=(id) {
                    @for (place, row) in rows.list.iter().enumerate() { option value=(place) selected[Some(place) == chosen] { (row.name) } }
                } }
            }
            label { "round " select name="round" {
                @for round in round_names(rows) { option value=(round) selected[round == explanation.round] { (round) } }
            } }
            label { "only names with " input type="search" name="filter" size="16"; }
        }
    }
}

fn name<'a>(rows: &'a Rows, place: Option<usize>) -> &'a str {
    place.map_or("", |place| &rows.list[place].name)
}

fn line(difference: &Difference) -> Markup {
    html! {
        tr.quiet[difference.beyond_noise == Some(false)] {
            th scope="row" { code { (difference.counter) } }
            td.n { (digest::counter(difference.of)) }
            td.n { (digest::counter(difference.to)) }
            td.n { (digest::counter_ratio(difference)) }
            td.words { (why::meaning(difference)) }
        }
    }
}

/// The mean of every counter per query by row and name of round, the meanings, and where rows count twice, for the page's script.
pub fn data(rows: &Rows) -> Value {
    let means: Vec<Means> = rows.list.iter().map(means).collect();
    let names: BTreeSet<&String> = means
        .iter()
        .flat_map(|row| row.values())
        .flat_map(|round| round.keys())
        .collect();
    let known = names
        .into_iter()
        .filter_map(|name| Some((name.clone(), Value::from(explain::meaning(name)?))));
    let meanings: Map<String, Value> = known.collect();
    let doubles: Vec<Value> = rows.list.iter().map(doubles).collect();
    let doubled = json!({ "counters": explain::DOUBLED_COUNTERS, "rows": doubles });
    json!({ "rows": means, "meanings": meanings, "doubled": doubled })
}

/// The names of the row's rounds in which those counters count rows twice.
fn doubles(row: &Row) -> Value {
    let names: BTreeSet<&str> = (row.trials.iter())
        .flat_map(|trial| &trial.rounds)
        .map(|round| round.name.as_str())
        .collect();
    let doubled = |name: &&str| explain::counts_rows_twice(&row.trials, name);
    names.into_iter().filter(doubled).collect()
}

type Means = BTreeMap<String, BTreeMap<String, f64>>;

/// name of round -> counter -> per query, the mean over its rounds in all blocks, but those in which a query was stopped: they were
/// counted only so far. Counters that never moved are left out by the script.
fn means(row: &Row) -> Means {
    let mut sums: BTreeMap<String, BTreeMap<String, (f64, u32)>> = BTreeMap::new();
    let rounds = row.trials.iter().flat_map(|trial| &trial.rounds);
    for round in rounds.filter(|round| !round.timed_out()) {
        let queries = round.queries.len().max(1) as f64;
        let named = sums.entry(round.name.clone()).or_default();
        for (counter, delta) in &round.counters {
            let sum = named.entry(counter.clone()).or_default();
            *sum = (sum.0 + *delta as f64 / queries, sum.1 + 1);
        }
    }
    let mean = |(counter, (sum, n)): (String, (f64, u32))| {
        (counter, (sum / f64::from(n) * 10.0).round() / 10.0)
    };
    sums.into_iter()
        .map(|(round, counters)| (round, counters.into_iter().map(mean).collect()))
        .collect()
}

fn round_names(rows: &Rows) -> BTreeSet<String> {
    let rounds = rows
        .list
        .iter()
        .flat_map(|row| &row.trials)
        .flat_map(|trial| &trial.rounds);
    rounds.map(|round| round.name.clone()).collect()
}
