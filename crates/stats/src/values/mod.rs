//! From a claim's cell to values by block: which trials, which value of each, and how exactly it is known.
//!
//! Purpose: a value is read from trials in one place, for claims, comparisons and spreads. Boundaries: `load` computes the figures of
//! one load; `judge` tests the values.

pub(crate) mod cells;
pub(crate) mod load_value;
pub(crate) mod resolution;
pub(crate) mod spread;
pub(crate) mod words;
