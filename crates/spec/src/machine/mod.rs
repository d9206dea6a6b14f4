//! What a file says about the machine: where the data lies (`[host]`), and what a server may use (`[limits]`).
//!
//! Boundaries: crate `host` makes volumes and applies limits.

pub(crate) mod host;
pub(crate) mod limits;
