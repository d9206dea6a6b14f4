//! Everything a reader gets from a run: tables in the terminal, JSON and CSV for scripts, Markdown for an issue, one HTML page.
//!
//! Goal: each form is a function of the record alone, `(&Run, &[Trial])`, so that a report can be made again at any time from
//! `run.sqlite`. Non-goals: nothing is measured, judged or estimated here (see `record::stats`), and no file is written.

mod csv;
mod digest;
mod format;
mod html;
mod json;
mod limits;
mod loads;
mod markdown;
mod matrix;
mod names;
mod plans;
mod rounds;
mod terminal;
mod why;

pub use csv::{csv, samples};
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use terminal::terminal;
