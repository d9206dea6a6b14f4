//! Loads of a benchmark with a standard: the rate that it counts, and each operation against its requirements.
//!
//! Boundaries: what the requirements are and whether they are met is known to `record::Conformance`.

use super::grid::cell::{Block as OneBlock, Cell as Point};
use crate::document::{Badge, Block, Cell, Column, ColumnContent, Most, Section, Table};
use crate::format;
use record::{Conformance, Conforming};

/// Rows of the terminal; the page and Markdown show all.
const ROWS: usize = 20;

pub(super) fn section(cells: &[&Point]) -> Option<Section> {
    let cells: Vec<&Point> = cells
        .iter()
        .copied()
        .filter(|cell| conformances(cell).next().is_some())
        .collect();
    let first = cells.first().and_then(|cell| conformances(cell).next())?;
    let is_single = cells.len() == 1;
    let rows = cells.iter().flat_map(|cell| operations(cell, is_single));
    // A single cell needs no column, and the terminal has little width.
    let labels: &[&str] = if is_single {
        &["operation"]
    } else {
        &["cell", "operation"]
    };
    let columns = Column::list(&[
        (ColumnContent::Label, labels),
        (
            ColumnContent::Figure,
            &["done", "share", "minimum", "p90 (ms)", "limit (ms)"],
        ),
        (ColumnContent::Words, &["requirements"]),
    ]);
    let caption = "Each operation in the measured part: done in all blocks; its share of the mix and the 90th percentile of its response time in the worst block";
    let table = Table::new(caption, columns, rows).most(Most::in_terminal(ROWS));
    let about = format!(
        "{} is the number of {} transactions per minute, including those rolled back on purpose. It is not a result under the benchmark's standard, which requires more than this run.",
        first.per_minute, first.counted
    );
    let nodes = vec![
        Block::table(counted(&cells, first)).everywhere(),
        Block::table(table).everywhere(),
        Block::remark(about).everywhere(),
    ];
    Section::unless_empty("operations", "Operations", nodes)
}

fn conformances<'c>(cell: &'c Point) -> impl Iterator<Item = &'c Conformance> {
    let blocks = cell.blocks.iter();
    blocks.filter_map(|block: &OneBlock| block.summary.conformance.as_ref())
}

/// The counted rate, per second and per minute.
fn counted(cells: &[&Point], first: &Conformance) -> Table {
    let columns = Column::list(&[
        (ColumnContent::Label, &["cell"]),
        (
            ColumnContent::Figure,
            &[&format!("{}/s", first.counted), first.per_minute.as_str()],
        ),
    ]);
    let row = |cell: &&Point| {
        let load = cell.load.as_ref();
        let rate = load.and_then(|load| load.counted.as_ref());
        vec![
            Cell::text(cell.name.clone()),
            Cell::estimate(rate, format::operations),
            Cell::estimate(rate, |rate| format::operations(60.0 * rate)),
        ]
    };
    let has_interval = |cell: &&Point| {
        let load = cell.load.as_ref();
        load.is_some_and(|load| load.counted.as_ref().is_some_and(|rate| rate.ci.is_some()))
    };
    let spread = if cells.iter().any(has_interval) {
        "mean over blocks, 95 % CI"
    } else {
        "one block, no CI"
    };
    let caption = format!(
        "{} transactions per second and per minute, {spread}",
        first.counted
    );
    Table::new(caption, columns, cells.iter().map(row))
}

fn operations(cell: &Point, is_single: bool) -> Vec<Vec<Cell>> {
    let found: Vec<&Conformance> = conformances(cell).collect();
    let count = found.first().map_or(0, |first| first.operations.len());
    let row = |place: usize| {
        let blocks: Vec<&Conforming> = found
            .iter()
            .filter_map(|one| one.operations.get(place))
            .collect();
        let name = match place {
            0 => Cell {
                below: count - 1,
                ..Cell::text(cell.name.clone())
            },
            _ => Cell::default(),
        };
        let name = (!is_single).then_some(name);
        name.into_iter().chain(operation(&blocks)).collect()
    };
    (0..count).map(row).collect()
}

/// One operation over all blocks: counts are added, and the worst block decides.
fn operation(blocks: &[&Conforming]) -> Vec<Cell> {
    let Some(first) = blocks.first() else {
        return Vec::new();
    };
    let done: u64 = blocks.iter().map(|one| one.count).sum();
    let shares: Vec<f64> = blocks.iter().filter_map(|one| one.share).collect();
    let share = shares.iter().copied().reduce(f64::min);
    let p90 = blocks.iter().filter_map(|one| one.p90_ms).reduce(f64::max);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    vec![
        Cell::text(first.name.clone()),
        Cell::text(format::count(done as f64)),
        Cell::figure(share, percent),
        Cell::figure(first.minimum_share, percent),
        Cell::figure(p90, format::milliseconds),
        Cell::text(format::count(first.limit_ms)),
        verdict(blocks),
    ]
}

/// A requirement that one block misses is missed; one that a block cannot decide is open.
fn verdict(blocks: &[&Conforming]) -> Cell {
    let share_missed = blocks.iter().any(|one| one.share_met() == Some(false));
    let limit_missed = blocks.iter().any(|one| one.limit_met() == Some(false));
    let is_open = blocks.iter().any(|one| one.limit_met().is_none());
    let missed = [
        (share_missed, "share below the minimum"),
        (limit_missed, "p90 above the limit"),
    ];
    let missed: Vec<&str> = missed
        .into_iter()
        .filter_map(|(is_missed, text)| is_missed.then_some(text))
        .collect();
    match (missed.is_empty(), is_open) {
        (false, _) => Cell::text(missed.join(", ")).badged(Badge::No),
        (true, true) => {
            Cell::text("no p90: too few operations, or an unstable load").badged(Badge::None)
        }
        (true, false) => Cell::text("met").badged(Badge::Yes),
    }
}
