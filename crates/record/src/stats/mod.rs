//! Figures with their intervals, verdicts, and what explains a difference: all from recorded trials alone.
//!
//! Goals: the rules 1, 2, 7 and 9 for numbers (docs/METHODOLOGY.md), each implemented once. Non-goals: drawing (crate
//! `report`), percentiles and series (they come with the load engine).
//!
//! Only trials that are done count. The unit is the trial, so every interval is over blocks.

mod cells;
mod explain;
mod holm;
mod judge;
mod meanings;
mod plans;
mod ratio;
mod spread;
mod table;

pub use explain::{Difference, Explanation, explain_largest};
pub use judge::{judge, needs_query_counters};
pub use meanings::meaning;
pub use plans::{PlanChange, plan_changes};
pub use ratio::{CONFIDENCE, Comparison, MARGIN, compare};
pub use table::{Estimate, QueryRow, RoundCell, Row, queries, table};
