//! The counters of the two rows that differ most; on the page of any two rows.

use super::headline::slower;
use super::rows::{Row, Rows};
use super::{Context, Detail};
use crate::document::{
    Block, Cell, Column, ColumnContent, Compare, Document, Forms, Most, Node, Section, Table,
};
use crate::{format, why};
use explain::{Difference, Explanation, Why};
use std::collections::{BTreeMap, BTreeSet};

/// Counters that text forms show.
const MOST: usize = 10;

pub(super) fn section(context: &Context, document: &Document) -> Option<Section> {
    let largest = document.largest.as_ref()?;
    let rows = &context.rows;
    let (of, to) = (rows.position(&largest.of), rows.position(&largest.to));
    let name = |place: Option<usize>| place.map_or("", |place| &rows.list[place].name).to_string();
    let mut nodes = vec![
        Block::text(format!(
            "In {} rounds, A is {} than B.",
            largest.round,
            slower(largest)
        ))
        .everywhere(),
        Block::Facts(vec![
            ("A".to_string(), name(of)),
            ("B".to_string(), name(to)),
        ])
        .everywhere(),
    ];
    if let Some(sentence) = why::sentence(&largest.why, ("A", "B"), format::count) {
        nodes.push(Block::text(sentence).everywhere());
        let is_new = why::caveat(&document.claims, None).is_none();
        let caveat = document.caveat.filter(|_| is_new);
        nodes.extend(caveat.map(|caveat| Block::remark(caveat).everywhere()));
    }
    nodes.extend(comparison(context, largest, (of, to)));
    Section::unless_empty("counters-section", "The largest difference", nodes)
}

fn comparison(
    context: &Context,
    largest: &Explanation,
    (of, to): (Option<usize>, Option<usize>),
) -> Vec<Node> {
    let about = "Counters per query, means over rounds and blocks. A counter that a server lacks is absent, not 0.";
    let mut nodes = vec![Block::remark(about).page()];
    if context.detail == Detail::Full {
        nodes.push(Block::Compare(compare(&context.rows, largest, of, to)).page());
    }
    if largest.why.differences.is_empty() {
        let none = if largest.at_least {
            "The counters of a query that was stopped are not compared."
        } else {
            "No counter of the record differs between them."
        };
        nodes.push(Block::text(none).shown(Forms::TEXT));
    }
    let most = Most {
        terminal: MOST,
        markdown: MOST,
    };
    let forms = if largest.why.differences.is_empty() {
        Forms::PAGE
    } else {
        Forms::ALL
    };
    nodes.push(Block::table(table(&largest.why).most(most)).shown(forms));
    let doubtful = |difference: &Difference| difference.beyond_noise == Some(false);
    if largest.why.differences.iter().any(doubtful) {
        nodes.push(Block::remark("? within the noise between blocks").everywhere());
    }
    nodes
}

/// The counters of two cells side by side.
pub(super) fn table(why: &Why) -> Table {
    let counter = format!("counter per {}", why::per(why));
    let columns = Column::list(&[
        (ColumnContent::Code, &[&counter]),
        (ColumnContent::Figure, &["A", "B", "A / B"]),
    ]);
    let mut table = Table::new("", columns, why.differences.iter().map(cells));
    for (row, difference) in table.rows.iter_mut().zip(&why.differences) {
        row.quiet = difference.beyond_noise == Some(false);
    }
    table
}

fn cells(difference: &Difference) -> Vec<Cell> {
    // A counter that the server lacks is absent, never 0.
    let value = |value: Option<f64>| value.map_or("absent".to_string(), format::count);
    let finite = difference.ratio.filter(|ratio| ratio.is_finite());
    let ratio = finite.map_or("-".to_string(), format::ratio);
    let doubt = match difference.beyond_noise {
        Some(false) => " ?",
        _ => "",
    };
    vec![
        Cell::text(&difference.counter).remarked(why::meaning(difference)),
        Cell::text(value(difference.of)),
        Cell::text(value(difference.to)),
        Cell::text(ratio + doubt),
    ]
}

fn compare(rows: &Rows, largest: &Explanation, of: Option<usize>, to: Option<usize>) -> Compare {
    let means: Vec<Means> = rows.list.iter().map(means).collect();
    let names: BTreeSet<&String> = means
        .iter()
        .flat_map(|row| row.values())
        .flat_map(|round| round.keys())
        .collect();
    let meaning = |name: &String| Some((name.clone(), explain::meaning(name)?));
    let rounds = rows.list.iter().flat_map(round_names);
    Compare {
        rows: rows.list.iter().map(|row| row.name.clone()).collect(),
        of,
        to,
        round: largest.round.clone(),
        rounds: rounds.map(String::from).collect(),
        meanings: names.into_iter().filter_map(meaning).collect(),
        means,
        doubled: (
            &explain::DOUBLED_COUNTERS,
            rows.list.iter().map(doubled).collect(),
        ),
    }
}

/// The names of the row's rounds in which those counters count rows twice.
fn doubled(row: &Row) -> Vec<String> {
    let names = round_names(row).into_iter();
    let doubled = names.filter(|name| explain::counts_rows_twice(&row.trials, name));
    doubled.map(String::from).collect()
}

fn round_names<'a>(row: &Row<'a>) -> BTreeSet<&'a str> {
    let rounds = row.trials.iter().flat_map(|trial| &trial.rounds);
    rounds.map(|round| round.name.as_str()).collect()
}

/// To the decimals that the page's tables show.
fn rounded(mean: f64) -> f64 {
    let places = if mean.abs() < 10.0 { 1e4 } else { 10.0 };
    (mean * places).round() / places
}

type Means = BTreeMap<String, BTreeMap<String, f64>>;

/// The mean of each counter per query over the rounds of all blocks, by the name of the rounds. Rounds in which a query was stopped are
/// left out: their counts are incomplete.
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
    let mean = |(counter, (sum, n)): (String, (f64, u32))| (counter, rounded(sum / f64::from(n)));
    sums.into_iter()
        .map(|(round, counters)| (round, counters.into_iter().map(mean).collect()))
        .collect()
}
