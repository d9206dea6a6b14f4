//! The arithmetic of the benchmark `decides`, whose tests are in its file.
//!
//! Tier: default.

// The benchmark uses all of it.
#[allow(dead_code)]
#[path = "../bench/decides/figures.rs"]
mod figures;
