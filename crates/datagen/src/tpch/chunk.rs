//! The rows of each table, in granules.
//!
//! Goal: chunks can be split again without gaps or overlaps, in constant memory. tpchgen only knows parts of a whole table and
//! leaves the remainder to the last part. A table is therefore a sequence of granules, each a part of tpchgen's, and a chunk is a
//! range of granules.

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
use crate::chunk::{BUFFER_BYTES, Benchmark};

/// Longer than any row.
const ROW_BYTES_MAX: usize = 512;
/// Approximate number of rows in a granule. Starting a granule costs as much as a hundred rows.
const ROWS_PER_GRANULE: u64 = 2_000;

impl Benchmark for Tpch {
    type Table = Table;

    fn name(table: Table) -> String {
        table.name().into()
    }

    /// Granules. Nation and region are one each: tpchgen does not divide them.
    fn units(&self, table: Table) -> u64 {
        let rows_per_unit = match table {
            Table::Lineitem | Table::Partsupp => 4,
            _ => 1,
        };
        (self.generator_units(table) * rows_per_unit / ROWS_PER_GRANULE).max(1)
    }

    /// For lineitem this draws the line count of each order: some milliseconds at scale 1.
    fn rows_in(&self, table: Table, granules: Range<u64>) -> u64 {
        let (units, all) = (self.generator_units(table), self.units(table));
        let edge = |granule: u64| {
            if granule == all {
                units
            } else {
                units / all * granule
            }
        };
        let units = edge(granules.start)..edge(granules.end);
        match table {
            Table::Lineitem => line_counts(units),
            Table::Partsupp => (units.end - units.start) * SUPPLIERS_PER_PART,
            _ => units.end - units.start,
        }
    }

    /// The error is below 10 % (keys are shorter at small scales).
    fn bytes_estimate(&self, table: Table) -> u64 {
        // Bytes per unit at scale 1: per row; for lineitem per order (four rows on average); for partsupp per part (four rows).
        let width = match table {
            Table::Customer => 162.3,
            Table::Lineitem => 506.6,
            Table::Nation => 89.0,
            Table::Orders => 114.6,
            Table::Part => 120.7,
            Table::Partsupp => 594.9,
            Table::Region => 77.8,
            Table::Supplier => 140.9,
        };
        (self.generator_units(table) as f64 * width) as u64
    }

    fn write(
        &self,
        table: Table,
        granules: Range<u64>,
        to: &mut dyn Write,
        format: Format,
    ) -> io::Result<u64> {
        let mut text = Text {
            text: String::with_capacity(BUFFER_BYTES),
            to,
            format,
        };
        let (scale, of) = (self.scale, self.units(table) as i32);
        let mut rows = 0;
        for granule in granules {
            let part = granule as i32 + 1;
            rows += match table {
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
