//! The blocks of each cell, and the looks at the claims after which they went on.

use crate::names;
use record::{Looks, Run, Trial, TrialState};

/// The blocks of a run whose number of blocks depends on the claims, or was raised later.
pub struct Blocks {
    pub looks: Looks,
    /// In the file's order.
    pub cells: Vec<CellBlocks>,
}

/// A cell of the matrix with the blocks in which it was measured.
pub struct CellBlocks {
    pub name: String,
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    /// Blocks whose trial counts.
    pub blocks: usize,
    /// Whether it was measured after the first look.
    pub went_on: bool,
}

impl Blocks {
    /// None for a fixed number of blocks.
    pub(crate) fn of(run: &Run, trials: &[Trial]) -> Option<Blocks> {
        let question = &run.question;
        let looks = question.looks.clone()?;
        let cell = |((server, levels), own): (stats::RowKey, Vec<&Trial>)| {
            let done = own.iter().filter(|trial| trial.state == TrialState::Done);
            CellBlocks {
                name: names::row(run, server, levels),
                blocks: done.count(),
                went_on: own.iter().any(|trial| trial.key.block >= looks.first()),
                server: server.map(String::from),
                levels: levels.to_vec(),
            }
        };
        let cells = stats::rows(question, trials)
            .into_iter()
            .map(cell)
            .collect();
        Some(Blocks { cells, looks })
    }
}
