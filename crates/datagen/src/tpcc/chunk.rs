//! Ranges of a table's rows. Each range is generated independently, on any thread.

use super::random::Constants;
use super::rows::{Rows, line_seed, lines};
use super::table::Table;
use super::text::Text;
use crate::Format;
use crate::range::part;
use std::io::{self, Write};
use std::ops::Range;

/// Size of the write buffer.
const BUFFER_BYTES: usize = 64 << 10;
/// More than the longest unit: an order of 15 lines.
const UNIT_BYTES_MAX: usize = 2 << 10;

/// The tables of a number of warehouses, from a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tpcc {
    warehouses: u32,
    seed: u64,
}

impl Tpcc {
    /// # Panics
    /// If there are no warehouses.
    pub fn new(warehouses: u32, seed: u64) -> Tpcc {
        assert!(warehouses > 0, "no warehouses");
        Tpcc { warehouses, seed }
    }

    /// The constants with which the tables are generated: C-Load (2.1.6.1).
    pub fn constants(&self) -> Constants {
        Constants::load(self.seed)
    }

    /// The exact number of rows. Counting those of `order_line` draws the number of lines of every order.
    pub fn rows(&self, table: Table) -> u64 {
        self.whole(table).rows()
    }

    /// Estimated size of a table as text, in bytes.
    pub fn bytes_estimate(&self, table: Table) -> u64 {
        self.whole(table).bytes_estimate()
    }

    /// All rows of a table.
    pub fn whole(&self, table: Table) -> Chunk {
        Chunk {
            tpcc: *self,
            table,
            units: 0..table.units(self.warehouses.into()),
        }
    }
}

/// A range of a table's rows, in the order of its primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    tpcc: Tpcc,
    table: Table,
    /// Rows, or orders in `order_line`, from 0.
    units: Range<u64>,
}

impl Chunk {
    pub fn table(&self) -> Table {
        self.table
    }

    /// The exact number of rows in this chunk.
    pub fn rows(&self) -> u64 {
        match self.table {
            Table::OrderLine => {
                let seed = line_seed(self.tpcc.seed);
                self.units.clone().map(|order| lines(seed, order)).sum()
            }
            _ => self.units.end - self.units.start,
        }
    }

    /// Estimated size of the chunk as text, in bytes.
    pub fn bytes_estimate(&self) -> u64 {
        (self.units.end - self.units.start) * self.table.unit_bytes()
    }

    /// Part `i` (from 0) of `n` parts of about equal size.
    ///
    /// # Panics
    /// If `i` is not below `n`.
    pub fn part(&self, i: u64, n: u64) -> Chunk {
        Chunk {
            units: part(&self.units, i, n),
            ..self.clone()
        }
    }

    /// Splits the chunk into `n` chunks (at least one) of about equal size, in order.
    pub fn split(&self, n: u64) -> impl Iterator<Item = Chunk> + use<> {
        let whole = self.clone();
        let n = n.max(1);
        (0..n).map(move |i| whole.part(i, n))
    }

    /// Writes the rows and returns their number. NULL is written as `\N`.
    ///
    /// # Errors
    /// Any error of `to`.
    pub fn write(self, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        let mut text = Text::new(format, BUFFER_BYTES);
        let mut source = Rows::new(self.table, self.tpcc.seed);
        let mut rows = 0;
        for unit in self.units {
            rows += source.append(&mut text, unit);
            if text.bytes.len() > BUFFER_BYTES - UNIT_BYTES_MAX {
                to.write_all(&text.bytes)?;
                text.bytes.clear();
            }
        }
        to.write_all(&text.bytes)?;
        Ok(rows)
    }
}
