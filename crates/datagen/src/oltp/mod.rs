//! The tables of sysbench's OLTP tests (`sbtest1`, `sbtest2`, ...) and the distribution of the keys that operations access.
//!
//! Goals: each row is a pure function of its table and its number; drawing a key takes a few nanoseconds.
//! Non-goals: the bytes of sysbench's own rows, which differ with every load; statements (crate `workload`).

mod chunk;
mod keys;
mod text;

pub use chunk::{Oltp, SizeError};
pub use keys::{Distribution, Keys};
pub use text::{C_BYTES, PAD_BYTES, write_digits, write_groups};
