//! The units and the rows of each table.

use std::io::{self, Write};
use std::ops::Range;

use super::customer::Customers;
use super::date::Dates;
use super::lineorder::{OrderText, Orders, line_counts};
use super::part::Parts;
use super::scale::{DATES, Ssb};
use super::supplier::Suppliers;
use super::table::Table;
use super::text::Fields;
use crate::Format;
use crate::chunk::{BUFFER_BYTES, Benchmark};
use crate::text::Text;

impl Benchmark for Ssb {
    type Table = Table;

    fn name(table: Table) -> String {
        table.name().into()
    }

    /// Orders for lineorder, rows for the other tables.
    fn units(&self, table: Table) -> u64 {
        match table {
            Table::Customer => self.customers,
            Table::Date => DATES,
            Table::Lineorder => self.orders,
            Table::Part => self.parts,
            Table::Supplier => self.suppliers,
        }
    }

    /// For lineorder this draws the line count of each order: some milliseconds at scale 1.
    fn rows_in(&self, table: Table, units: Range<u64>) -> u64 {
        match table {
            Table::Lineorder => line_counts(units),
            _ => units.end - units.start,
        }
    }

    /// The error is below 10 % (keys are shorter at small scales).
    fn bytes_estimate(&self, table: Table) -> u64 {
        // Bytes per row at scale 1; for lineorder, bytes per order (four rows on average).
        let width = match table {
            Table::Customer => 94.57,
            Table::Date => 89.97,
            Table::Lineorder => 399.4,
            Table::Part => 85.70,
            Table::Supplier => 83.34,
        };
        (self.units(table) as f64 * width) as u64
    }

    fn write(
        &self,
        table: Table,
        units: Range<u64>,
        to: &mut dyn Write,
        format: Format,
    ) -> io::Result<u64> {
        match table {
            Table::Customer => write_rows(Customers::new(self, units), to, format),
            Table::Date => write_rows(Dates::new(units), to, format),
            Table::Lineorder => write_orders(Orders::new(self, units), to, format),
            Table::Part => write_rows(Parts::new(units), to, format),
            Table::Supplier => write_rows(Suppliers::new(self, units), to, format),
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
        if text.bytes.len() > BUFFER_BYTES - 512 {
            to.write_all(&text.bytes)?;
            text.bytes.clear();
        }
    }
    to.write_all(&text.bytes)?;
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
