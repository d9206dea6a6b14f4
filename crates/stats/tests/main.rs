//! All tests of the crate beside those in its sources: one program.
//!
//! Tier: default. A file that does more in a higher one says so.

mod common;

mod claims;
mod contrasts;
mod known_answers;
mod limit;
mod loads;
mod methodology;
mod moderated;
mod predictions;
mod sequential;
mod slices;
#[path = "../../../tests/support/tier.rs"]
mod tier;
