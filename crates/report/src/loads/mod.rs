//! Timed loads as tables: what they say, decided once for the terminal, Markdown and HTML.
//!
//! Goal: the published form, one row per server and settings and one column per number of clients, workers or rate.
//! Closed and open loads are never in one table. Non-goals: how a table is drawn; rounds of queries (`matrix`).

mod answers;
mod columns;
mod grid;
mod notes;
mod scaling;
mod sheet;

pub use answers::answers;
pub use grid::{Cell, Grid, grids};
pub use scaling::scaling;
pub use sheet::{Figure, Sheet, SheetRow};

use record::Run;

/// Whether the experiment measures for a time; such trials have no rounds.
pub fn timed(run: &Run) -> bool {
    run.question.rounds.is_empty()
}
