//! The rows of the tables.

use std::io::{self, Write};
use std::ops::Range;

use super::text::{C_BYTES, PAD_BYTES, write_groups};
use crate::Format;
use crate::chunk::{BUFFER_BYTES, Benchmark};
use crate::random::{below, hash, stream};
use crate::text::Text;

/// Length of the longest row: two numbers, two texts, separators.
const ROW_BYTES_MAX: usize = 2 * 10 + C_BYTES + PAD_BYTES + 5;
/// The largest INT: a larger id does not fit the column.
const ROWS_MAX: u64 = i32::MAX as u64;
/// Keeps the data independent of what operations draw from a run's seed.
const SEED: u64 = 0x736b_6574_6368_6573;

/// The number of tables and the number of rows in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oltp {
    tables: u32,
    rows: u64,
}

/// Why a number of tables or rows is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    #[error("0 tables: give at least 1")]
    NoTables,
    #[error("rows per table are out of range: give 1 to {max}", max = ROWS_MAX)]
    Rows,
}

impl Oltp {
    /// Checks the sizes.
    ///
    /// # Errors
    /// No tables, no rows, or more rows than an INT can number.
    pub fn new(tables: u32, rows: u64) -> Result<Oltp, SizeError> {
        match (tables, rows) {
            (0, _) => Err(SizeError::NoTables),
            (_, 1..=ROWS_MAX) => Ok(Oltp { tables, rows }),
            _ => Err(SizeError::Rows),
        }
    }

    /// The number of tables.
    pub fn tables(&self) -> u32 {
        self.tables
    }
}

impl Benchmark for Oltp {
    /// Its number, from 1.
    type Table = u32;

    fn name(table: u32) -> String {
        format!("sbtest{table}")
    }

    /// Rows.
    fn units(&self, _: u32) -> u64 {
        self.rows
    }

    fn rows_in(&self, _: u32, units: Range<u64>) -> u64 {
        units.end - units.start
    }

    /// Every number is taken to be as long as the largest.
    fn bytes_estimate(&self, _: u32) -> u64 {
        let digits = u64::from(self.rows.ilog10()) + 1;
        self.rows * (2 * digits + (C_BYTES + PAD_BYTES + 5) as u64)
    }

    /// The columns are `id, k, c, pad`. `k` is drawn uniformly from the table's ids.
    fn write(
        &self,
        table: u32,
        units: Range<u64>,
        to: &mut dyn Write,
        format: Format,
    ) -> io::Result<u64> {
        let (rows, seed) = (units.end - units.start, hash(SEED ^ u64::from(table)));
        let mut text = Text::new(format, BUFFER_BYTES);
        for id in units.start + 1..units.end + 1 {
            append(&mut text, seed, id, self.rows);
            if text.bytes.len() > BUFFER_BYTES - ROW_BYTES_MAX {
                to.write_all(&text.bytes)?;
                text.bytes.clear();
            }
        }
        to.write_all(&text.bytes)?;
        Ok(rows)
    }
}

fn append(text: &mut Text, seed: u64, id: u64, rows: u64) {
    let random = &mut stream(seed, id);
    text.number(id);
    text.number(1 + below(random, rows));
    for bytes in [C_BYTES, PAD_BYTES] {
        let from = text.bytes.len();
        text.bytes.resize(from + bytes, 0);
        write_groups(random, &mut text.bytes[from..]);
        text.end_field();
    }
    text.end_row();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use proptest::prelude::*;

    fn written(chunk: Chunk<Oltp>, format: Format) -> String {
        let mut text = Vec::new();
        let rows = chunk.rows();
        assert_eq!(chunk.write(&mut text, format).unwrap(), rows);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_row_is_an_id_a_key_and_two_texts() {
        let text = written(Oltp::new(1, 50).unwrap().whole(1), Format::Tbl);
        for (n, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split('|').collect();
            let [id, k, c, pad, ""] = fields[..] else {
                panic!("{line}")
            };
            assert_eq!(id, (n + 1).to_string());
            assert!((1..=50).contains(&k.parse::<u64>().unwrap()));
            assert_eq!((c.len(), pad.len()), (C_BYTES, PAD_BYTES));
        }
        assert_eq!(text.lines().count(), 50);
    }

    #[test]
    fn csv_has_the_same_rows_with_commas() {
        let whole = Oltp::new(1, 20).unwrap().whole(1);
        let tbl = written(whole.clone(), Format::Tbl);
        assert_eq!(
            written(whole, Format::Csv),
            tbl.replace("|\n", "\n").replace('|', ",")
        );
    }

    #[test]
    fn tables_differ_and_each_is_reproducible() {
        let oltp = Oltp::new(2, 10).unwrap();
        let text = |table| written(oltp.whole(table), Format::Tbl);
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn byte_estimate_is_within_3_percent() {
        for rows in [9, 1_000, 12_345] {
            let chunk = Oltp::new(1, rows).unwrap().whole(1);
            let estimate = chunk.bytes_estimate() as f64;
            let bytes = written(chunk, Format::Tbl).len() as f64;
            assert!(
                (0.97..1.03).contains(&(estimate / bytes)),
                "{rows}: {estimate} {bytes}"
            );
        }
    }

    #[test]
    fn zero_tables_and_row_counts_out_of_range_are_refused() {
        assert_eq!(Oltp::new(0, 1), Err(SizeError::NoTables));
        assert_eq!(Oltp::new(1, 0), Err(SizeError::Rows));
        assert_eq!(Oltp::new(1, ROWS_MAX + 1), Err(SizeError::Rows));
    }

    proptest! {
        #[test]
        fn concatenated_parts_equal_the_whole_table(rows in 1u64..300, parts in 1u64..20) {
            let whole = Oltp::new(1, rows).unwrap().whole(1);
            let pieces: String = whole.split(parts).map(|part| written(part, Format::Tbl)).collect();
            prop_assert_eq!(pieces, written(whole, Format::Tbl));
        }
    }
}
