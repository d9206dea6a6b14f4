//! Resource use of the server and of the load generator.

use super::grid::cell::Cell as Point;
use crate::build::rounds::resources;
use crate::document::{Block, Cell, Column, ColumnContent, Section, Table};
use crate::format;
use explain::Misses;

pub(super) fn section(cells: &[&Point]) -> Option<Section> {
    if cells.is_empty() {
        return None;
    }
    let columns = Column::list(&[
        (ColumnContent::Words, &["cell"]),
        (
            ColumnContent::Figure,
            &[
                "server CPU (cores)",
                "context switches per operation",
                "disk read/s",
                "disk written/s",
                "network/s",
                "generator CPU (cores)",
                "generator CPU (share of the machine)",
                "lateness (us)",
                "sampler CPU (cores)",
            ],
        ),
        (ColumnContent::Words, &["buffer pool misses/s"]),
    ]);
    let table = Table::new("", columns, cells.iter().map(|cell| row(cell)));
    let about = "Means over the measured seconds of all blocks; \"-\" where it could not be read. Lateness is the load generator's own against its schedule: p99 of the worst block.";
    let nodes = vec![Block::remark(about).page(), Block::table(table).page()];
    Section::unless_empty("machine", "Server, disk and load generator", nodes)
}

fn row(cell: &Point) -> Vec<Cell> {
    let cores = |value: Option<f64>| Cell::figure(value, |cores| format!("{cores:.2}"));
    let bytes = |name: &str| Cell::figure(cell.mean(name), |bytes| format::bytes(bytes as u64));
    let done = cell.mean("throughput").filter(|done| *done > 0.0);
    let switches = cell.mean("server context switches").zip(done);
    let engines = cell.blocks.iter().map(|block| &block.load.engine);
    let lateness = engines
        .filter_map(|engine| engine.lateness_us_p99)
        .reduce(f64::max);
    vec![
        Cell::text(&cell.name).remarked(remarks(cell)),
        cores(cell.mean("server cpu")),
        Cell::figure(
            switches.map(|(switches, done)| switches / done),
            format::ratio,
        ),
        bytes("device read bytes"),
        bytes("device written bytes"),
        bytes("network bytes"),
        cores(cell.over_blocks(|block| block.summary.engine.cores)),
        Cell::figure(
            cell.over_blocks(|block| block.summary.engine.share),
            format::percent,
        ),
        Cell::figure(lateness, |us| format!("{us:.0}")),
        Cell::figure(cell.mean("sampler cpu"), |cores| format!("{cores:.4}")),
        misses(cell),
    ]
}

/// Per second, and where they were served from.
fn misses(cell: &Point) -> Cell {
    let settings = cell.blocks.first().map(|block| &block.trial.settings);
    let page_size = settings.and_then(|settings| settings.get("innodb_page_size"));
    let misses = Misses::of(|name| cell.mean(name), page_size.map(String::as_str));
    resources::in_words(misses)
}

/// The load generator's backend, and how it affected the result.
fn remarks(cell: &Point) -> Vec<String> {
    let first = cell.blocks.first().map(|block| &block.load.engine);
    let backend = first.map(|engine| {
        let reactors = format::plural(engine.reactors as usize, "reactor");
        format!("{}, {reactors}", engine.backend)
    });
    let checks = cell.blocks.iter().map(|block| &block.summary.engine);
    let affected = checks.flat_map(|check| [&check.invalid, &check.limit, &check.note]);
    let mut remarks: Vec<String> = backend
        .into_iter()
        .chain(affected.flatten().cloned())
        .collect();
    remarks.dedup();
    remarks
}
