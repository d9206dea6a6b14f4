//! Rounds of queries: the total times, and several clients.

pub(crate) mod coldness;
pub(crate) mod plans;
pub(crate) mod profile;
pub(crate) mod queries;
pub(crate) mod resources;

use super::rows::{Notes, Row, left_out};
use super::{Context, Detail};
use crate::document::{
    Bars, Block, Cell, Chart, Charts, Column, ColumnContent, Document, Node, Section, Series, Table,
};
use crate::{format, names};
use record::Question;
use stats::{Estimate, RoundCell, RoundPoint, RoundScaling};
use std::collections::BTreeSet;

pub(super) fn sections(context: &Context, document: &Document) -> Vec<Option<Section>> {
    vec![
        times(context),
        clients(context),
        queries::section(context, document),
        resources::section(context),
    ]
}

/// The published form: servers and variants down, rounds across.
fn times(context: &Context) -> Option<Section> {
    if context.rows.list.is_empty() {
        return None;
    }
    let question = &context.run.question;
    let rounds = rounds(question);
    let estimates = || {
        let rows = context.rows.list.iter().flat_map(|row| &row.figures.rounds);
        rows.filter_map(|round| round.elapsed_s.as_ref())
    };
    let decimals = format::decimals(estimates().map(|estimate| estimate.mean));
    let mut notes = Notes::default();
    let rows = context.rows.list.iter();
    let rows: Vec<Vec<Cell>> = rows
        .map(|row| {
            let mut labels: Vec<Cell> = row
                .labels(&context.rows.varying)
                .into_iter()
                .map(Cell::label)
                .collect();
            if let Some(last) = labels.last_mut() {
                last.marks = row_marks(row, &mut notes);
            }
            let figures = rounds
                .iter()
                .map(|(name, index)| time(row, name, *index, decimals, &mut notes));
            labels.extend(figures);
            labels
        })
        .collect();
    let heads: Vec<String> = rounds
        .iter()
        .map(|(name, index)| names::round(question, name, *index))
        .collect();
    let mut columns = Column::of(ColumnContent::Label, context.rows.label_heads());
    columns.extend(Column::of(ColumnContent::Figure, &heads));
    let caption = caption(question, &estimates().collect::<Vec<_>>());
    let table = Table::new(caption, columns, rows).across("round", "time (s)");
    let mut nodes = vec![Block::table(table).everywhere().on_first_screen()];
    let notes = notes.block();
    nodes.extend(notes.map(|notes| notes.everywhere().on_first_screen()));
    nodes.extend(coldness::first_query_only(context));
    if context.detail == Detail::Full {
        nodes.extend(totals(context, &heads));
    }
    Section::unless_empty("table", "Rounds", nodes)
}

/// The rounds as requested, each with its index within its name.
fn rounds(question: &Question) -> Vec<(String, u32)> {
    let mut rounds: Vec<(String, u32)> = Vec::new();
    for name in &question.rounds {
        let before = rounds.iter().filter(|(seen, _)| seen == name).count() as u32;
        rounds.push((name.clone(), before + 1));
    }
    rounds
}

fn caption(question: &Question, estimates: &[&Estimate]) -> String {
    let any = |has: fn(&Estimate) -> bool| estimates.iter().any(|estimate| has(estimate));
    let spread = if estimates.is_empty() {
        ""
    } else if any(|estimate| estimate.ci.is_some()) {
        ", mean over blocks, 95 % CI"
    } else if any(|estimate| estimate.blocks > 1 && estimate.at_least) {
        ", mean over blocks, lower bounds without CI"
    } else {
        ", one block, no CI"
    };
    match question.workload.operations.len() {
        1 => format!("Time of the query (s){spread}"),
        n => format!("Total time of the {n} queries (s){spread}"),
    }
}

/// Why the row has no figures, or fewer than its blocks.
fn row_marks(row: &Row, notes: &mut Notes) -> Vec<usize> {
    if let Some(why) = &row.figures.missing {
        return vec![notes.number(format!("no figure: {why}"))];
    }
    let left_out = row.all.iter().filter_map(|trial| left_out(trial));
    left_out.map(|note| notes.number(note)).collect()
}

fn time(row: &Row, name: &str, index: u32, decimals: usize, notes: &mut Notes) -> Cell {
    let mut rounds = row.figures.rounds.iter();
    let found = rounds.find(|round| round.name == name && round.index == index);
    let Some(found) = found else {
        return Cell::none();
    };
    let mut cell = seconds(found.elapsed_s.as_ref(), decimals);
    if found.lukewarm {
        cell.marks.push(notes.number(lukewarm(found, row)));
        let bound = found
            .elapsed_s
            .as_ref()
            .is_none_or(|estimate| estimate.at_least);
        if !bound {
            cell.text.insert(0, '~');
        }
    }
    cell
}

/// A time in a column of seconds; `> 600 s` where it is a lower bound.
pub(super) fn seconds(estimate: Option<&Estimate>, decimals: usize) -> Cell {
    match estimate {
        Some(estimate) if estimate.at_least => {
            Cell::text(format::at_least(estimate.mean, decimals))
        }
        estimate => Cell::estimate(estimate, |value| format::seconds(value, decimals)),
    }
}

fn lukewarm(round: &RoundCell, row: &Row) -> String {
    let rounds = row.all.iter().flat_map(|trial| &trial.rounds);
    let coldness = rounds
        .filter(|other| other.is_called(&round.name) && other.index == round.index)
        .filter_map(|round| round.coldness.as_ref());
    let reason = coldness
        .filter_map(|coldness| coldness.reason.as_deref())
        .next();
    format!(
        "~ lukewarm, not proved cold: {}",
        reason.unwrap_or("no reason is recorded")
    )
}

fn totals(context: &Context, heads: &[String]) -> Option<Node> {
    let rows = || context.rows.list.iter();
    let of_round = |(place, head): (usize, &String)| {
        let estimates = rows().map(|row| row.figures.rounds.get(place)?.elapsed_s.clone());
        (head.clone(), estimates.collect())
    };
    let bars = Bars {
        horizontal: true,
        categories: rows().map(|row| row.name.clone()).collect(),
        series: heads.iter().enumerate().map(of_round).collect(),
    };
    bar_chart(
        "totals",
        "",
        "Time of each round (s) by server and levels, with 95 % intervals; the table above has the same figures",
        bars,
    )
}

/// None if nothing was measured.
pub(super) fn bar_chart(name: &str, caption: &str, label: &str, bars: Bars) -> Option<Node> {
    let mut estimates = bars.series.iter().flat_map(|(_, estimates)| estimates);
    estimates.find_map(Option::as_ref)?;
    let chart = Chart {
        name: name.to_string(),
        title: String::new(),
        series: Series::Bars(bars),
    };
    Some(Block::Charts(Charts::single(caption, label, chart)).page())
}

/// Rounds by their number of clients, and compared with one client.
fn clients(context: &Context) -> Option<Section> {
    let all = stats::round_scaling(&context.run.question, context.trials);
    let points = || all.iter().flat_map(|scaling| &scaling.points);
    let clients: BTreeSet<u32> = points().map(|point| point.clients).collect();
    let table = |caption: &str, figure: &str, of: &dyn Fn(&RoundPoint) -> Cell| {
        let cell = |scaling: &RoundScaling, clients: &u32| {
            let mut points = scaling.points.iter();
            let point = points.find(|point| point.clients == *clients);
            point.map_or_else(Cell::none, of)
        };
        let row = |scaling: &RoundScaling| {
            let name = names::row(context.run, scaling.server.as_deref(), &scaling.levels);
            let labels = [name, scaling.round.clone()].map(Cell::text).into_iter();
            labels
                .chain(clients.iter().map(|clients| cell(scaling, clients)))
                .collect()
        };
        let mut columns = Column::of(ColumnContent::Label, ["server and settings", "round"]);
        columns.extend(Column::of(
            ColumnContent::Figure,
            clients.iter().map(u32::to_string),
        ));
        Table::new(caption, columns, all.iter().map(row)).across("clients", figure)
    };
    let rate =
        |point: &RoundPoint| Cell::estimate(point.queries_per_hour.as_ref(), format::operations);
    let factor = |point: &RoundPoint| Cell::times_one_client(point.factor, point.clients);
    let mut tables = Vec::new();
    if !all.is_empty() {
        let caption = "Throughput of all clients (queries/h) by clients";
        tables.push(table(caption, "queries/h", &rate));
    }
    if points().any(|point| point.clients > 1 && point.factor.is_some()) {
        let caption = "Throughput relative to 1 client, by clients";
        tables.push(table(caption, "× 1 client", &factor));
    }
    let about = "Every client runs each query once per round, all at the same time. A round ends with its last client.";
    let nodes = if tables.is_empty() {
        Vec::new()
    } else {
        vec![
            Block::Tables(tables).everywhere(),
            Block::remark(about).page(),
        ]
    };
    Section::unless_empty("clients", "Several clients", nodes)
}
