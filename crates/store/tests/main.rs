//! All tests of the crate beside those in its sources: one program.
//!
//! Tier: default. A file that does more in a higher one says so.

#[path = "../../stats/tests/common/mod.rs"]
mod common;

mod kept;
mod killed;
mod load;
mod merge;
mod plan;
mod property;
mod slim;
mod store;
