//! The eight tables for the loader: names, rows, and pieces from the generator.

use crate::generated::generator::{Generated, Generator};
use crate::loader::Cut;
use datagen::Format;
use datagen::tpch::{Chunk, Table as Kind, Tpch};

/// In loading order: small tables first, so that a rejection shows early.
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

const GENERATOR: Generator<Tpch, Kind, Chunk> = Generator {
    name: |kind| kind.name(),
    rows: |tpch, kind| tpch.rows(kind),
    bytes: |tpch, kind| tpch.bytes_estimate(kind),
    whole: |tpch, kind| tpch.whole(kind),
    cut: Cut {
        split: |chunk, n| chunk.split(n).collect(),
        write: |chunk, to| chunk.write(to, Format::Tbl),
    },
};

pub(super) type Tables = Generated<Tpch, Kind, Chunk, 8>;

/// # Panics
/// If the generator does not support the scale; the section rejects those.
pub(super) fn tables(scale: f64) -> Tables {
    let tpch = Tpch::new(scale).expect("the section accepts only supported scales");
    Generated::new(tpch, GENERATOR, &ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::stored_tables::Rows as _;

    #[test]
    fn pieces_hold_every_row_of_every_table_once() {
        let tables = tables(0.01);
        for rows_per_piece in [None, Some(10_000), Some(7_000)] {
            let mut rows = [0; 8];
            for piece in tables.pieces(rows_per_piece) {
                for part in piece.parts {
                    rows[piece.table] += (part.write)(&mut std::io::sink()).unwrap();
                }
            }
            let expected: Vec<u64> = tables.tables().iter().map(|table| table.rows).collect();
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
