//! The tables of a number of warehouses.

use super::random::Constants;
use super::rows::{Rows, line_seed, lines};
use super::table::Table;
use crate::Format;
use crate::chunk::{BUFFER_BYTES, Benchmark};
use crate::text::Text;
use std::io::{self, Write};
use std::ops::Range;

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
}

impl Benchmark for Tpcc {
    type Table = Table;

    fn name(table: Table) -> String {
        table.name().into()
    }

    /// Rows, or orders in `order_line`.
    fn units(&self, table: Table) -> u64 {
        table.units(self.warehouses.into())
    }

    fn rows_in(&self, table: Table, units: Range<u64>) -> u64 {
        match table {
            Table::OrderLine => {
                let seed = line_seed(self.seed);
                units.map(|order| lines(seed, order)).sum()
            }
            _ => units.end - units.start,
        }
    }

    fn bytes_estimate(&self, table: Table) -> u64 {
        self.units(table) * table.unit_bytes()
    }

    fn write(
        &self,
        table: Table,
        units: Range<u64>,
        to: &mut dyn Write,
        format: Format,
    ) -> io::Result<u64> {
        let mut text = Text::new(format, BUFFER_BYTES);
        let mut source = Rows::new(table, self.seed);
        let mut rows = 0;
        for unit in units {
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
