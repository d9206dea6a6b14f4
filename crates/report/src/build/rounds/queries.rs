//! The queries of rounds by themselves: which take the time, and how two servers compare on each, the slowest first.
//!
//! Boundaries: the rounds as a whole are in `rounds`, plans in `plans`.

use crate::build::ratios::contrasts;
use crate::build::rounds;
use crate::build::rows::{Notes, Row};
use crate::build::{Context, Detail};
use crate::document::{
    Bars, Block, Cell, Column, ColumnContent, Document, Forms, Most, Node, Section, Table,
};
use crate::{format, names};
use explain::QueryPlans;
use record::{Question, Verdict};
use stats::{Comparison, Contrast, Estimate, QueryRow, RowKey, by_key};
use std::collections::BTreeSet;

/// Queries in the terminal.
const MOST: usize = 20;
/// More rows of the matrix do not fit side by side on a screen.
const ROWS_MAX: usize = 4;

/// A time of a query, with the name of its rounds.
type Time = (&'static str, fn(&QueryRow) -> Option<&Estimate>);

const TIMES: [Time; 2] = [
    ("cold", |query| query.cold_s.as_ref()),
    ("hot", |query| query.hot_s.as_ref()),
];

/// A row of the matrix with its queries, in the workload's order.
type Own<'a> = (&'a Row<'a>, Vec<QueryRow>);

pub(crate) fn section(context: &Context, document: &Document) -> Option<Section> {
    let question = &context.run.question;
    let of_row = |row| -> Own {
        let (server, levels) = key(row);
        let queries = stats::queries(question, context.trials, server, levels);
        (row, queries)
    };
    let own: Vec<Own> = context.rows.list.iter().map(of_row).collect();
    let mut nodes = compared(question, &document.contrasts, &document.plans);
    if nodes.is_empty() {
        nodes.extend(Listed::of(context, document, &own).map_or_else(Vec::new, Listed::nodes));
    }
    if context.detail == Detail::Full {
        nodes.extend(on_the_page(&question.workload.operations, &own));
    }
    Section::unless_empty("queries", "Queries", nodes)
}

fn key<'r>(row: &'r Row) -> RowKey<'r> {
    (row.figures.server.as_deref(), &row.figures.levels)
}

/// Each query on one server, cold and hot, or on a few servers or levels side by side.
struct Listed<'a> {
    context: &'a Context<'a>,
    document: &'a Document<'a>,
    own: &'a [Own<'a>],
    /// What the columns show. The last one decides the order.
    times: Vec<&'static Time>,
    notes: Notes,
}

impl<'a> Listed<'a> {
    /// None of a single query, of too many rows, and where nothing was measured.
    fn of(
        context: &'a Context<'a>,
        document: &'a Document<'a>,
        own: &'a [Own<'a>],
    ) -> Option<Listed<'a>> {
        let queries = || own.iter().flat_map(|(_, queries)| queries);
        let is_measured = |time: &&Time| queries().any(|query| time.1(query).is_some());
        let mut times: Vec<&Time> = TIMES.iter().filter(is_measured).collect();
        if own.len() > 1 {
            times.drain(..times.len().saturating_sub(1));
        }
        let is_shown = own.len() <= ROWS_MAX && context.run.question.workload.operations.len() > 1;
        (is_shown && !times.is_empty()).then_some(Listed {
            context,
            document,
            own,
            times,
            notes: Notes::default(),
        })
    }

    fn last(&self, query: &'a QueryRow) -> Option<&'a Estimate> {
        self.times.last().and_then(|time| time.1(query))
    }

    /// The times of a query in all rows.
    fn of_query(&self, place: usize) -> impl Iterator<Item = &'a QueryRow> {
        self.own.iter().map(move |(_, queries)| &queries[place])
    }

    /// The queries with the slowest first. What has no time failed, which comes before them.
    fn order(&self) -> Vec<usize> {
        let longest = |place: &usize| {
            let times = self.of_query(*place).map(|query| self.last(query));
            let seconds = times.map(|time| time.map_or(f64::INFINITY, |time| time.mean));
            seconds.fold(0.0, f64::max)
        };
        let mut places: Vec<usize> = (0..self.own[0].1.len()).collect();
        places.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
        places
    }

    fn nodes(mut self) -> Vec<Node> {
        let order = self.order();
        let keys: Vec<RowKey> = self.own.iter().map(|(row, _)| key(row)).collect();
        let plans = order.iter().map(|place| {
            let query = &self.own[0].1[*place].query;
            plan_word(&self.document.plans, query, &keys)
        });
        let plans: Vec<&str> = plans.collect();
        let rows: Vec<Vec<Cell>> = order.into_iter().map(|place| self.row(place)).collect();
        let (columns, rows) = with_plans(self.columns(), rows, &plans);
        let round = match (self.own.len(), self.times.last()) {
            (2.., Some((name, _))) => format!(", {name}"),
            _ => String::new(),
        };
        let caption = format!("Time of each query (s){round}, the slowest first");
        let table = Table::new(caption, columns, rows).most(Most::in_terminal(MOST));
        let nodes = std::iter::once(Block::table(table)).chain(self.notes.block());
        // Below claims, the times of single queries are evidence.
        let first_screen = self.document.claims.is_empty();
        let node = |block: Block| Node {
            first_screen,
            ..block.shown(Forms::TEXT)
        };
        nodes.map(node).collect()
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = Column::of(ColumnContent::Label, ["query"]);
        match self.own {
            [_] => {
                let heads = self.times.iter().map(|(name, _)| format!("{name} (s)"));
                let share = self
                    .times
                    .last()
                    .map(|(name, _)| format!("share of {name}"));
                columns.extend(Column::of(ColumnContent::Figure, heads.chain(share)));
            }
            several => {
                let heads = several.iter().map(|(row, _)| row.name.as_str());
                columns.extend(Column::of(ColumnContent::Figure, heads));
            }
        }
        columns
    }

    fn row(&mut self, place: usize) -> Vec<Cell> {
        let queries: Vec<&QueryRow> = self.of_query(place).collect();
        let name = &queries[0].query;
        let has_failed = queries.iter().any(|query| self.last(query).is_none());
        let failure = has_failed.then(|| failure(self.context, name)).flatten();
        let marks = failure.map(|text| self.notes.number(text));
        let shown = || {
            queries
                .iter()
                .flat_map(|query| self.times.iter().filter_map(|time| time.1(query)))
        };
        let decimals = format::decimals(shown().map(|time| time.mean));
        let mut cells = vec![Cell::text(name).marked(marks.into_iter().collect())];
        for query in &queries {
            let times = self.times.iter().map(|time| time.1(query));
            cells.extend(times.map(|time| rounds::seconds(time, decimals)));
        }
        if let [(_, all)] = self.own {
            let total: f64 = all
                .iter()
                .filter_map(|query| Some(self.last(query)?.mean))
                .sum();
            let share = self.last(queries[0]).map(|time| time.mean / total);
            cells.push(Cell::figure(share, format::percent));
        }
        cells
    }
}

/// Adds a column that marks the queries whose plans changed, if there are any.
fn with_plans(
    mut columns: Vec<Column>,
    mut rows: Vec<Vec<Cell>>,
    plans: &[&str],
) -> (Vec<Column>, Vec<Vec<Cell>>) {
    if plans.iter().any(|plan| !plan.is_empty()) {
        columns.extend(Column::of(ColumnContent::Label, ["plan"]));
        for (row, plan) in rows.iter_mut().zip(plans) {
            row.push(Cell::text(*plan));
        }
    }
    (columns, rows)
}

/// `changed` within a row, `differs` between rows; empty if all used the same plan, or none is recorded.
fn plan_word(plans: &[QueryPlans], query: &str, rows: &[RowKey]) -> &'static str {
    let mut found = plans.iter();
    let Some(found) = found.find(|one| one.query == query) else {
        return "";
    };
    let used = |row: &RowKey| -> BTreeSet<&str> {
        let plans = found.plans.iter().filter(|plan| {
            let mut users = plan.rows.iter();
            users.any(|user| (user.server.as_deref(), user.levels.as_slice()) == *row)
        });
        plans.map(|plan| plan.hash.as_str()).collect()
    };
    let used = rows.iter().map(used).filter(|used| !used.is_empty());
    let used: Vec<BTreeSet<&str>> = used.collect();
    match used.iter().any(|used| used.len() > 1) {
        true => "changed",
        false if used.windows(2).any(|pair| pair[0] != pair[1]) => "differs",
        false => "",
    }
}

/// `by_region failed: error 1054: Unknown column 'nothing'`
fn failure(context: &Context, name: &str) -> Option<String> {
    let rounds = context.trials.iter().flat_map(|trial| &trial.rounds);
    let mut queries = rounds.flat_map(|round| &round.queries);
    let failed = queries.find(|query| query.name == name && query.has_failed())?;
    let error = failed.error.as_ref()?;
    Some(format!("{name} failed: {error}"))
}

/// Each query on new against old: a table for each pair of rows and name of rounds, the hot one first.
pub(crate) fn compared(
    question: &Question,
    contrasts: &[Contrast],
    plans: &[QueryPlans],
) -> Vec<Node> {
    let of_queries = contrasts.iter().filter(|one| one.subject.query.is_some());
    let of_pairs = by_key(of_queries.map(|one| {
        let pair = (&one.new, &one.levels, &one.server, &one.subject.round);
        (pair, one)
    }));
    let tables = of_pairs.into_iter().map(|(_, table)| table);
    let mut tables: Vec<Vec<&Contrast>> = tables.collect();
    tables.sort_by_key(|table| table[0].subject.round.as_deref() != Some("hot"));
    let among = tables.iter().map(Vec::len).sum();
    let tables = tables.into_iter().enumerate();
    let nodes = tables.flat_map(|(place, table)| {
        let nodes = of_pair(question, table, plans, among).into_iter();
        nodes.map(move |node| Node {
            first_screen: place == 0,
            ..node
        })
    });
    nodes.collect()
}

/// `among`: how many queries are tested together.
fn of_pair(
    question: &Question,
    mut contrasts: Vec<&Contrast>,
    plans: &[QueryPlans],
    among: usize,
) -> Vec<Node> {
    let longest = |contrast: &Contrast| {
        let values = [&contrast.old_value, &contrast.new_value].into_iter();
        let seconds = values.map(|value| value.as_ref().map_or(f64::INFINITY, |value| value.mean));
        seconds.fold(0.0, f64::max)
    };
    contrasts.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    let mut notes = Notes::default();
    let name = |contrast: &Contrast| contrast.subject.query.clone().unwrap_or_default();
    let rows = contrasts.iter().map(|contrast| {
        let note = note(contrast, among);
        contrasts::row(name(contrast), contrast, note, &mut notes)
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let Contrast {
        old,
        new,
        levels,
        server,
        subject,
        ..
    } = contrasts[0];
    let sides = [
        (Some(old.as_str()), levels.as_slice()),
        (Some(new.as_str()), levels),
    ];
    let plans = contrasts
        .iter()
        .map(|contrast| plan_word(plans, &name(contrast), &sides));
    let (columns, rows) = with_plans(
        contrasts::columns("query"),
        rows,
        &plans.collect::<Vec<_>>(),
    );
    let row = names::row_of(question, server.as_deref(), levels);
    let place = [
        Some(row).filter(|row| !row.is_empty()),
        subject.round.clone(),
    ];
    let place: Vec<String> = place.into_iter().flatten().collect();
    let caption = format!(
        "{}: time of each query (s), {new} against {old}, the slowest first",
        format::capitalised(&place.join(", "))
    );
    let table = Table::new(caption, columns, rows).most(Most::in_terminal(MOST));
    let blocks = std::iter::once(Block::table(table)).chain(notes.block());
    blocks.map(Block::everywhere).collect()
}

/// Why a query has no ratio, or none that decides although it looks so.
fn note(contrast: &Contrast, among: usize) -> Option<String> {
    let judged = &contrast.judged;
    let is_open = contrast.verdict() == Comparison::Inconclusive;
    let excludes_one = |(low, high): (f64, f64)| low > 1.0 || high < 1.0;
    match judged.verdict {
        Verdict::NotAvailable => judged.reason.clone(),
        _ if is_open && judged.ci.is_some_and(excludes_one) => Some(format!(
            "the interval alone excludes 1, but not among the {among} queries that are tested together"
        )),
        _ => None,
    }
}

/// Cold and hot: two charts and the table with the same figures.
fn on_the_page(operations: &[String], own: &[Own]) -> Vec<Node> {
    let estimates = own.iter().flat_map(|(_, queries)| queries);
    let estimates = estimates
        .flat_map(|query| [&query.cold_s, &query.hot_s])
        .flatten();
    let decimals = format::decimals(estimates.map(|estimate| estimate.mean));
    let mut columns = Column::of(ColumnContent::Label, ["query"]);
    for (row, _) in own {
        let heads = [format!("{}, cold", row.name), format!("{}, hot", row.name)];
        columns.extend(Column::of(ColumnContent::Figure, heads));
    }
    let row = |(place, name): (usize, &String)| {
        let queries = own.iter().filter_map(|(_, queries)| queries.get(place));
        let times = queries.flat_map(|query| [&query.cold_s, &query.hot_s]);
        let cells = times.map(|time| rounds::seconds(time.as_ref(), decimals));
        std::iter::once(Cell::text(name)).chain(cells).collect()
    };
    let caption = "Time (s), mean over blocks, 95 % CI. Hot is the mean of all hot rounds.";
    let table = Table::new(caption, columns, operations.iter().enumerate().map(row));
    let chart = |name: &str, caption: &str, of: fn(&QueryRow) -> Option<Estimate>| {
        let series = own.iter();
        let series =
            series.map(|(row, queries)| (row.name.clone(), queries.iter().map(of).collect()));
        let bars = Bars {
            horizontal: false,
            categories: operations.to_vec(),
            series: series.collect(),
        };
        let label = format!(
            "Time of each query (s) in {name} rounds by server and levels; the table below has the same figures"
        );
        rounds::bar_chart(name, caption, &label, bars)
    };
    let charts = [
        chart("cold", "Cold", |query| query.cold_s.clone()),
        chart("hot", "Hot", |query| query.hot_s.clone()),
    ];
    let summary = "Time of each query";
    let table = Block::fold(summary, false, vec![Block::table(table).page()]).page();
    charts.into_iter().flatten().chain([table]).collect()
}
