//! Server builds: where each one comes from, and the cache of downloaded builds.
//!
//! Data flow: `catalogue` (the list of builds) -> `maven` and `debian` (download) -> `unpack` -> `cache` (one folder per
//! build, `cached`, with its `manifest`) -> `distribution` (how to run its programs).

mod cache;
mod cached;
mod catalogue;
mod debian;
mod distribution;
mod layout;
mod manifest;
mod maven;
mod program;
mod sources;
mod unpack;

pub use cache::Cache;
pub use cached::Held;
pub use catalogue::build_names;
pub(crate) use distribution::option;
pub use distribution::{Distribution, Flavor};
pub(crate) use program::{failed, not_started, write_private};
