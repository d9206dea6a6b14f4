//! How many blocks each cell has, which went on after a look at the claims, and why the run stopped.

use crate::document::{Block, Cell, Column, ColumnContent, Document, Most, Section, Table};
use crate::format;
use crate::looks::{Blocks, CellBlocks};
use record::Look;

/// Rows in the terminal.
const MOST: usize = 20;

/// None for a fixed number of blocks.
pub(crate) fn section(document: &Document) -> Option<Section> {
    let blocks = document.blocks.as_ref()?;
    let columns = Column::list(&[
        (ColumnContent::Label, &["cell"]),
        (ColumnContent::Figure, &["blocks"]),
        (ColumnContent::Label, &["after the first look"]),
    ]);
    let row = |cell: &CellBlocks| {
        let went_on = if cell.went_on { "went on" } else { "stopped" };
        vec![
            Cell::text(&cell.name),
            Cell::text(cell.blocks.to_string()),
            Cell::text(went_on),
        ]
    };
    let table = Table::new("", columns, blocks.cells.iter().map(row)).most(Most::in_terminal(MOST));
    let nodes = vec![
        Block::text(sentence(blocks)).everywhere(),
        Block::table(table).everywhere(),
        Block::remark("After each look only the cells of undecided claims go on, unless a look says otherwise. A claim counts its smallest p over the looks, each divided by the look's share of the error rate; the intervals of all looks hold together.").page(),
    ];
    Section::unless_empty("blocks", "Blocks", nodes)
}

/// `Looks after 3 blocks (40 % of the error rate), 5 (30 %) and 9 (30 %). Stopped: the maximum number of blocks was reached.`
fn sentence(blocks: &Blocks) -> String {
    let looks: Vec<String> = blocks.looks.all().iter().map(look).collect();
    let ended = match blocks.looks.ended {
        Some(ended) => format!("Stopped: {}.", ended.text()),
        None => "Not finished.".to_string(),
    };
    format!("Looks at the claims after {}. {ended}", looks.join(", "))
}

fn look(look: &Look) -> String {
    let added = match (look.added, look.only_undecided) {
        (false, _) => "",
        (true, true) => ", added to the finished run for the cells of undecided claims",
        (true, false) => ", added to the finished run for all cells",
    };
    format!(
        "{} ({} % of the error rate{added})",
        format::plural(look.blocks as usize, "block"),
        (look.weight * 1000.0).round() / 10.0
    )
}
