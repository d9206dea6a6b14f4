//! The eight tables as the loader takes them: names, rows, and pieces from the generator.

use crate::workload::loader::{Cut, Piece, Table};
use datagen::Format;
use datagen::tpch::{Chunk, Table as Kind, Tpch};
use std::sync::OnceLock;

/// In the order of loading: the small ones first, so that a refusal shows at once.
const ORDER: [(Kind, usize); 8] = [
    (Kind::Region, 3),
    (Kind::Nation, 4),
    (Kind::Supplier, 7),
    (Kind::Part, 9),
    (Kind::Customer, 8),
    (Kind::Partsupp, 5),
    (Kind::Orders, 9),
    (Kind::Lineitem, 16),
];

pub(super) const NAMES: [&str; 8] = [
    "region", "nation", "supplier", "part", "customer", "partsupp", "orders", "lineitem",
];

const CUT: Cut<Chunk> = Cut {
    split: |chunk, n| chunk.split(n).collect(),
    write: |chunk, to| chunk.write(to, Format::Tbl),
};

/// The tables at one scale.
pub(super) struct Tables {
    tpch: Tpch,
    /// Exact, counted when it is first asked for: the lines of every order have to be drawn.
    rows: OnceLock<[u64; 8]>,
}

impl Tables {
    /// # Panics
    /// Where the scale is one that the section does not let through.
    pub fn new(scale: f64) -> Tables {
        let tpch = Tpch::new(scale).expect("the section lets only scales through that there are");
        Tables {
            tpch,
            rows: OnceLock::new(),
        }
    }

    fn rows_of(&self, table: usize) -> u64 {
        self.rows
            .get_or_init(|| ORDER.map(|(kind, _)| self.tpch.rows(kind)))[table]
    }

    /// Of all tables.
    pub fn rows(&self) -> u64 {
        (0..ORDER.len()).map(|table| self.rows_of(table)).sum()
    }

    /// Bytes of text, about.
    pub fn text_bytes(&self) -> u64 {
        let bytes = ORDER
            .iter()
            .map(|&(kind, _)| self.tpch.bytes_estimate(kind));
        bytes.sum()
    }

    pub fn list(&self) -> Vec<Table> {
        let table = |(n, &(kind, columns)): (usize, &(Kind, usize))| Table {
            name: kind.name().into(),
            columns,
            rows: self.rows_of(n),
        };
        ORDER.iter().enumerate().map(table).collect()
    }

    /// Every table in pieces of about so many rows, one after another; None: each table is one piece.
    pub fn pieces(&self, rows_per_piece: Option<u64>) -> Vec<Piece> {
        let pieces = |(table, &(kind, _)): (usize, &(Kind, usize))| {
            let whole = self.tpch.whole(kind);
            CUT.pieces(table, self.rows_of(table), rows_per_piece, &whole)
        };
        ORDER.iter().enumerate().flat_map(pieces).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_tables_in_their_order() {
        assert_eq!(ORDER.map(|(kind, _)| kind.name()), NAMES);
    }

    #[test]
    fn pieces_hold_every_row_of_every_table_once() {
        let tables = Tables::new(0.01);
        for rows_per_piece in [None, Some(10_000), Some(7_000)] {
            let mut rows = [0; 8];
            for piece in tables.pieces(rows_per_piece) {
                for part in piece.parts {
                    rows[piece.table] += (part.write)(&mut std::io::sink()).unwrap();
                }
            }
            let expected: Vec<u64> = tables.list().iter().map(|table| table.rows).collect();
            assert_eq!(rows.to_vec(), expected);
        }
    }

    #[test]
    fn a_line_has_as_many_fields_as_its_table_has_columns() {
        for (kind, columns) in ORDER {
            let mut text = Vec::new();
            let chunk = Tpch::new(0.01).unwrap().whole(kind);
            chunk.write(&mut text, Format::Tbl).unwrap();
            let line = text.split(|&byte| byte == b'\n').next().unwrap();
            let bars = line.iter().filter(|&&byte| byte == b'|').count();
            assert_eq!(bars, columns, "{}", kind.name());
        }
    }
}
