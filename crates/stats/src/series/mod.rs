//! Shapes of a series of numbers, one each second: changes, shifts, periods, trends, and what could have been seen.
//!
//! Purpose: each detector once, for loads and for the rounds of a device. Boundaries: `load` chooses the seconds.

pub(crate) mod batches;
pub(crate) mod change;
pub(crate) mod line;
pub(crate) mod period;
pub(crate) mod running;
pub(crate) mod shift;
pub(crate) mod sight;
pub mod snia;
