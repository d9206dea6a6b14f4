//! The tables of timed loads: throughput, latency, offered load, and throughput relative to one client.

use super::grid::cell::Cell as Point;
use super::grid::{Grid, Line};
use super::measure::Measure;
use super::{Loads, conditions, overview};
use crate::build::Context;
use crate::document::{Block, Cell, Column, ColumnContent, Forms, Node, Section, Table};
use crate::{format, names};
use record::{LatencyKind, Percentile};
use stats::{Scaling, ScalingPoint};
use std::collections::BTreeSet;

/// Answers in the terminal.
const ANSWERS: usize = 10;

pub(super) fn section(context: &Context, loads: &Loads) -> Option<Section> {
    let scaled = stats::scaling(&context.run.question, context.trials);
    let of_grid = |grid| {
        let conditions = conditions::nodes(context, grid, &scaled);
        nodes(grid).into_iter().chain(conditions)
    };
    let mut nodes: Vec<Node> = loads.grids.iter().flat_map(of_grid).collect();
    nodes.extend(scaling(context, &scaled).map(|table| Block::table(table).shown(Forms::WRITTEN)));
    if !loads.answers.is_empty() {
        let heading = Block::Heading("Answers".to_string()).everywhere();
        let answers = Block::list(loads.answers.clone(), ANSWERS).everywhere();
        nodes.extend([heading, answers].map(Node::on_first_screen));
    }
    Section::unless_empty("table", "Throughput and latency", nodes)
}

fn nodes(grid: &Grid) -> Vec<Node> {
    let mut nodes = match (overview::table(grid), &grid.across) {
        (Some(overview), across) => {
            let forms = match across {
                Some(_) => Forms::ALL,
                // The overview has the same rows.
                None => Forms::WRITTEN,
            };
            let overview = Block::table(overview).shown(Forms::TERMINAL);
            let tables = Block::Tables(grid.tables()).shown(forms);
            vec![overview.on_first_screen(), tables]
        }
        (None, _) => {
            let mut tables = grid.tables().into_iter();
            let first = tables.next().into_iter().map(Block::table);
            let first = first.map(|table| table.everywhere().on_first_screen());
            let others = tables.map(|table| Block::table(table).everywhere());
            first.chain(others).collect()
        }
    };
    let remarks = grid.remarks.iter();
    let remarks = remarks.map(|remark| Block::remark(remark).everywhere());
    nodes.extend(remarks.map(Node::on_first_screen));
    if !grid.notes.is_empty() {
        let notes = Block::Notes(grid.notes.clone()).everywhere();
        nodes.push(notes.on_first_screen());
    }
    let further = grid.further_tables();
    if !further.is_empty() {
        let tables = vec![Block::Tables(further).shown(Forms::WRITTEN)];
        let summary = "Queue wait, service time and offered load";
        nodes.push(Block::fold(summary, false, tables).shown(Forms::WRITTEN));
    }
    nodes
}

/// Throughput relative to one client, of closed loads; none if nothing was measured with one client and with several.
fn scaling(context: &Context, all: &[Scaling]) -> Option<Table> {
    let compared = |point: &ScalingPoint| point.clients > 1 && point.factor.is_some();
    let all = all.iter();
    let several: Vec<&Scaling> = all.filter(|one| one.points.iter().any(compared)).collect();
    let points = several.iter().flat_map(|scaling| &scaling.points);
    let clients: BTreeSet<u32> = points.map(|point| point.clients).collect();
    let mut columns = Column::of(ColumnContent::Label, ["server and settings"]);
    let heads = clients.iter();
    let heads = heads.map(|clients| format::count(f64::from(*clients)));
    columns.extend(Column::of(ColumnContent::Figure, heads));
    let row = |scaling: &&Scaling| {
        let name = names::row(context.run, scaling.server.as_deref(), &scaling.levels);
        let cells = clients.iter().map(|clients| {
            let mut points = scaling.points.iter();
            let point = points.find(|point| point.clients == *clients);
            Cell::times_one_client(point.and_then(|point| point.factor), *clients)
        });
        std::iter::once(Cell::text(name)).chain(cells).collect()
    };
    let caption = "Throughput relative to 1 client, by clients; closed loop";
    let rows = several.iter().map(row);
    (!several.is_empty())
        .then(|| Table::new(caption, columns, rows).across("clients", "× 1 client"))
}

impl Grid<'_> {
    /// What answers the question: throughput and latency in closed loop, latency and throughput in open loop.
    fn tables(&self) -> Vec<Table> {
        let response = Measure::Latency(LatencyKind::Response, self.percentile());
        match (&self.across, self.open) {
            (None, _) => vec![self.list()],
            (Some(_), true) => vec![self.table(response), self.table(Measure::Throughput)],
            (Some(_), false) => vec![self.table(Measure::Throughput), self.table(response)],
        }
    }

    /// What the latency of an open loop consists of, and what was offered.
    fn further_tables(&self) -> Vec<Table> {
        if self.across.is_none() || !self.open {
            return Vec::new();
        }
        let at = |kind| Measure::Latency(kind, self.percentile());
        let measures = [
            at(LatencyKind::Wait),
            at(LatencyKind::Service),
            Measure::Offered,
        ];
        let measured = measures.into_iter().filter(|measure| self.has(measure));
        measured.map(|measure| self.table(measure)).collect()
    }

    fn has(&self, measure: &Measure) -> bool {
        let mut loads = self.cells().filter_map(|cell| cell.load.as_ref());
        loads.any(|load| measure.estimate(load).is_some())
    }

    fn table(&self, measure: Measure) -> Table {
        let across = self.across.as_ref();
        let heads = across.map_or_else(Vec::new, |across| {
            let levels = across.levels.iter();
            let head = |level: &String| names::bare_level(&across.factor, level);
            levels.map(head).collect()
        });
        let caption = format!("{}; {}", measure.caption(self), self.set_up());
        let table = self.of_lines(caption, heads, |line| {
            line.cells.iter().map(|cell| measure.cell(cell)).collect()
        });
        match across {
            Some(across) => table.across(&across.factor, &measure.head()),
            None => table,
        }
    }

    /// One row for each point, its figures across; measures without any figure are left out.
    fn list(&self) -> Table {
        let percentile = |percentile| Measure::Latency(LatencyKind::Response, percentile);
        let measures: Vec<Measure> = std::iter::once(Measure::Throughput)
            .chain(Percentile::ALL.map(percentile))
            .filter(|measure| matches!(measure, Measure::Throughput) || self.has(measure))
            .collect();
        let heads = measures.iter().map(Measure::head).collect();
        self.of_lines(
            format!("Throughput and latency{}; {}", self.spread(), self.set_up()),
            heads,
            |line| {
                line.cells
                    .iter()
                    .flat_map(|cell| listed(cell, &measures))
                    .collect()
            },
        )
    }

    fn of_lines(
        &self,
        caption: String,
        heads: Vec<String>,
        of: impl Fn(&Line) -> Vec<Cell>,
    ) -> Table {
        let mut columns = Column::of(ColumnContent::Label, &self.factors);
        columns.extend(Column::of(ColumnContent::Figure, heads));
        let row = |line: &Line| {
            let labels = self.factors.iter().zip(&line.labels);
            let labels =
                labels.map(|(factor, label)| Cell::label(names::bare_level(factor, label)));
            labels.chain(of(line)).collect()
        };
        Table::new(caption, columns, self.lines.iter().map(row))
    }
}

/// A cell's figures side by side; its marks are shown once, and so is that it was unstable.
fn listed(cell: &Point, measures: &[Measure]) -> Vec<Cell> {
    let of = |(place, measure): (usize, &Measure)| match place {
        0 => measure.cell(cell),
        2.. if cell.is_unstable() => Cell::none(),
        _ => measure.cell(cell).marked(Vec::new()),
    };
    measures.iter().enumerate().map(of).collect()
}
