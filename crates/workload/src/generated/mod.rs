//! Tables with rows of a generator, in a schema of prony's own.
//!
//! Purpose: one `Dataset` and one way to the loader for every such workload. Boundaries: crate `datagen` generates, `loader` loads.

pub(crate) mod generator;
pub(crate) mod stored_tables;
