//! A part of a table, of whichever workload.

use datagen::ssb::Format;
use datagen::{oltp, ssb};
use std::io::{self, Write};

pub(super) enum Chunk {
    Ssb(ssb::Chunk),
    Oltp(oltp::Chunk),
}

impl Chunk {
    /// The part with the number `i` (from 0) of `n`.
    pub(super) fn part(&self, i: u64, n: u64) -> Chunk {
        match self {
            Chunk::Ssb(chunk) => Chunk::Ssb(chunk.part(i, n)),
            Chunk::Oltp(chunk) => Chunk::Oltp(chunk.part(i, n)),
        }
    }

    pub(super) fn bytes_estimate(&self) -> u64 {
        match self {
            Chunk::Ssb(chunk) => chunk.bytes_estimate(),
            Chunk::Oltp(chunk) => chunk.bytes_estimate(),
        }
    }

    /// Writes the rows, and gives their number.
    pub(super) fn write(self, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        match self {
            Chunk::Ssb(chunk) => chunk.write(to, format),
            Chunk::Oltp(chunk) => chunk.write(to, format),
        }
    }
}
