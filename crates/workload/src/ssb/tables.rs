//! The five tables for the loader: names, rows, and pieces from the generator.

use crate::generated::generator::Generated;
use datagen::ssb::{Ssb, Table as SsbTable};

/// In loading order: small tables first, so that a rejection shows early.
const ORDER: [(SsbTable, usize); 5] = [
    (SsbTable::Date, 17),
    (SsbTable::Supplier, 7),
    (SsbTable::Customer, 8),
    (SsbTable::Part, 9),
    (SsbTable::Lineorder, 17),
];

/// # Panics
/// If the generator does not support the scale; the section rejects those.
pub(super) fn tables(scale: f64) -> Generated<Ssb> {
    let ssb = Ssb::new(scale).expect("the section accepts only supported scales");
    Generated::new(ssb, ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::stored_tables::Rows as _;
    use datagen::{Benchmark as _, Format};

    #[test]
    fn pieces_hold_every_row_of_every_table_once() {
        let tables = tables(0.01);
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
                    .tables()
                    .iter()
                    .map(|table| table.rows)
                    .collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_line_has_as_many_fields_as_its_table_has_columns() {
        for (kind, columns) in ORDER {
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
                "{}",
                kind.name()
            );
        }
    }
}
