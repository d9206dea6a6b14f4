//! Adapts the tables of a generator to the loader: names, rows and pieces.
//!
//! Purpose: one implementation of `Rows` for every benchmark with a generator. Boundaries: crate `datagen` generates the
//! rows, each workload provides its statements.

use super::stored_tables::Rows;
use crate::loader::{Piece, PiecePart, Table};
use datagen::{Benchmark, Chunk, Format};
use std::sync::OnceLock;

/// Rows between two checks for cancellation: a few milliseconds of server time.
const ROWS_PER_PART: u64 = 2_000;

/// The tables of a benchmark at one size.
pub(crate) struct Generated<B: Benchmark> {
    benchmark: B,
    /// In the order of loading.
    tables: Vec<Known<B::Table>>,
    /// Counted on first use, because counting draws the lines of every order.
    rows: OnceLock<Vec<u64>>,
}

struct Known<T> {
    name: String,
    table: T,
    columns: usize,
}

impl<B: Benchmark> Generated<B> {
    /// The tables with their numbers of columns, in the order of loading.
    pub(crate) fn new(
        benchmark: B,
        order: impl IntoIterator<Item = (B::Table, usize)>,
    ) -> Generated<B> {
        let known = |(table, columns)| Known {
            name: B::name(table),
            table,
            columns,
        };
        Generated {
            benchmark,
            tables: order.into_iter().map(known).collect(),
            rows: OnceLock::new(),
        }
    }

    fn rows_of(&self, place: usize) -> u64 {
        let count = |known: &Known<B::Table>| self.benchmark.rows(known.table);
        let counted = || self.tables.iter().map(count).collect();
        self.rows.get_or_init(counted)[place]
    }
}

impl<B: Benchmark> Rows for Generated<B> {
    fn names(&self) -> Vec<&str> {
        self.tables
            .iter()
            .map(|known| known.name.as_str())
            .collect()
    }

    fn text_bytes(&self) -> u64 {
        let bytes = |known: &Known<B::Table>| self.benchmark.bytes_estimate(known.table);
        self.tables.iter().map(bytes).sum()
    }

    fn tables(&self) -> Vec<Table> {
        let table = |(place, known): (usize, &Known<B::Table>)| Table {
            name: known.name.clone(),
            columns: known.columns,
            rows: self.rows_of(place),
        };
        self.tables.iter().enumerate().map(table).collect()
    }

    fn pieces(&self, rows_per_piece: Option<u64>) -> Vec<Piece> {
        let pieces = |(place, known): (usize, &Known<B::Table>)| {
            let whole = self.benchmark.whole(known.table);
            pieces(place, self.rows_of(place), rows_per_piece, &whole)
        };
        self.tables.iter().enumerate().flat_map(pieces).collect()
    }
}

/// Splits the table `table` of `rows` rows into consecutive pieces of about this many rows; None: one piece.
fn pieces<B: Benchmark>(
    table: usize,
    rows: u64,
    rows_per_piece: Option<u64>,
    whole: &Chunk<B>,
) -> Vec<Piece> {
    let count = rows_per_piece.map_or(1, |each| rows.div_ceil(each)).max(1);
    let parts_per_piece = (rows / count).div_ceil(ROWS_PER_PART);
    let part = |chunk: Chunk<B>| PiecePart {
        write: Box::new(move |to| chunk.write(to, Format::Tbl)),
    };
    let piece = |chunk: Chunk<B>| Piece {
        table,
        parts: chunk.split(parts_per_piece).map(part).collect(),
    };
    whole.split(count).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::ops::Range;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    static COUNTED: AtomicU64 = AtomicU64::new(0);

    /// One table of seven rows that counts how often its rows were counted.
    #[derive(Clone, Copy)]
    struct Counting;

    impl Benchmark for Counting {
        type Table = ();

        fn name((): ()) -> String {
            "t".into()
        }

        fn units(&self, (): ()) -> u64 {
            7
        }

        fn rows_in(&self, (): (), units: Range<u64>) -> u64 {
            COUNTED.fetch_add(1, SeqCst);
            units.end - units.start
        }

        fn bytes_estimate(&self, (): ()) -> u64 {
            20
        }

        fn write(&self, (): (), _: Range<u64>, _: &mut dyn Write, _: Format) -> io::Result<u64> {
            Ok(1)
        }
    }

    #[test]
    fn rows_are_counted_once_and_only_when_needed() {
        let generated = Generated::new(Counting, [((), 2)]);
        assert_eq!((generated.names(), generated.text_bytes()), (vec!["t"], 20));
        assert_eq!(COUNTED.load(SeqCst), 0);
        for _ in 0..2 {
            assert_eq!(generated.tables()[0].rows, 7);
            assert!(!generated.pieces(Some(2)).is_empty());
        }
        assert_eq!(COUNTED.load(SeqCst), 1);
    }
}
