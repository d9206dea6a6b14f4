//! What rounds of queries have besides their times: clients, what they used, how their tables were loaded.
//!
//! Goal: tables decided once for the terminal, Markdown and HTML. Non-goals: the times themselves (`matrix`), drawing.

mod clients;
mod datasets;
mod used;

pub use clients::clients;
pub use datasets::datasets;
pub use used::{of_queries, of_rounds};

use crate::format;
use crate::loads::Figure;
use record::stats::Estimate;

/// A figure with its interval, or a dash.
fn estimate(found: Option<&Estimate>, figure: impl Fn(f64) -> String) -> Figure {
    let Some(found) = found else {
        return Figure::none();
    };
    Figure {
        text: format::with_interval(found.mean, found.ci, &figure),
        beside: found.ci.map(format::half_width),
        interval: found.ci.map(|ci| format::interval(ci, figure)),
        ..Figure::default()
    }
}
