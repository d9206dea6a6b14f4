//! The rows of timed loads, arranged: one line per server and settings, one cell per level of the factor across.

use super::columns::{self, Across};
use super::notes::{self, Found, Note};
use crate::names;
use record::stats::{self, LoadRow, Row, Summary};
use record::{Mode, Percentile, Question, Run, Trial, TrialState};
use std::borrow::Cow;

pub struct Grid<'t> {
    /// Closed and open loads are in grids of their own.
    pub open: bool,
    /// The heads of the columns that name a line.
    pub factors: Vec<String>,
    pub across: Option<Across>,
    pub lines: Vec<Line<'t>>,
    /// Footnotes; the first is number 1.
    pub notes: Vec<String>,
    /// What is true of every cell alike.
    pub remarks: Vec<String>,
}

pub struct Line<'t> {
    pub labels: Vec<String>,
    /// One for each level across; a single one where nothing is across.
    pub cells: Vec<Cell<'t>>,
}

/// A row of the record, with its trials.
#[derive(Default)]
pub struct Cell<'t> {
    /// `5.6 · large pool · 8`
    pub name: String,
    /// None where the matrix has no such point, or no trial of it was recorded.
    pub row: Option<Row>,
    /// None where no trial of the row came to its load.
    pub load: Option<LoadRow>,
    /// The trials that count, with their summaries, by block.
    pub counted: Vec<(&'t Trial, Cow<'t, Summary>)>,
    /// Failed and invalid trials.
    pub left_out: Vec<&'t Trial>,
    pub marks: Vec<usize>,
}

/// The open loads, if any, then the closed ones.
pub fn grids<'t>(run: &Run, trials: &'t [Trial]) -> Vec<Grid<'t>> {
    let question = &run.question;
    let loads = stats::loads(question, trials);
    let rows = stats::table(question, trials);
    let open = |row: &Row| {
        load_of(&loads, row)
            .and_then(|load| load.mode.as_ref())
            .map(is_open)
    };
    // A row that never came to its load stands where most of the others do.
    let usual = 2 * rows.iter().filter(|row| open(row) == Some(true)).count()
        > rows.iter().filter(|row| open(row).is_some()).count();
    [true, false]
        .into_iter()
        .filter_map(|wanted| {
            let own: Vec<&Row> = rows
                .iter()
                .filter(|row| open(row).unwrap_or(usual) == wanted)
                .collect();
            (!own.is_empty()).then(|| grid(question, wanted, &own, &loads, trials))
        })
        .collect()
}

fn is_open(mode: &Mode) -> bool {
    matches!(mode, Mode::Open { .. })
}

fn load_of<'l>(loads: &'l [LoadRow], row: &Row) -> Option<&'l LoadRow> {
    loads
        .iter()
        .find(|load| load.server == row.server && load.levels == row.levels)
}

fn grid<'t>(
    question: &Question,
    open: bool,
    rows: &[&Row],
    loads: &[LoadRow],
    trials: &'t [Trial],
) -> Grid<'t> {
    let across = columns::across(question, rows);
    let factors = label_factors(question, rows, across.as_ref());
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let labels = labels(row, &factors);
        let column = across.as_ref().map_or(0, |across| place(across, row));
        let line = match lines.iter().position(|line| line.labels == labels) {
            Some(line) => &mut lines[line],
            None => {
                let count = across.as_ref().map_or(1, |across| across.levels.len());
                lines.push(Line {
                    labels,
                    cells: (0..count).map(|_| Cell::default()).collect(),
                });
                lines.last_mut().expect("it was pushed")
            }
        };
        line.cells[column] = cell(question, row, load_of(loads, row), trials);
    }
    by_rate(&mut lines, &factors);
    let mut grid = Grid {
        open,
        factors: std::iter::once("server".to_string())
            .chain(factors)
            .collect(),
        across,
        lines,
        notes: Vec::new(),
        remarks: Vec::new(),
    };
    grid.annotate();
    grid
}

/// Rates that were searched for go up within what else names a line; the file has no order of them.
fn by_rate(lines: &mut Vec<Line>, factors: &[String]) {
    let Some(rate) = factors.iter().position(|factor| factor == "rate") else {
        return;
    };
    let mut others: Vec<Vec<String>> = Vec::new();
    let mut keyed: Vec<(usize, f64, Line)> = Vec::new();
    for line in lines.drain(..) {
        let mut other = line.labels.clone();
        let rate = other.remove(rate + 1).parse().unwrap_or(f64::INFINITY);
        let known = others.iter().position(|known| *known == other);
        let place = known.unwrap_or_else(|| {
            others.push(other);
            others.len() - 1
        });
        keyed.push((place, rate, line));
    }
    keyed.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    lines.extend(keyed.into_iter().map(|(_, _, line)| line));
}

/// Factors that name a line: those in which the rows differ, without the one across.
fn label_factors(question: &Question, rows: &[&Row], across: Option<&Across>) -> Vec<String> {
    let names = question.factors.iter().map(|factor| &factor.name);
    names
        .filter(|name| across.is_none_or(|across| across.factor != **name))
        .filter(|name| names::varies(question, name))
        .filter(|name| {
            columns::levels(question, rows, name).len() > 1 || !question_knows(question, name)
        })
        .cloned()
        .collect()
}

/// Whether the levels of a factor were in the file.
fn question_knows(question: &Question, name: &str) -> bool {
    let factor = question.factors.iter().find(|factor| factor.name == name);
    factor.is_some_and(|factor| !factor.levels.is_empty())
}

fn labels(row: &Row, factors: &[String]) -> Vec<String> {
    let levels = factors
        .iter()
        .map(|factor| columns::level(row, factor).unwrap_or_default().to_string());
    std::iter::once(row.server.clone().unwrap_or_default())
        .chain(levels)
        .collect()
}

fn place(across: &Across, row: &Row) -> usize {
    let level = columns::level(row, &across.factor);
    let place = across
        .levels
        .iter()
        .position(|known| Some(known.as_str()) == level);
    place.unwrap_or_default()
}

fn cell<'t>(
    question: &Question,
    row: &Row,
    load: Option<&LoadRow>,
    trials: &'t [Trial],
) -> Cell<'t> {
    let mut own: Vec<&Trial> = trials
        .iter()
        .filter(|trial| trial.key.server == row.server && trial.key.levels == row.levels)
        .collect();
    own.sort_by_key(|trial| trial.key.block);
    let (done, left_out): (Vec<_>, Vec<_>) = own
        .into_iter()
        .partition(|trial| trial.state == TrialState::Done);
    let counted = done
        .into_iter()
        .filter_map(|trial| Some((trial, stats::summary(trial.load.as_deref()?))))
        .collect();
    Cell {
        name: names::row(question, row.server.as_deref(), &row.levels),
        row: Some(row.clone()),
        load: load.cloned(),
        counted,
        left_out,
        marks: Vec::new(),
    }
}

impl<'t> Grid<'t> {
    pub fn cells(&self) -> impl Iterator<Item = &Cell<'t>> {
        self.lines.iter().flat_map(|line| &line.cells)
    }

    /// The highest percentile that tables of one percentile show: most stable cells have it (rule 4).
    pub fn percentile(&self) -> Percentile {
        let stable = || {
            self.cells()
                .filter_map(|cell| cell.load.as_ref())
                .filter(|load| load.unstable.is_empty())
        };
        let all = stable().count();
        let have = |percentile: &Percentile| {
            let with = stable().filter(|load| {
                load.latency
                    .of(record::Kind::Response, *percentile)
                    .is_some()
            });
            2 * with.count() > all
        };
        let found = [Percentile::P99, Percentile::P95, Percentile::P50]
            .into_iter()
            .find(have);
        found.unwrap_or(Percentile::P99)
    }

    fn annotate(&mut self) {
        let percentile = self.percentile();
        let found: Vec<Vec<Found>> = self
            .cells()
            .map(|cell| notes::of(cell, percentile))
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
}

impl Cell<'_> {
    /// By how many the queue grows each second, in the mean of the unstable blocks; none where it was stable, or the
    /// queue did not grow because arrivals were dropped or held.
    pub fn growth(&self) -> Option<f64> {
        let offered = self
            .counted
            .iter()
            .filter_map(|(_, summary)| summary.offered.as_ref());
        let unstable: Vec<f64> = offered
            .filter(|offered| offered.unstable.is_some())
            .map(|offered| offered.growth)
            .collect();
        let mean = unstable.iter().sum::<f64>() / unstable.len().max(1) as f64;
        (mean >= 0.5).then_some(mean)
    }

    pub fn unstable(&self) -> bool {
        self.load
            .as_ref()
            .is_some_and(|load| !load.unstable.is_empty())
    }
}
