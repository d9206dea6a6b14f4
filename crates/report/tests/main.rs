//! All tests of the crate beside those in its sources: one program.
//!
//! Tier: default. A file that does more in a higher one says so.

mod fixture;
#[path = "../../../tests/support/tier.rs"]
mod tier;

mod audits;
mod browser;
mod comparison;
mod document;
mod forms;
mod load_page;
mod loads;
mod measured_on;
mod page;
mod renderers;
mod screen;
