//! The sections of a page of timed loads.
//!
//! Goal: every chart has a table with the same figures beside it, and closed and open loads never share a chart. Non-goals:
//! rounds of queries; judging.

mod around;
mod cells;
mod curves;
mod distribution;
mod errors;
mod machine;
mod option;
mod predicted;
mod seconds;
mod tables;

pub use tables::sheet;

use crate::loads::Grid;
use cells::Measured;
use maud::{Markup, html};
use record::{Run, Trial};
use serde_json::{Map, Value};

/// The tables and charts of a run.
pub struct Loads<'t> {
    grids: Vec<Grid<'t>>,
    /// The cells with figures, open loads first.
    cells: Vec<Measured<'t>>,
    predictions: Vec<record::stats::Prediction>,
}

impl<'t> Loads<'t> {
    pub fn of(run: &Run, trials: &'t [Trial]) -> Loads<'t> {
        let grids = crate::loads::grids(run, trials);
        Loads {
            cells: cells::measured(&grids),
            predictions: record::stats::predictions(&run.question, trials, run.seed),
            grids,
        }
    }

    pub fn sections(&self, run: &Run, trials: &[Trial]) -> Markup {
        html! {
            (tables::section(run, trials, &self.grids))
            (curves::section(&self.grids))
            (seconds::section(&self.cells))
            (distribution::section(&self.cells))
            (predicted::section(run, &self.predictions))
            (around::section(run, trials))
            (errors::section(&self.cells))
            (machine::section(&self.cells))
        }
    }

    /// The options of all charts by their names.
    pub fn options(&self, run: &Run) -> Value {
        let charts = curves::options(&self.grids)
            .into_iter()
            .chain(seconds::options(&self.cells))
            .chain(distribution::options(&self.cells))
            .chain(predicted::options(run, &self.predictions));
        Value::Object(charts.collect::<Map<String, Value>>())
    }
}
