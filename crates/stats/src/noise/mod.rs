//! How noisy the trials of an experiment are, and what its blocks can therefore decide.
//!
//! Purpose: the A/A control, the smallest effect that is seen, the parts of the variance, and what a budget of time buys. Boundaries: claims are judged in `judge`.

pub(crate) mod budget;
pub(crate) mod control;
pub(crate) mod power;
pub(crate) mod slice_noise;
pub(crate) mod variance;
