//! Timed loads: one row per server and settings, one column per number of clients, workers or rate.
//!
//! Boundaries: closed and open loads never share a table or a chart. Rounds of queries are in `rounds`.

mod accounts;
mod answers;
mod around_events;
mod charts;
pub(crate) mod conditions;
mod errors;
mod grid;
mod machine;
mod measure;
mod operations;
mod overview;
mod recovery;
mod stalls;
mod tables;

use super::{Context, Detail};
use crate::document::Section;
use charts::{boxes, curves, distribution, predicted, seconds, slim};
use grid::Grid;
use grid::cell::Cell;

/// What the sections and the headline of timed loads share; empty for rounds.
#[derive(Default)]
pub(crate) struct Loads<'d> {
    grids: Vec<Grid<'d>>,
    pub answers: Vec<String>,
}

impl<'d> Loads<'d> {
    pub(super) fn of(context: &Context<'d>) -> Loads<'d> {
        if !super::timed(context.run) {
            return Loads::default();
        }
        Loads {
            grids: grid::grids(context),
            answers: answers::answers(context),
        }
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &Cell<'d>> {
        self.grids.iter().flat_map(Grid::cells)
    }

    /// The cells with at least one block.
    fn measured(&self) -> impl Iterator<Item = &Cell<'d>> {
        self.cells().filter(|cell| !cell.blocks.is_empty())
    }
}

pub(super) fn sections(context: &Context, loads: &Loads) -> Vec<Option<Section>> {
    let mut sections = vec![tables::section(context, loads)];
    let measured: Vec<&Cell> = loads.measured().collect();
    sections.push(operations::section(&measured));
    sections.push(accounts::section(context));
    sections.push(recovery::section(context));
    if context.detail == Detail::Full {
        sections.push(curves::section(&loads.grids));
    }
    sections
}

/// What the figures consist of.
pub(super) fn evidence(context: &Context, loads: &Loads) -> Vec<Option<Section>> {
    let measured: Vec<&Cell> = loads.measured().collect();
    if let Some(slim) = &context.run.slim {
        return vec![
            slim::section(slim),
            stalls::section(&measured, "not in a slim record"),
            slim::percentiles(&measured),
            errors::section(&measured),
        ];
    }
    vec![
        boxes::section(&measured),
        seconds::section(&measured),
        stalls::section(&measured, "not known"),
        distribution::section(&measured),
        predicted::section(context),
        around_events::section(context),
        errors::section(&measured),
        machine::section(&measured),
    ]
}
