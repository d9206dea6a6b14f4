//! Builds: where a server comes from, and the cache that holds what was fetched.
//!
//! `catalogue` (the data) -> `maven`, `debian` (fetching) -> `unpack` -> `cache` (one folder a build, with its `manifest`)
//! -> `distribution` (how its programs are called).

mod cache;
pub mod catalogue;
mod debian;
mod distribution;
mod layout;
mod manifest;
mod maven;
mod program;
mod sources;
mod unpack;

pub use cache::{Cache, Held};
pub use distribution::{Distribution, Flavor};
pub(crate) use program::{failed, not_started};
