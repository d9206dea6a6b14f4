//! The tables of timed loads: throughput, latency, offered load, and throughput relative to one client.

use super::cell::Cell as Point;
use super::grid::{Grid, Line};
use super::{Loads, conditions, overview};
use crate::build::Context;
use crate::document::{Block, Cell, Column, Forms, Kind as Of, Node, Section, Table};
use crate::{format, names};
use record::{Kind, Mode, Percentile, Percentiles, RateRange};
use stats::{Estimate, LoadRow, Scaling, ScalingPoint};
use std::collections::BTreeSet;

#[derive(Clone, Copy)]
pub(super) enum Measure {
    Throughput,
    Offered,
    Latency(Kind, Percentile),
}

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
    Section::of("table", "Throughput and latency", nodes)
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

/// Throughput relative to one client, of closed loads; none where nothing was measured with one client and with several.
fn scaling(context: &Context, all: &[Scaling]) -> Option<Table> {
    let compared = |point: &ScalingPoint| point.clients > 1 && point.factor.is_some();
    let all = all.iter();
    let several: Vec<&Scaling> = all.filter(|one| one.points.iter().any(compared)).collect();
    let points = several.iter().flat_map(|scaling| &scaling.points);
    let clients: BTreeSet<u32> = points.map(|point| point.clients).collect();
    let mut columns = Column::of(Of::Label, ["server and settings"]);
    columns.extend(Column::of(Of::Figure, clients.iter().map(u32::to_string)));
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
        let response = Measure::Latency(Kind::Response, self.percentile());
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
        let measures = [at(Kind::Wait), at(Kind::Service), Measure::Offered];
        let measured = measures.into_iter().filter(|measure| self.has(measure));
        measured.map(|measure| self.table(measure)).collect()
    }

    fn has(&self, measure: &Measure) -> bool {
        let mut loads = self.cells().filter_map(|cell| cell.load.as_ref());
        loads.any(|load| measure.estimate(load).is_some())
    }

    fn table(&self, measure: Measure) -> Table {
        let across = self.across.as_ref();
        let heads = across.map_or_else(Vec::new, |across| across.levels.clone());
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
        let percentile = |percentile| Measure::Latency(Kind::Response, percentile);
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
        let mut columns = Column::of(Of::Label, &self.factors);
        columns.extend(Column::of(Of::Figure, heads));
        let row = |line: &Line| {
            let labels = self.factors.iter().zip(&line.labels);
            let labels =
                labels.map(|(factor, label)| Cell::label(names::bare_level(factor, label)));
            labels.chain(of(line)).collect()
        };
        Table::new(caption, columns, self.lines.iter().map(row))
    }

    /// `closed loop, 8 clients`: what all cells have in common.
    pub(super) fn set_up(&self) -> String {
        let loads = self.cells().filter_map(|cell| cell.load.as_ref());
        let modes: Vec<&Mode> = loads.filter_map(|load| load.mode.as_ref()).collect();
        let mut parts = vec![names::load_loop(self.open).to_string()];
        let described: Vec<[Option<String>; 3]> = modes.into_iter().map(describe).collect();
        for place in 0..3 {
            let mut texts = described.iter().map(|parts| &parts[place]);
            let first = texts.next().cloned().flatten();
            parts.extend(first.filter(|first| texts.all(|text| text.as_ref() == Some(first))));
        }
        parts.join(", ")
    }

    pub(super) fn spread(&self) -> &'static str {
        let loads = self.cells().filter_map(|cell| cell.load.as_ref());
        let throughput = loads.filter_map(|load| load.throughput.as_ref());
        match throughput
            .map(|estimate| estimate.ci.is_some())
            .reduce(|a, b| a | b)
        {
            Some(true) => ", mean over blocks, 95 % CI",
            Some(false) => ", one block, no CI",
            None => "",
        }
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

/// The parts of a load in words.
fn describe(mode: &Mode) -> [Option<String>; 3] {
    match mode {
        Mode::Closed { clients, think_s } => [
            Some(format::plural(*clients as usize, "client")),
            (*think_s > 0.0).then(|| format!("think time {think_s} s")),
            None,
        ],
        Mode::Open {
            rate,
            arrivals,
            workers,
            range,
            ..
        } => [
            Some(format!("{arrivals} arrivals")),
            Some(match range {
                None => format!("{} requests/s", format::operations(*rate)),
                Some(RateRange { min, max }) => format!(
                    "{} requests/s on average ({} to {})",
                    format::operations(*rate),
                    format::operations(*min),
                    format::operations(*max)
                ),
            }),
            Some(format::plural(*workers as usize, "worker")),
        ],
    }
}

impl Measure {
    /// `p99 latency (ms) by clients, mean over blocks, 95 % CI`
    fn caption(&self, grid: &Grid) -> String {
        let what = match self {
            Measure::Throughput => "Throughput (ops/s)".to_string(),
            Measure::Offered => "Offered load (ops/s)".to_string(),
            Measure::Latency(kind, percentile) => {
                format!(
                    "{} {} (ms)",
                    names::percentile(*percentile),
                    kind_words(*kind)
                )
            }
        };
        let across = grid.across.as_ref();
        let by = across.map_or(String::new(), |across| format!(" by {}", across.factor));
        let queue = match self {
            Measure::Latency(Kind::Response, _) if grid.open => ", queue wait included",
            _ => "",
        };
        format!("{what}{by}{queue}{}", grid.spread())
    }

    fn head(&self) -> String {
        match self {
            Measure::Throughput => "ops/s".to_string(),
            Measure::Offered => "offered ops/s".to_string(),
            Measure::Latency(Kind::Response, percentile) => {
                format!("{} (ms)", names::percentile(*percentile))
            }
            Measure::Latency(kind, percentile) => {
                format!(
                    "{} {} (ms)",
                    names::percentile(*percentile),
                    kind_words(*kind)
                )
            }
        }
    }

    fn estimate<'l>(&self, load: &'l LoadRow) -> Option<&'l Estimate> {
        match self {
            Measure::Throughput => load.throughput.as_ref(),
            Measure::Offered => load.offered.as_ref(),
            Measure::Latency(kind, percentile) => load.latency.of(*kind, *percentile),
        }
    }

    fn written(&self, value: f64) -> String {
        match self {
            Measure::Throughput | Measure::Offered => format::operations(value),
            Measure::Latency(..) => format::milliseconds(value),
        }
    }

    pub(super) fn cell(&self, cell: &Point) -> Cell {
        let estimate = cell.load.as_ref().and_then(|load| self.estimate(load));
        let latency = matches!(self, Measure::Latency(..));
        let text = match estimate {
            None if latency && cell.is_unstable() => unstable(cell),
            estimate => Cell::estimate(estimate, |value| self.written(value)),
        };
        let is_uncertain = cell
            .load
            .as_ref()
            .is_some_and(|load| self.is_uncertain(load));
        text.uncertain(is_uncertain).marked(cell.marks.clone())
    }

    fn is_uncertain(&self, load: &LoadRow) -> bool {
        match self {
            Measure::Throughput | Measure::Offered => false,
            Measure::Latency(kind, percentile) => load.latency.is_uncertain(*kind, *percentile),
        }
    }
}

/// Instead of a percentile.
fn unstable(cell: &Point) -> Cell {
    let load = cell.load.as_ref();
    let first = load.and_then(|load| load.unstable.first());
    Cell {
        beside: cell
            .growth()
            .map(|growth| format!("+{}/s", format::count(growth.round()))),
        sentence: first.map(|(_, sentence)| sentence.clone()),
        ..Cell::text("unstable")
    }
}

/// A percentile (ms), with a `~` where it is uncertain, or a dash.
pub(super) fn at(latency: Option<&Percentiles>, percentile: Percentile) -> Cell {
    let found = latency.and_then(|latency| latency.at(percentile));
    let is_uncertain = latency.is_some_and(|latency| latency.is_uncertain(percentile));
    Cell::figure(found, format::milliseconds).uncertain(is_uncertain)
}

/// Kinds of latency; in closed loop the latency is the service time.
pub(super) fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Response => "latency",
        Kind::Wait => "queue wait",
        Kind::Service => "service time",
        Kind::Failed => "time of failed operations",
    }
}
