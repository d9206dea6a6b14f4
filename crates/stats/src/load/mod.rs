//! One timed load in figures: its measured part, its throughput, its latency, and whether they are valid.
//!
//! Purpose: `summary` holds everything that tables, claims and findings need of a load. Boundaries: one trial; `series` finds shapes in
//! numbers, `values` and `tables` put trials together.

pub(crate) mod accounts;
pub(crate) mod around_events;
pub(crate) mod conformance;
pub(crate) mod generator;
pub(crate) mod late_seconds;
pub(crate) mod measured;
pub(crate) mod percentiles;
pub(crate) mod recovery;
pub(crate) mod stability;
pub(crate) mod stale_reads;
pub(crate) mod stall;
pub(crate) mod steady;
pub(crate) mod summary;
#[cfg(test)]
mod tests;
