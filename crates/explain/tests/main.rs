//! All tests of the crate beside those in its sources: one program.
//!
//! Tier: default. A file that does more in a higher one says so.

#[path = "../../stats/tests/common/mod.rs"]
mod common;

mod causes;
mod largest;
mod plans;
mod ratio;
mod results;
mod right_or_silent;
mod stalls;
mod why;
