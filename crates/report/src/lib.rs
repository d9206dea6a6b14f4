//! Everything a reader gets from a run: tables in the terminal, JSON and CSV for scripts, Markdown for an issue, one HTML page.
//!
//! Purpose: [`Document::of`] builds one document from the record alone, so a report can be made again at any time from
//! `run.sqlite`; every form is rendered from that document. Boundaries: measuring, judging and explaining are not done here
//! (see `record::stats` and `explain`), and no file is written.
//!
//! A new section is one builder in `build` that returns blocks, and a line in its list of sections: the renderers draw blocks, not
//! sections. A new kind of block is a variant of [`Block`] and an arm in terminal, Markdown and page.

mod build;
mod document;
mod format;
mod names;
mod render;
mod why;

pub use build::Detail;
pub use document::*;
pub use render::{csv, html, json, markdown, samples, terminal};
