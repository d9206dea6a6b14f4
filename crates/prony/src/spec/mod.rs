//! Experiment files: from TOML to a checked experiment.

pub mod experiment;

pub use experiment::*;
