//! The protocol of a run and the command line. docs/ARCHITECTURE.md shows how the crates fit together.

pub mod cli;
mod doctor;
pub mod run;
mod screen;
