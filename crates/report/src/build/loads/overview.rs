//! The cells of a grid in one table, a row for each: what the terminal shows first.

use super::grid::cell::{Block, Cell as Point};
use super::grid::{Grid, Line};
use super::measure::Measure;
use crate::document::{Cell, Column, ColumnContent, Table};
use crate::{format, names};
use record::{LatencyKind, Percentile};

/// With more cells, a table of throughput by the levels of the load is easier to read.
const CELLS_MAX: usize = 40;
const SHOWN: [Percentile; 3] = [Percentile::P50, Percentile::P95, Percentile::P99];

/// Throughput, latency and errors of each cell; none of too many where another table has fewer rows.
pub(super) fn table(grid: &Grid) -> Option<Table> {
    let cells = grid.cells().filter(|cell| cell.exists()).count();
    if cells > CELLS_MAX && grid.across.is_some() {
        return None;
    }
    let mut columns = Column::of(ColumnContent::Label, labels(grid));
    let percentiles = SHOWN.map(Percentile::title).into_iter();
    let heads = ["ops/s", "average"].into_iter().chain(percentiles);
    columns.extend(Column::of(ColumnContent::Figure, heads.chain(["errors"])));
    let rows = grid.lines.iter().flat_map(|line| rows(grid, line));
    let (spread, set_up) = (grid.spread(), grid.set_up());
    let caption = format!("Throughput (ops/s) and latency (ms){spread}; {set_up}");
    Some(Table::new(caption, columns, rows))
}

/// The heads of the columns that name a cell.
pub(super) fn labels(grid: &Grid) -> impl Iterator<Item = String> {
    let across = grid.across.as_ref().map(|across| across.factor.clone());
    grid.factors.iter().cloned().chain(across)
}

fn rows<'g>(grid: &'g Grid, line: &'g Line) -> impl Iterator<Item = Vec<Cell>> + 'g {
    points(grid, line).map(|(mut row, cell)| {
        let mut figures = figures(cell);
        // The figures need the space more than a label does.
        if let Some(label) = row.last_mut() {
            label.marks = std::mem::take(&mut figures[0].marks);
        }
        row.extend(figures);
        row
    })
}

/// The cells of a line that exist, each with its labels.
pub(super) fn points<'g>(
    grid: &'g Grid,
    line: &'g Line,
) -> impl Iterator<Item = (Vec<Cell>, &'g Point<'g>)> {
    let cells = line.cells.iter().enumerate();
    let cells = cells.filter(|(_, cell)| cell.exists());
    cells.map(move |(place, cell)| {
        let across = grid
            .across
            .as_ref()
            .map(|across| (&across.factor, &across.levels[place]));
        let levels = grid.factors.iter().zip(&line.labels).chain(across);
        let labels = levels.map(|(factor, level)| Cell::label(with_rate(cell, factor, level)));
        (labels.collect(), cell)
    })
}

/// A level; a share of the maximum with the rate that it was set to: `60% of max (7,230/s)`. Each block has its own maximum.
fn with_rate(cell: &Point, factor: &str, level: &str) -> String {
    let is_share = factor == "rate" && level.parse::<f64>().is_err();
    let load = cell.load.as_ref().filter(|_| is_share);
    let set = |block: &Block| block.load.mode.rate().unwrap_or(0.0);
    let rate = load.and_then(|_| cell.over_blocks(set));
    match rate {
        Some(rate) => format!("{level} ({}/s)", format::operations(rate)),
        None => names::bare_level(factor, level),
    }
}

fn figures(cell: &Point) -> Vec<Cell> {
    let average = cell.load.as_ref().and_then(|load| load.average.as_ref());
    let average = Cell::figure(average.map(|one| one.mean), format::milliseconds);
    let mut row = vec![Measure::Throughput.cell(cell), average];
    let is_unstable = cell.is_unstable();
    for (place, percentile) in SHOWN.into_iter().enumerate() {
        let found = Measure::Latency(LatencyKind::Response, percentile).cell(cell);
        row.push(if is_unstable && place > 0 {
            Cell::none()
        } else {
            Cell::text(found.text)
        });
    }
    let errors = cell.blocks.iter().map(|block| block.summary.errors);
    row.push(if cell.blocks.is_empty() {
        Cell::none()
    } else {
        Cell::text(format::count(errors.sum::<u64>() as f64))
    });
    row
}
