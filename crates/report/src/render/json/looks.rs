//! The blocks of a run whose number depends on its claims.

use super::levels;
use crate::looks::{Blocks, CellBlocks};
use serde_json::{Value, json};

pub(super) fn blocks(blocks: &Blocks) -> Value {
    let cell = |cell: &CellBlocks| {
        json!({
            "server": cell.server,
            "levels": levels(&cell.levels),
            "blocks": cell.blocks,
            "went_on": cell.went_on,
        })
    };
    json!({
        "first": blocks.looks.first(),
        "most": blocks.looks.most(),
        "within_s": blocks.looks.within_s,
        "ended": blocks.looks.ended,
        "looks": blocks.looks.all(),
        "cells": blocks.cells.iter().map(cell).collect::<Vec<_>>(),
    })
}
