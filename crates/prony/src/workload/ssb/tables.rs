//! The five tables as the loader takes them: names, rows, and pieces from the generator.

use crate::workload::loader::{Cut, Piece, Table};
use datagen::Format;
use datagen::ssb::{Chunk, Ssb, Table as Kind};
use std::sync::OnceLock;

/// In the order of loading: the small ones first, so that a refusal shows at once.
const ORDER: [(Kind, &str, usize); 5] = [
    (Kind::Date, "date", 17),
    (Kind::Supplier, "supplier", 7),
    (Kind::Customer, "customer", 8),
    (Kind::Part, "part", 9),
    (Kind::Lineorder, "lineorder", 17),
];

pub(super) const NAMES: [&str; 5] = ["date", "supplier", "customer", "part", "lineorder"];

const CUT: Cut<Chunk> = Cut {
    split: |chunk, n| chunk.split(n).collect(),
    write: |chunk, to| chunk.write(to, Format::Tbl),
};

/// The tables at one scale.
pub(super) struct Tables {
    ssb: Ssb,
    /// Exact, counted when it is first asked for: the lines of every order have to be drawn.
    rows: OnceLock<[u64; 5]>,
}

impl Tables {
    /// # Panics
    /// Where the scale is one that the section does not let through.
    pub fn new(scale: f64) -> Tables {
        let ssb = Ssb::new(scale).expect("the section lets only scales through that there are");
        Tables {
            ssb,
            rows: OnceLock::new(),
        }
    }

    fn rows_of(&self, table: usize) -> u64 {
        self.rows
            .get_or_init(|| ORDER.map(|(kind, ..)| self.ssb.rows(kind)))[table]
    }

    /// Of all tables.
    pub fn rows(&self) -> u64 {
        (0..ORDER.len()).map(|table| self.rows_of(table)).sum()
    }

    /// Bytes of text, about.
    pub fn text_bytes(&self) -> u64 {
        ORDER
            .iter()
            .map(|&(kind, ..)| self.ssb.bytes_estimate(kind))
            .sum()
    }

    pub fn list(&self) -> Vec<Table> {
        let table = |(n, &(_, name, columns)): (usize, &(Kind, &'static str, usize))| Table {
            name: name.into(),
            columns,
            rows: self.rows_of(n),
        };
        ORDER.iter().enumerate().map(table).collect()
    }

    /// Every table in pieces of about so many rows, one after another; None: each table is one piece.
    pub fn pieces(&self, rows_per_piece: Option<u64>) -> Vec<Piece> {
        let pieces = |(table, &(kind, ..)): (usize, &(Kind, &str, usize))| {
            let whole = self.ssb.whole(kind);
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
        assert_eq!(ORDER.map(|(_, name, _)| name), NAMES);
        assert_eq!(ORDER.map(|(kind, ..)| kind.name()), NAMES);
    }

    #[test]
    fn pieces_hold_every_row_of_every_table_once() {
        let tables = Tables::new(0.01);
        for rows_per_piece in [None, Some(1_000), Some(7)] {
            let mut rows = [0; 5];
            for piece in tables.pieces(rows_per_piece) {
                for part in piece.parts {
                    rows[piece.table] += (part.write)(&mut std::io::sink()).unwrap();
                }
            }
            assert_eq!(
                rows.to_vec(),
                tables
                    .list()
                    .iter()
                    .map(|table| table.rows)
                    .collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_line_has_as_many_fields_as_its_table_has_columns() {
        for (kind, name, columns) in ORDER {
            let mut text = Vec::new();
            Ssb::new(0.001)
                .unwrap()
                .whole(kind)
                .write(&mut text, Format::Tbl)
                .unwrap();
            let line = text.split(|&byte| byte == b'\n').next().unwrap();
            assert_eq!(
                line.iter().filter(|&&byte| byte == b'|').count(),
                columns,
                "{name}"
            );
        }
    }
}
