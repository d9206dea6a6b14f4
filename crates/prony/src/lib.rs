//! prony: a dynamometer for database engines. See docs/ARCHITECTURE.md for the way of the data through the rooms.

pub mod cli;
pub mod host;
pub mod observe;
pub mod plan;
pub mod run;
pub mod server;
pub mod spec;
pub mod workload;
