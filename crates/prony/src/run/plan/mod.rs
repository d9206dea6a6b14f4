//! What a run measures, and what the planner learns while it runs.
//!
//! Purpose: the request with its workloads, the expected time, what a budget buys, earlier runs, and what the looks at the claims leave undecided. Outside
//! this module: the order of the trials (`spec::plan`).

pub(crate) mod budget;
mod expected;
pub(crate) mod figures;
pub(crate) mod history;
pub(crate) mod looks;
mod request;
pub(crate) mod sharing;
mod workloads;

pub(crate) use expected::Expected;
pub use request::{Means, Provide, Request, Shards};
pub use workloads::Workloads;
pub(crate) use workloads::query_names;
