//! New against old: rows of different runs, or of the servers of one run, value by value.
//!
//! Purpose: which rows and values can be compared, and what each pair says. Boundaries: `judge` tests; `report` draws.

pub(crate) mod across;
pub(crate) mod contrast;
pub(crate) mod likeness;
pub(crate) mod same_answers;
