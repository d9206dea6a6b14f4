//! All tests of the crate beside those in its sources: one program.
//!
//! Tier: default. A file that does more in a higher one says so.

mod checksums;
#[path = "../../../tests/support/tier.rs"]
mod tier;
mod writing;

mod ssb;
mod tpcc;
mod tpch;
