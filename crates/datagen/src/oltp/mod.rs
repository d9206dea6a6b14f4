//! The tables that sysbench's OLTP tests use (`sbtest1`, `sbtest2`, ...), and the keys that operations ask for.
//!
//! Goals: any row by itself, a pure function of its table and its number; keys by a distribution at a few nanoseconds each.
//! Non-goals: the bytes of sysbench's own rows, which differ with every load; statements (the workload's).

mod chunk;
mod keys;
mod random;
mod text;

pub use chunk::{Chunk, Oltp, SizeError};
pub use keys::{Distribution, Keys};
pub use random::{Random, below, hash, stream};
pub use text::{C_BYTES, PAD_BYTES, write_digits, write_groups};
