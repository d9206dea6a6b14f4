//! Generates the rows of benchmark tables from fixed seeds: the same workload and scale always give the same rows.
//!
//! Goals: the same bytes as the reference generators; constant memory; any part of a table without generating what precedes it.
//! Non-goals: files, threads, servers. The caller decides where the bytes go and how many chunks are generated in parallel.
//!
//! ```
//! use datagen::{Benchmark, Format};
//! use datagen::tpcc::{Table, Tpcc};
//!
//! let mut text = Vec::new();
//! let rows = Tpcc::new(2, 42).whole(Table::Warehouse).write(&mut text, Format::Tbl)?;
//! assert_eq!((rows, text.iter().filter(|byte| **byte == b'\n').count()), (2, 2));
//! # Ok::<(), std::io::Error>(())
//! ```

mod chunk;
mod format;
pub mod oltp;
pub mod random;
pub mod ssb;
mod table;
mod text;
pub mod tpcc;
pub mod tpch;

pub use chunk::{Benchmark, Chunk};
pub use format::Format;
