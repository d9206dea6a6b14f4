//! A part of a table, of whichever workload.
//!
//! Goal: files are written alike whoever's rows they hold. Non-goal: the rows (crate `datagen`).

use datagen::{Format, oltp, ssb, tpch};
use std::io::{self, Write};

pub(super) enum Chunk {
    Ssb(ssb::Chunk),
    Tpch(tpch::Chunk),
    Oltp(oltp::Chunk),
}

impl Chunk {
    /// The table's name, as files are called.
    pub(super) fn table(&self) -> String {
        match self {
            Chunk::Ssb(chunk) => chunk.table().name().into(),
            Chunk::Tpch(chunk) => chunk.table().name().into(),
            Chunk::Oltp(chunk) => format!("sbtest{}", chunk.table()),
        }
    }

    /// The part with the number `i` (from 0) of `n`.
    pub(super) fn part(&self, i: u64, n: u64) -> Chunk {
        match self {
            Chunk::Ssb(chunk) => Chunk::Ssb(chunk.part(i, n)),
            Chunk::Tpch(chunk) => Chunk::Tpch(chunk.part(i, n)),
            Chunk::Oltp(chunk) => Chunk::Oltp(chunk.part(i, n)),
        }
    }

    /// About how many bytes it has as `.tbl` text.
    pub(super) fn bytes_estimate(&self) -> u64 {
        match self {
            Chunk::Ssb(chunk) => chunk.bytes_estimate(),
            Chunk::Tpch(chunk) => chunk.bytes_estimate(),
            Chunk::Oltp(chunk) => chunk.bytes_estimate(),
        }
    }

    /// Writes the rows, and gives their number.
    pub(super) fn write(self, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        match self {
            Chunk::Ssb(chunk) => chunk.write(to, format),
            Chunk::Tpch(chunk) => chunk.write(to, format),
            Chunk::Oltp(chunk) => chunk.write(to, format),
        }
    }
}
