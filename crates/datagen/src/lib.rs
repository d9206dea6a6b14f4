//! Seeded rows of the benchmarks' tables: pure functions of a workload and a scale.
//!
//! Goals: the very bytes of the reference generators, constant memory, any part of a table without the parts before it.
//! Non-goals: files, threads, servers. Whoever calls decides where the bytes go and how many chunks are made at once.

mod format;
pub mod oltp;
mod range;
pub mod ssb;
pub mod tpch;

pub use format::Format;
