//! The forms of a report. Each takes the document alone: nothing is judged or compared here.

mod csv;
mod html;
mod json;
mod junit;
mod markdown;
mod terminal;

pub use csv::{csv, samples};
pub use html::html;
pub use json::{comparison_json, json};
pub use junit::junit;
pub use markdown::{comparison_markdown, gate_markdown, markdown};
pub use terminal::{Screen, comparison_terminal, in_ascii, lines, terminal, width, wrapped};
