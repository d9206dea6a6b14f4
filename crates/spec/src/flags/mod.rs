//! Flags of the verbs: those that change an experiment, and those of `prony bench` that replace its file.
//!
//! Boundaries: `cli` parses the flags.

pub(crate) mod bench;
pub(crate) mod overrides;
