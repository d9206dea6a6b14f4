//! The rows of timed loads, arranged: one line per server and settings, one cell per level of the factor across.

pub(crate) mod cell;
mod columns;
mod notes;

use crate::build::Context;
use crate::build::rows::Row;
use crate::{format, names};
use cell::{Block, Cell};
use columns::Across;
use notes::{Found, Note};
use record::{LatencyKind, Mode, Percentile, Question, RateRange, TrialState};
use stats::LoadRow;

pub(crate) struct Grid<'d> {
    /// Closed and open loads are in grids of their own.
    pub open: bool,
    /// The heads of the columns that name a line.
    pub factors: Vec<String>,
    pub across: Option<Across>,
    pub lines: Vec<Line<'d>>,
    /// Footnotes; the first is number 1.
    pub notes: Vec<String>,
    /// What is true of every cell.
    pub remarks: Vec<String>,
}

pub(crate) struct Line<'d> {
    pub labels: Vec<String>,
    /// One for each level across; a single one where nothing is across.
    pub cells: Vec<Cell<'d>>,
}

/// The open loads, if any, then the closed ones.
pub(crate) fn grids<'d>(context: &Context<'d>) -> Vec<Grid<'d>> {
    let loads = stats::loads(&context.run.question, context.trials);
    let rows = &context.rows.list;
    let open = |row: &Row| {
        let mode = load_of(&loads, row)?.mode.as_ref()?;
        Some(matches!(mode, Mode::Open { .. }))
    };
    // A row whose load never started is placed with the majority.
    let usual = 2 * rows.iter().filter(|row| open(row) == Some(true)).count()
        > rows.iter().filter(|row| open(row).is_some()).count();
    let of_loop = |wanted: bool| {
        let is_own = |row: &&Row<'d>| open(row).unwrap_or(usual) == wanted;
        let own: Vec<&Row> = rows.iter().filter(is_own).collect();
        (!own.is_empty()).then(|| grid(context, wanted, &own, &loads))
    };
    [true, false].into_iter().filter_map(of_loop).collect()
}

fn load_of<'l>(loads: &'l [LoadRow], row: &Row) -> Option<&'l LoadRow> {
    let (server, levels) = (&row.figures.server, &row.figures.levels);
    let mut loads = loads.iter();
    loads.find(|load| load.server == *server && load.levels == *levels)
}

fn grid<'d>(context: &Context<'d>, open: bool, rows: &[&Row<'d>], loads: &[LoadRow]) -> Grid<'d> {
    let question = &context.run.question;
    let across = columns::across(question, rows);
    let factors = label_factors(question, rows, across.as_ref());
    let count = across.as_ref().map_or(1, |across| across.levels.len());
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let labels = row.labels(&factors);
        let place = lines.iter().position(|line| line.labels == labels);
        let place = place.unwrap_or_else(|| {
            let cells = (0..count).map(|_| Cell::default()).collect();
            lines.push(Line { labels, cells });
            lines.len() - 1
        });
        let column = across.as_ref().map_or(0, |across| column(across, row));
        let level = across
            .as_ref()
            .map(|across| names::level(&across.factor, &across.levels[column]));
        let line = &mut lines[place];
        line.cells[column] = Cell {
            open,
            line: line.labels.join(" · "),
            level: level.unwrap_or_else(|| "all".to_string()),
            ..cell(context, row, load_of(loads, row))
        };
    }
    let server = rows.iter().find_map(|row| row.server_head());
    let server = server.map(String::from);
    let factors: Vec<String> = server.into_iter().chain(factors).collect();
    by_rate(&mut lines, &factors);
    let mut grid = Grid {
        open,
        factors,
        across,
        lines,
        notes: Vec::new(),
        remarks: Vec::new(),
    };
    grid.annotate();
    grid
}

/// Sorts rates that were searched for within what else names a line; the file has no order of them.
fn by_rate(lines: &mut Vec<Line>, factors: &[String]) {
    let Some(rate) = factors.iter().position(|factor| factor == "rate") else {
        return;
    };
    let by_others = stats::by_key(lines.drain(..).map(|line| {
        let mut others = line.labels.clone();
        let rate: f64 = others.remove(rate).parse().unwrap_or(f64::INFINITY);
        (others, (rate, line))
    }));
    for (_, mut alike) in by_others {
        alike.sort_by(|a, b| a.0.total_cmp(&b.0));
        lines.extend(alike.into_iter().map(|(_, line)| line));
    }
}

/// Factors that name a line: those in which the rows differ, without the one across.
fn label_factors(question: &Question, rows: &[&Row], across: Option<&Across>) -> Vec<String> {
    // The levels of a rate that was searched for are not in the file.
    let is_searched = |name: &str| {
        let mut factors = question.factors.iter();
        factors.any(|factor| factor.name == name && factor.levels.is_empty())
    };
    let names = question.factors.iter().map(|factor| &factor.name);
    names
        .filter(|name| across.is_none_or(|across| across.factor != **name))
        .filter(|name| names::varies(question, name))
        .filter(|name| is_searched(name) || columns::levels(question, rows, name).len() > 1)
        .cloned()
        .collect()
}

fn column(across: &Across, row: &Row) -> usize {
    let level = row.level(&across.factor);
    let mut levels = across.levels.iter();
    let place = levels.position(|known| Some(known.as_str()) == level);
    place.unwrap_or_default()
}

fn cell<'d>(context: &Context<'d>, row: &Row<'d>, load: Option<&LoadRow>) -> Cell<'d> {
    let counted = row.trials.iter().filter_map(|trial| {
        let mut recorded = context.recorded.iter();
        let recorded = recorded.find(|one| std::ptr::eq(one.trial, *trial))?;
        Some(Block {
            trial,
            load: trial.load.as_deref()?,
            summary: recorded.summary.as_deref()?,
        })
    });
    let is_left_out = |trial: &&&record::Trial| trial.state != TrialState::Done;
    Cell {
        name: row.name.clone(),
        missing: match load {
            Some(load) => load.missing.clone(),
            None => row.figures.missing.clone(),
        },
        load: load.cloned(),
        blocks: counted.collect(),
        left_out: row.all.iter().filter(is_left_out).copied().collect(),
        ..Cell::default()
    }
}

impl<'d> Grid<'d> {
    pub(crate) fn cells(&self) -> impl Iterator<Item = &Cell<'d>> {
        self.lines.iter().flat_map(|line| &line.cells)
    }

    /// The highest percentile that most stable cells have: tables of one percentile show it (rule 4).
    pub(crate) fn percentile(&self) -> Percentile {
        let stable = || {
            let loads = self.cells().filter_map(|cell| cell.load.as_ref());
            loads.filter(|load| load.unstable.is_empty())
        };
        let all = stable().count();
        let have = |percentile: &Percentile| {
            let of = |load: &&LoadRow| {
                load.latency
                    .of(LatencyKind::Response, *percentile)
                    .is_some()
            };
            2 * stable().filter(of).count() > all
        };
        let mut candidates = [Percentile::P99, Percentile::P95, Percentile::P50].into_iter();
        candidates.find(have).unwrap_or(Percentile::P99)
    }

    fn annotate(&mut self) {
        let own = self.percentile();
        let shown = if self.across.is_some() {
            vec![own]
        } else {
            std::iter::once(own).chain(Percentile::ALL).collect()
        };
        let found: Vec<Vec<Found>> = self
            .cells()
            .map(|cell| notes::caveats(cell, &shown))
            .collect();
        let Note {
            texts,
            remarks,
            marks,
        } = notes::grouped(found);
        let cells = self.lines.iter_mut().flat_map(|line| &mut line.cells);
        for (cell, marks) in cells.zip(marks) {
            cell.marks = marks;
        }
        (self.notes, self.remarks) = (texts, remarks);
    }

    /// `closed loop, 8 clients`: what all cells have in common, and the range of a rate that each block has of its own.
    pub(crate) fn set_up(&self) -> String {
        let loads = self.cells().filter_map(|cell| cell.load.as_ref());
        let modes: Vec<&Mode> = loads.filter_map(|load| load.mode.as_ref()).collect();
        let mut parts = vec![names::load_loop(self.open).to_string()];
        let described: Vec<[Option<String>; 3]> = modes.into_iter().map(describe).collect();
        for place in 0..3 {
            let mut texts = described.iter().map(|parts| &parts[place]);
            let first = texts.next().cloned().flatten();
            let common = first.filter(|first| texts.all(|text| text.as_ref() == Some(first)));
            let of_blocks = match place {
                RATE => self.rates_of_blocks(),
                _ => None,
            };
            parts.extend(of_blocks.or(common));
        }
        parts.join(", ")
    }

    /// `1,704 to 1,993 requests/s`: a share of the maximum is that of each block. None where the blocks of each cell have the same rate.
    fn rates_of_blocks(&self) -> Option<String> {
        let rates = |cell: &Cell| -> Vec<f64> {
            let blocks = cell.blocks.iter();
            blocks.filter_map(|block| block.load.mode.rate()).collect()
        };
        let differ = |cell: &Cell| rates(cell).windows(2).any(|pair| pair[0] != pair[1]);
        self.cells().any(differ).then_some(())?;
        let range = format::range(self.cells().flat_map(rates), format::operations)?;
        Some(format!("{range} requests/s"))
    }

    pub(crate) fn spread(&self) -> &'static str {
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

/// The place of the rate in [`describe`].
const RATE: usize = 1;

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
