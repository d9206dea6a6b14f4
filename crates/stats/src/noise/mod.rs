//! How noisy the trials of an experiment are, and what its blocks can therefore decide.
//!
//! Purpose: the A/A control, the smallest effect that is seen, and the parts of the variance. Boundaries: claims are judged in `judge`.

pub(crate) mod control;
pub(crate) mod power;
pub(crate) mod variance;
