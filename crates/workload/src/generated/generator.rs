//! Adapts the tables of a generator to the loader: names, rows and pieces.
//!
//! Purpose: one implementation of `Rows` for every benchmark with a generator. Boundaries: crate `datagen` generates the
//! rows, each workload provides its statements.

use super::stored_tables::Rows;
use crate::loader::{Cut, Piece, Table};
use std::sync::OnceLock;

/// The functions of a generator. `G` is the benchmark at one scale, `K` one of its tables, `C` a part of one.
pub(crate) struct Generator<G, K, C> {
    pub name: fn(K) -> &'static str,
    /// The exact number of rows.
    pub rows: fn(&G, K) -> u64,
    /// Approximate size of the text.
    pub bytes: fn(&G, K) -> u64,
    pub whole: fn(&G, K) -> C,
    pub cut: Cut<C>,
}

/// The tables at one scale.
pub(crate) struct Generated<G, K: 'static, C, const N: usize> {
    benchmark: G,
    generator: Generator<G, K, C>,
    /// Tables with their numbers of columns, in the order of loading.
    order: &'static [(K, usize); N],
    /// Counted on first use, because counting draws the lines of every order.
    rows: OnceLock<[u64; N]>,
}

impl<G, K: Copy, C: Send + 'static, const N: usize> Generated<G, K, C, N> {
    pub(crate) fn new(
        benchmark: G,
        generator: Generator<G, K, C>,
        order: &'static [(K, usize); N],
    ) -> Generated<G, K, C, N> {
        Generated {
            benchmark,
            generator,
            order,
            rows: OnceLock::new(),
        }
    }

    fn rows_of(&self, table: usize) -> u64 {
        let count = |(kind, _)| (self.generator.rows)(&self.benchmark, kind);
        self.rows.get_or_init(|| self.order.map(count))[table]
    }
}

impl<G, K, C, const N: usize> Rows for Generated<G, K, C, N>
where
    G: Send + Sync,
    K: Copy + Send + Sync,
    C: Send + 'static,
{
    fn names(&self) -> Vec<&str> {
        let name = |&(kind, _): &(K, usize)| (self.generator.name)(kind);
        self.order.iter().map(name).collect()
    }

    fn text_bytes(&self) -> u64 {
        let bytes = |&(kind, _): &(K, usize)| (self.generator.bytes)(&self.benchmark, kind);
        self.order.iter().map(bytes).sum()
    }

    fn tables(&self) -> Vec<Table> {
        let table = |(n, &(kind, columns)): (usize, &(K, usize))| Table {
            name: (self.generator.name)(kind).into(),
            columns,
            rows: self.rows_of(n),
        };
        self.order.iter().enumerate().map(table).collect()
    }

    fn pieces(&self, rows_per_piece: Option<u64>) -> Vec<Piece> {
        let pieces = |(table, &(kind, _)): (usize, &(K, usize))| {
            let whole = (self.generator.whole)(&self.benchmark, kind);
            let cut = &self.generator.cut;
            cut.pieces(table, self.rows_of(table), rows_per_piece, &whole)
        };
        self.order.iter().enumerate().flat_map(pieces).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    static COUNTED: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn rows_are_counted_once_and_only_when_needed() {
        let generator = Generator {
            name: |_| "t",
            rows: |_, _| 7 + COUNTED.fetch_add(1, SeqCst),
            bytes: |_, _| 20,
            whole: |_, _| (),
            cut: Cut {
                split: |_, pieces| vec![(); pieces as usize],
                write: |_, _| Ok(1),
            },
        };
        let generated = Generated::new((), generator, &[((), 2)]);
        assert_eq!((generated.names(), generated.text_bytes()), (vec!["t"], 20));
        assert_eq!(COUNTED.load(SeqCst), 0);
        for _ in 0..2 {
            assert_eq!(generated.tables()[0].rows, 7);
            assert!(!generated.pieces(Some(2)).is_empty());
        }
        assert_eq!(COUNTED.load(SeqCst), 1);
    }
}
