//! Ranges of a table's rows. Each range is generated independently, on any thread.
//!
//! Goal: one way to divide the tables of every benchmark, in constant memory. Non-goals: files and threads.

use crate::Format;
use std::io::{self, Write};
use std::ops::Range;

/// Size of a write buffer.
pub(crate) const BUFFER_BYTES: usize = 64 << 10;

/// The tables of a benchmark at one size.
pub trait Benchmark: Copy + Send + Sync + 'static {
    /// One of the tables.
    type Table: Copy + Send + Sync + 'static;

    /// The table's name in SQL and in file names, such as `lineorder`.
    fn name(table: Self::Table) -> String;

    /// The units that the table is divided by, at least one: rows, orders, or groups of rows.
    fn units(&self, table: Self::Table) -> u64;

    /// The exact number of rows in these units, numbered from 0. Where orders differ in their lines, this draws those of each.
    fn rows_in(&self, table: Self::Table, units: Range<u64>) -> u64;

    /// Estimated size of the table as text, in bytes.
    fn bytes_estimate(&self, table: Self::Table) -> u64;

    /// Writes the rows of these units and returns their number. NULL is written as `\N`.
    ///
    /// # Errors
    /// Any error of `to`.
    fn write(
        &self,
        table: Self::Table,
        units: Range<u64>,
        to: &mut dyn Write,
        format: Format,
    ) -> io::Result<u64>;

    /// The exact number of rows.
    fn rows(&self, table: Self::Table) -> u64 {
        self.whole(table).rows()
    }

    /// The whole table as one chunk, which can be split lazily.
    fn whole(&self, table: Self::Table) -> Chunk<Self> {
        Chunk {
            benchmark: *self,
            table,
            units: 0..self.units(table),
        }
    }
}

/// A range of a table's rows, in the order of its primary key.
#[derive(Debug, Clone)]
pub struct Chunk<B: Benchmark> {
    benchmark: B,
    table: B::Table,
    units: Range<u64>,
}

impl<B: Benchmark> Chunk<B> {
    /// The exact number of rows.
    pub fn rows(&self) -> u64 {
        self.benchmark.rows_in(self.table, self.units.clone())
    }

    /// Estimated size as text, in bytes.
    pub fn bytes_estimate(&self) -> u64 {
        let units = self.units.end - self.units.start;
        let share = units as f64 / self.benchmark.units(self.table) as f64;
        (self.benchmark.bytes_estimate(self.table) as f64 * share) as u64
    }

    /// Part `i` (from 0) of `n` parts of about equal size.
    ///
    /// # Panics
    /// If `i` is not below `n`.
    pub fn part(&self, i: u64, n: u64) -> Chunk<B> {
        assert!(i < n, "part {i} of {n}");
        let length = u128::from(self.units.end - self.units.start);
        let edge = |i: u64| self.units.start + (length * u128::from(i) / u128::from(n)) as u64;
        Chunk {
            units: edge(i)..edge(i + 1),
            ..self.clone()
        }
    }

    /// Splits the chunk into `n` chunks (at least one) of about equal size, in order. Where `n` exceeds the number of units, some
    /// chunks are empty.
    pub fn split(&self, n: u64) -> impl Iterator<Item = Chunk<B>> + use<B> {
        let whole = self.clone();
        let n = n.max(1);
        (0..n).map(move |i| whole.part(i, n))
    }

    /// Writes the rows and returns their number.
    ///
    /// # Errors
    /// Any error of `to`.
    pub fn write(self, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        self.benchmark.write(self.table, self.units, to, format)
    }
}
