//! From values by block to intervals and tests: ratios, means, borrowed variances, and many tests at one error rate.
//!
//! Purpose: the mathematics of a comparison, once. Boundaries: plain numbers; `values` reads them from trials, `judge` tests claims.

pub(crate) mod benjamini;
pub(crate) mod estimate;
pub(crate) mod holm;
pub mod moderated;
pub(crate) mod ratio;
pub(crate) mod trigamma;
