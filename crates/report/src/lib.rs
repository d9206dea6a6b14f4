//! Everything a reader gets from a run: tables in the terminal, JSON and CSV for scripts, Markdown for an issue, one HTML page.
//!
//! Purpose: [`Document::of`] builds one document from the record alone, so a report can be made again at any time from
//! `run.sqlite`; every form is rendered from that document. Boundaries: measuring, judging and explaining are not done here
//! (see `stats` and `explain`), and no file is written.
//!
//! A new section is one builder in `build` that returns blocks, and a line in its list of sections: the renderers draw blocks, not
//! sections. A new kind of block is a variant of [`Block`] and an arm in terminal, Markdown and page.

mod build;
mod document;
mod format;
mod gate;
mod looks;
mod names;
mod render;
mod why;

/// How the servers of a run compare with the first one, a line for each value that a gate tests.
pub fn answer(document: &Document) -> Vec<String> {
    build::ratios::contrasts::sentences(&document.run.question, &document.contrasts)
}

/// The effective settings that a table needs; forms with more need all of them.
pub fn settings_shown() -> Vec<&'static str> {
    let shown = build::loads::conditions::DURABILITY.iter();
    let shown = shown.chain([&build::loads::conditions::POOL]).copied();
    explain::telling_settings()
        .into_iter()
        .chain(shown)
        .collect()
}

/// The series of a load that a table needs.
pub use build::loads::conditions::SERIES as SERIES_SHOWN;
pub use build::{Detail, Measured};
pub use document::*;
pub use format::ratio;
pub use gate::{Allowed, Check, CheckResult, Gate, Outcome, Strictness};
pub use looks::{Blocks, CellBlocks};
pub use render::{
    Screen, comparison_json, comparison_markdown, comparison_terminal, csv, gate_markdown, html,
    in_ascii, json, junit, lines, markdown, samples, terminal, width, wrapped,
};
