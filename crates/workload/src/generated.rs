//! The tables of a generator as the loader takes them: names, rows and pieces.
//!
//! Goal: one code for every benchmark whose generator knows its tables. Non-goals: the generators (crate `datagen`), statements.

use super::loader::{Cut, Piece, Table};
use std::sync::OnceLock;

/// How a generator is asked. `G` is the benchmark at one scale, `K` one of its tables, `C` a part of one.
pub struct Generator<G, K, C> {
    pub name: fn(K) -> &'static str,
    /// Exact.
    pub rows: fn(&G, K) -> u64,
    /// Of text, about.
    pub bytes: fn(&G, K) -> u64,
    pub whole: fn(&G, K) -> C,
    pub cut: Cut<C>,
}

/// The tables at one scale.
pub struct Generated<G, K: 'static, C, const N: usize> {
    benchmark: G,
    generator: Generator<G, K, C>,
    /// Tables with their numbers of columns, in the order of loading.
    order: &'static [(K, usize); N],
    /// Counted when it is first asked for: the lines of every order have to be drawn.
    rows: OnceLock<[u64; N]>,
}

impl<G, K: Copy, C: Send + 'static, const N: usize> Generated<G, K, C, N> {
    pub fn new(
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

    /// Of all tables.
    pub fn rows(&self) -> u64 {
        (0..N).map(|table| self.rows_of(table)).sum()
    }

    /// Bytes of text, about.
    pub fn text_bytes(&self) -> u64 {
        let bytes = |&(kind, _): &(K, usize)| (self.generator.bytes)(&self.benchmark, kind);
        self.order.iter().map(bytes).sum()
    }

    pub fn list(&self) -> Vec<Table> {
        let table = |(n, &(kind, columns)): (usize, &(K, usize))| Table {
            name: (self.generator.name)(kind).into(),
            columns,
            rows: self.rows_of(n),
        };
        self.order.iter().enumerate().map(table).collect()
    }

    /// Every table in pieces of about so many rows, one after another; None: each table is one piece.
    pub fn pieces(&self, rows_per_piece: Option<u64>) -> Vec<Piece> {
        let pieces = |(table, &(kind, _)): (usize, &(K, usize))| {
            let whole = (self.generator.whole)(&self.benchmark, kind);
            let cut = &self.generator.cut;
            cut.pieces(table, self.rows_of(table), rows_per_piece, &whole)
        };
        self.order.iter().enumerate().flat_map(pieces).collect()
    }
}
