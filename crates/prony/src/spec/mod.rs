//! Experiment files: from TOML to a checked experiment.

pub mod build;
pub mod experiment;
pub mod mistake;
pub mod setting;
pub mod unit;

pub use experiment::*;
