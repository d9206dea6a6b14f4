//! The charts of timed loads, with the tables that belong to them.

pub(crate) mod boxes;
pub(crate) mod curves;
pub(crate) mod distribution;
pub(crate) mod predicted;
pub(crate) mod seconds;
pub(crate) mod slim;
mod states;

/// The names of charts that share a place: `seconds`, `seconds-1`, ...
fn numbered(name: &str, place: usize) -> String {
    match place {
        0 => name.to_string(),
        place => format!("{name}-{place}"),
    }
}
