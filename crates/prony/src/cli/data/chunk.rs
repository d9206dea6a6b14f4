//! A part of a table of any workload.
//!
//! Purpose: one interface for writing the rows of every workload. Outside this module: the rows (crate `datagen`).

use datagen::{Format, oltp, ssb, tpcc, tpch};
use std::io::{self, Write};

pub(super) enum Chunk {
    Ssb(ssb::Chunk),
    Tpch(tpch::Chunk),
    Tpcc(tpcc::Chunk),
    Oltp(oltp::Chunk),
}

impl Chunk {
    /// The table's name, which is also the file's.
    pub(super) fn table(&self) -> String {
        match self {
            Chunk::Ssb(chunk) => chunk.table().name().into(),
            Chunk::Tpch(chunk) => chunk.table().name().into(),
            Chunk::Tpcc(chunk) => chunk.table().name().into(),
            Chunk::Oltp(chunk) => format!("sbtest{}", chunk.table()),
        }
    }

    /// Part `i` (from 0) of `n`.
    pub(super) fn part(&self, i: u64, n: u64) -> Chunk {
        match self {
            Chunk::Ssb(chunk) => Chunk::Ssb(chunk.part(i, n)),
            Chunk::Tpch(chunk) => Chunk::Tpch(chunk.part(i, n)),
            Chunk::Tpcc(chunk) => Chunk::Tpcc(chunk.part(i, n)),
            Chunk::Oltp(chunk) => Chunk::Oltp(chunk.part(i, n)),
        }
    }

    /// Approximate bytes as `.tbl` text.
    pub(super) fn bytes_estimate(&self) -> u64 {
        match self {
            Chunk::Ssb(chunk) => chunk.bytes_estimate(),
            Chunk::Tpch(chunk) => chunk.bytes_estimate(),
            Chunk::Tpcc(chunk) => chunk.bytes_estimate(),
            Chunk::Oltp(chunk) => chunk.bytes_estimate(),
        }
    }

    /// Writes the rows. Returns their number.
    pub(super) fn write(self, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        match self {
            Chunk::Ssb(chunk) => chunk.write(to, format),
            Chunk::Tpch(chunk) => chunk.write(to, format),
            Chunk::Tpcc(chunk) => chunk.write(to, format),
            Chunk::Oltp(chunk) => chunk.write(to, format),
        }
    }
}
