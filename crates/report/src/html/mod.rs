//! `report.html`: one file that holds everything, works offline and loads nothing.
//!
//! Goal: a page that its maker would sign: the answer first, then the evidence, then how to repeat it. Every text of the
//! record is escaped. Without JavaScript the tables still say everything; charts and the choice of rows need it.

mod charts;
mod coldness;
mod counters;
mod data;
mod environment;
mod events;
mod loads;
mod page;
mod plans;
mod profile;
mod queries;
mod rows;
mod settings;
mod summary;
mod used;
mod why;

use record::{Run, Trial};

/// The whole page. Timed loads have to be read whole; for rounds the counters of queries are left out where they were not read.
pub fn html(run: &Run, trials: &[Trial]) -> String {
    page::page(run, trials).into_string()
}
