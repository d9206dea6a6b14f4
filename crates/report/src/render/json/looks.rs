//! The blocks of a run whose number depends on its claims.

use super::levels;
use crate::looks::Blocks;
use record::{Ended, Look};
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub(super) struct BlocksNote<'a> {
    first: u32,
    most: u32,
    within_s: Option<f64>,
    ended: Option<Ended>,
    looks: &'a [Look],
    cells: Vec<CellNote<'a>>,
}

#[derive(Serialize)]
struct CellNote<'a> {
    server: Option<&'a str>,
    levels: Map<String, Value>,
    blocks: usize,
    went_on: bool,
}

impl BlocksNote<'_> {
    pub(super) fn of(blocks: &Blocks) -> BlocksNote<'_> {
        let cells = blocks.cells.iter().map(|cell| CellNote {
            server: cell.server.as_deref(),
            levels: levels(&cell.levels),
            blocks: cell.blocks,
            went_on: cell.went_on,
        });
        BlocksNote {
            first: blocks.looks.first(),
            most: blocks.looks.most(),
            within_s: blocks.looks.within_s,
            ended: blocks.looks.ended,
            looks: blocks.looks.all(),
            cells: cells.collect(),
        }
    }
}
