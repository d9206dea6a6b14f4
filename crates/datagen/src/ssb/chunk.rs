//! Ranges of a table's rows. Each range is generated independently, on any thread.
//!
//! Goal: constant memory for any chunk size. Non-goals: files and threads.

use std::io::{self, Write};
use std::ops::Range;

use super::customer::Customers;
use super::date::Dates;
use super::lineorder::{OrderText, Orders, line_counts};
use super::part::Parts;
use super::scale::Ssb;
use super::supplier::Suppliers;
use super::table::Table;
use super::text::{Fields, Text};
use crate::Format;
use crate::range::part;

/// Size of the write buffer.
const BUFFER_BYTES: usize = 64 << 10;

/// A range of a table's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    ssb: Ssb,
    table: Table,
    /// Orders for lineorder, rows for the other tables.
    units: Range<u64>,
}

impl Ssb {
    /// The whole table as one chunk, which can be split lazily.
    pub fn whole(&self, table: Table) -> Chunk {
        Chunk {
            ssb: *self,
            table,
            units: 0..self.units(table),
        }
    }

    /// Splits the table into `n` chunks (at least one) of about equal size, in order. Concatenated, they are the whole table.
    pub fn chunks(&self, table: Table, n: usize) -> Vec<Chunk> {
        self.whole(table).split(n as u64).collect()
    }

    /// The exact number of rows. For lineorder this draws the line count of each order: some milliseconds at scale 1.
    pub fn rows(&self, table: Table) -> u64 {
        self.whole(table).rows()
    }
}

impl Chunk {
    /// The table that the rows belong to.
    pub fn table(&self) -> Table {
        self.table
    }

    /// The exact number of rows.
    pub fn rows(&self) -> u64 {
        match self.table {
            Table::Lineorder => line_counts(self.units.clone()),
            _ => self.units.end - self.units.start,
        }
    }

    /// Estimated size of the chunk as `.tbl` text, in bytes.
    pub fn bytes_estimate(&self) -> u64 {
        let share = (self.units.end - self.units.start) as f64 / self.ssb.units(self.table) as f64;
        (self.ssb.bytes_estimate(self.table) as f64 * share) as u64
    }

    /// Splits the chunk into `n` chunks (at least one) of about equal size, in order. Where `n` exceeds the number of rows, some
    /// chunks are empty.
    pub fn split(&self, n: u64) -> impl Iterator<Item = Chunk> + use<> {
        let whole = self.clone();
        let n = n.max(1);
        (0..n).map(move |i| whole.part(i, n))
    }

    /// Part `i` (from 0) of `n` parts.
    ///
    /// # Panics
    /// If `i` is not below `n`.
    pub fn part(&self, i: u64, n: u64) -> Chunk {
        Chunk {
            units: part(&self.units, i, n),
            ..*self
        }
    }

    /// Writes the rows and returns their number.
    ///
    /// # Errors
    /// Any error of `to`.
    pub fn write(self, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        let Chunk { ssb, table, units } = self;
        match table {
            Table::Customer => write_rows(Customers::new(&ssb, units), to, format),
            Table::Date => write_rows(Dates::new(units), to, format),
            Table::Lineorder => write_orders(Orders::new(&ssb, units), to, format),
            Table::Part => write_rows(Parts::new(units), to, format),
            Table::Supplier => write_rows(Suppliers::new(&ssb, units), to, format),
        }
    }
}

fn write_rows<R: Fields>(
    rows: impl Iterator<Item = R>,
    to: &mut dyn Write,
    format: Format,
) -> io::Result<u64> {
    let mut text = Text::new(format, BUFFER_BYTES);
    let mut count = 0;
    for row in rows {
        row.write(&mut text);
        count += 1;
        if text.bytes().len() > BUFFER_BYTES - 512 {
            to.write_all(text.bytes())?;
            text.clear();
        }
    }
    to.write_all(text.bytes())?;
    Ok(count)
}

fn write_orders(orders: Orders, to: &mut dyn Write, format: Format) -> io::Result<u64> {
    let mut text = OrderText::new(format, BUFFER_BYTES);
    let mut count = 0;
    for order in orders {
        text.push(&order);
        count += order.lines().len() as u64;
        if text.is_full() {
            to.write_all(text.bytes())?;
            text.clear();
        }
    }
    to.write_all(text.bytes())?;
    Ok(count)
}
