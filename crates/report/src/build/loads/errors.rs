//! Operations that failed, by the server's error number.

use super::grid::cell::Cell as Point;
use crate::document::{Block, Cell, Column, ColumnContent, Section, Table};
use crate::format;
use std::collections::BTreeMap;

pub(super) fn section(cells: &[&Point]) -> Option<Section> {
    let rows: Vec<Vec<Cell>> = cells.iter().flat_map(|cell| rows(cell)).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = Column::list(&[
        (ColumnContent::Words, &["cell"]),
        (ColumnContent::Figure, &["number"]),
        (ColumnContent::Label, &["name"]),
        (ColumnContent::Figure, &["count"]),
    ]);
    let about = "In all seconds of all blocks, warm-up included: failures, lost operations and the errors behind retries. Numbers above 60,000 are prony's own.";
    let nodes = vec![
        Block::remark(about).page(),
        Block::table(Table::new("", columns, rows)).page(),
    ];
    Section::unless_empty("errors", "Errors", nodes)
}

fn rows(cell: &Point) -> Vec<Vec<Cell>> {
    let mut codes: BTreeMap<u16, u64> = BTreeMap::new();
    for error in cell.blocks.iter().flat_map(|block| &block.load.errors) {
        *codes.entry(error.code).or_default() += error.count;
    }
    let row = |(code, count): (&u16, &u64)| {
        let count = format::count(*count as f64);
        [
            cell.name.clone(),
            code.to_string(),
            words(*code).to_string(),
            count,
        ]
        .map(Cell::text)
        .to_vec()
    };
    codes.iter().map(row).collect()
}

/// Common errors, from the server's list of error messages.
pub(super) fn words(code: u16) -> &'static str {
    match code {
        1020 => "record has changed",
        1040 => "too many connections",
        1053 => "server shutdown",
        1062 => "duplicate key",
        1205 => "lock wait timeout",
        1213 => "deadlock",
        1317 => "interrupted",
        1927 => "connection killed",
        2006 => "server has gone away",
        2013 => "lost connection",
        64_902 => "not committed: a transaction is open or autocommit is off",
        _ => "",
    }
}
