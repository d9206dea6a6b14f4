//! Ranges of a table's rows. Each range is generated independently, on any thread.
//!
//! Goal: chunks can be split again without gaps or overlaps, in constant memory. tpchgen only knows parts of a whole table and
//! leaves the remainder to the last part. A table is therefore a sequence of granules, each a part of tpchgen's, and a chunk is a
//! range of granules. Non-goals: files and threads.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::ops::Range;

use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

use super::scale::{SUPPLIERS_PER_PART, Tpch};
use super::table::Table;
use crate::Format;
use crate::range::part;

/// Size of the write buffer.
const BUFFER_BYTES: usize = 64 << 10;
/// Longer than any row.
const ROW_BYTES_MAX: usize = 512;
/// Approximate number of rows in a granule. Starting a granule costs as much as a hundred rows.
const ROWS_PER_GRANULE: u64 = 2_000;

/// A range of a table's rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    tpch: Tpch,
    table: Table,
    granules: Range<u64>,
}

impl Tpch {
    /// The whole table as one chunk, which can be split lazily.
    pub fn whole(&self, table: Table) -> Chunk {
        Chunk {
            tpch: *self,
            table,
            granules: 0..granules(*self, table),
        }
    }

    /// The exact number of rows. For lineitem this draws the line count of each order: some milliseconds at scale 1.
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
        let units = self.units();
        match self.table {
            Table::Lineitem => line_counts(units),
            Table::Partsupp => (units.end - units.start) * SUPPLIERS_PER_PART,
            _ => units.end - units.start,
        }
    }

    /// Estimated size of the chunk as `.tbl` text, in bytes.
    pub fn bytes_estimate(&self) -> u64 {
        let share = (self.granules.end - self.granules.start) as f64
            / granules(self.tpch, self.table) as f64;
        (self.tpch.bytes_estimate(self.table) as f64 * share) as u64
    }

    /// Splits the chunk into `n` chunks (at least one) of about equal size, in order. If it is small, some chunks are empty.
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
            granules: part(&self.granules, i, n),
            ..self.clone()
        }
    }

    /// Writes the rows and returns their number.
    ///
    /// # Errors
    /// Any error of `to`.
    pub fn write(self, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        let mut text = Text {
            text: String::with_capacity(BUFFER_BYTES),
            to,
            format,
        };
        let (scale, of) = (self.tpch.scale, granules(self.tpch, self.table) as i32);
        let mut rows = 0;
        for granule in self.granules {
            let part = granule as i32 + 1;
            rows += match self.table {
                Table::Customer => text.rows(
                    CustomerGenerator::new(scale, part, of).iter(),
                    CustomerCsv::new,
                ),
                Table::Lineitem => text.rows(
                    LineItemGenerator::new(scale, part, of).iter(),
                    LineItemCsv::new,
                ),
                Table::Nation => {
                    text.rows(NationGenerator::new(scale, part, of).iter(), NationCsv::new)
                }
                Table::Orders => {
                    text.rows(OrderGenerator::new(scale, part, of).iter(), OrderCsv::new)
                }
                Table::Part => text.rows(PartGenerator::new(scale, part, of).iter(), PartCsv::new),
                Table::Partsupp => text.rows(
                    PartSuppGenerator::new(scale, part, of).iter(),
                    PartSuppCsv::new,
                ),
                Table::Region => {
                    text.rows(RegionGenerator::new(scale, part, of).iter(), RegionCsv::new)
                }
                Table::Supplier => text.rows(
                    SupplierGenerator::new(scale, part, of).iter(),
                    SupplierCsv::new,
                ),
            }?;
        }
        text.flush()?;
        Ok(rows)
    }

    /// The range of generator units (see [`Tpch::units`]) in this chunk, from 0.
    fn units(&self) -> Range<u64> {
        let (units, granules) = (self.tpch.units(self.table), granules(self.tpch, self.table));
        let edge = |granule: u64| {
            if granule == granules {
                units
            } else {
                units / granules * granule
            }
        };
        edge(self.granules.start)..edge(self.granules.end)
    }
}

/// The number of granules in a table. Nation and region are one each: tpchgen does not divide them.
fn granules(tpch: Tpch, table: Table) -> u64 {
    let rows_per_unit = match table {
        Table::Lineitem | Table::Partsupp => 4,
        _ => 1,
    };
    (tpch.units(table) * rows_per_unit / ROWS_PER_GRANULE).max(1)
}

/// The number of lines in these orders (numbered from 0), drawn as for lineitem.
fn line_counts(orders: Range<u64>) -> u64 {
    let mut lines = OrderGenerator::create_line_count_random();
    lines.advance_rows(orders.start as i64);
    let mut count = 0;
    for _ in orders {
        count += lines.next_value() as u64;
        lines.row_finished();
    }
    count
}

/// Buffers rows for a writer.
struct Text<'a> {
    text: String,
    to: &'a mut dyn Write,
    format: Format,
}

impl Text<'_> {
    /// Writes rows and returns their number. A row is displayed as `.tbl`; `csv` wraps it into a value that is displayed as CSV.
    fn rows<R: Display, C: Display>(
        &mut self,
        rows: impl Iterator<Item = R>,
        csv: impl Fn(R) -> C,
    ) -> io::Result<u64> {
        let mut count = 0;
        for row in rows {
            let written = match self.format {
                Format::Tbl => writeln!(self.text, "{row}"),
                Format::Csv => writeln!(self.text, "{}", csv(row)),
            };
            written.expect("writing to a String does not fail");
            count += 1;
            if self.text.len() > BUFFER_BYTES - ROW_BYTES_MAX {
                self.flush()?;
            }
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }
}
