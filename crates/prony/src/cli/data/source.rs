//! Where the rows of a file come from.
//!
//! Goal: files are written alike whichever benchmark's chunk they hold. Non-goal: the rows (crate `datagen`).

use std::io::{self, Write};

use datagen::{Format, ssb, tpch};

/// A part of a table of one of the benchmarks.
pub(super) enum Chunk {
    Ssb(ssb::Chunk),
    Tpch(tpch::Chunk),
}

impl Chunk {
    /// The table's name, as files are called.
    pub(super) fn table(&self) -> &'static str {
        match self {
            Chunk::Ssb(chunk) => chunk.table().name(),
            Chunk::Tpch(chunk) => chunk.table().name(),
        }
    }

    /// About how many bytes it has as `.tbl` text.
    pub(super) fn bytes_estimate(&self) -> u64 {
        match self {
            Chunk::Ssb(chunk) => chunk.bytes_estimate(),
            Chunk::Tpch(chunk) => chunk.bytes_estimate(),
        }
    }

    /// Part `i` (from 0) of `n`.
    pub(super) fn part(&self, i: u64, n: u64) -> Chunk {
        match self {
            Chunk::Ssb(chunk) => Chunk::Ssb(chunk.part(i, n)),
            Chunk::Tpch(chunk) => Chunk::Tpch(chunk.part(i, n)),
        }
    }

    /// Writes the rows, and gives their number.
    pub(super) fn write(self, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        match self {
            Chunk::Ssb(chunk) => chunk.write(to, format),
            Chunk::Tpch(chunk) => chunk.write(to, format),
        }
    }
}
