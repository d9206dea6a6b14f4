//! Values as text, in a file or in a flag: sizes, durations, settings, DSNs, shards.
//!
//! Purpose: their forms, and messages that explain them. Boundaries: a value here knows neither its key nor its place in a file (`file`).

pub mod dsn;
pub(crate) mod dsn_tls;
pub(crate) mod setting;
pub(crate) mod shard;
pub mod switches;
pub(crate) mod unit;
