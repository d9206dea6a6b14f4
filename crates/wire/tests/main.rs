//! All tests of the crate beside those in its sources: one program.
//!
//! Tier: default. A file that does more in a higher one says so.

#[path = "../../../tests/support/packets.rs"]
mod packets;
#[path = "../../../tests/support/tier.rs"]
mod tier;

mod fuzz;
mod null;
mod sessions;
