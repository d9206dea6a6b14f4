//! Reads the sections of a file into an experiment: servers, factors and their levels, workload, protocol, observations, events.
//!
//! Purpose: the keys, their defaults and ranges, and the names that refer to each other. Boundaries: `server`, `machine` and `load` read
//! what they are about, `claims` the claims; `check` needs more than the file.

pub(crate) mod blocks;
pub(crate) mod events;
pub(crate) mod factors;
pub(crate) mod load_factors;
pub(crate) mod names;
pub(crate) mod observe;
pub(crate) mod patch;
pub(crate) mod protocol;
pub(crate) mod settings;
mod texts;
pub(crate) mod workload;
