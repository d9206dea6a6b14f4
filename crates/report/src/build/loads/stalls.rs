//! Each stall with its cause, where the series of the same seconds show one.
//!
//! Boundaries: which series show which cause is known to `explain`.

use super::grid::cell::{Block as OneBlock, Cell as Point};
use crate::document::{Block, Cell, Column, ColumnContent, Section, Table};
use crate::format;
use explain::{NamedCause, StallEvidence, stall_causes};
use record::{Moved, Stall};

/// `unknown` is the text for a stall without a named cause.
pub(super) fn section(cells: &[&Point], unknown: &str) -> Option<Section> {
    let blocks = cells
        .iter()
        .flat_map(|cell| cell.blocks.iter().map(move |block| (cell, block)));
    let rows: Vec<Vec<Cell>> = blocks
        .flat_map(|(cell, block)| {
            let stalls = block.summary.stalls.iter();
            stalls.map(move |stall| row(cell, block, stall, unknown))
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let columns = Column::list(&[
        (ColumnContent::Words, &["cell"]),
        (
            ColumnContent::Figure,
            &[
                "block",
                "at (s)",
                "seconds",
                "fewer operations",
                "median latency (ms)",
            ],
        ),
        (
            ColumnContent::Words,
            &["cause shown", "series during the stall (usual)"],
        ),
    ]);
    let about = "A cause is named if its own series show it during the stall and not in the other seconds. It suggests what to look at, and proves nothing. Without a known cause, the table lists the counters that rose.";
    let nodes = vec![
        Block::table(Table::new("", columns, rows)).page(),
        Block::remark(about).page(),
    ];
    Section::unless_empty("stalls", "Stalls", nodes)
}

fn row(cell: &Point, block: &OneBlock, stall: &Stall, unknown: &str) -> Vec<Cell> {
    let causes = stall_causes(block.trial, block.load, block.summary, stall);
    let named: Vec<String> = causes.iter().map(|named| named.cause.text()).collect();
    let evidence: Vec<String> = causes.iter().flat_map(shown).collect();
    let evidence = if evidence.is_empty() {
        stall.moved.iter().map(moved).collect()
    } else {
        evidence
    };
    vec![
        Cell::text(cell.named_with_loop()),
        Cell::text((block.trial.key.block + 1).to_string()),
        Cell::text(stall.start_s.to_string()),
        Cell::text(stall.seconds.to_string()),
        Cell::text(format::count(stall.operations_lost)),
        Cell::figure(stall.late_ms, format::milliseconds),
        if named.is_empty() {
            Cell::text(unknown)
        } else {
            Cell::text(named.join("; "))
        },
        Cell::text(evidence.join("; ")),
    ]
}

fn shown(named: &NamedCause) -> impl Iterator<Item = String> {
    named.evidence.iter().map(|one: &StallEvidence| {
        format!(
            "{} {} ({})",
            one.series,
            format::operations(one.during),
            format::operations(one.usual)
        )
    })
}

fn moved(moved: &Moved) -> String {
    format!(
        "{} {} ({})",
        moved.name,
        format::operations(moved.during),
        format::operations(moved.usual)
    )
}
