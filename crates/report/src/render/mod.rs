//! The forms of a report. Each takes the document alone: nothing is judged or compared here.

mod csv;
mod html;
mod json;
mod markdown;
mod terminal;

pub use csv::{csv, samples};
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use terminal::terminal;
