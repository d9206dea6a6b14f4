//! The eight tables for the loader: names, rows, and pieces from the generator.

use crate::generated::generator::Generated;
use datagen::tpch::{Table as TpchTable, Tpch};

/// In loading order: small tables first, so that a rejection shows early.
const ORDER: [(TpchTable, usize); 8] = [
    (TpchTable::Region, 3),
    (TpchTable::Nation, 4),
    (TpchTable::Supplier, 7),
    (TpchTable::Part, 9),
    (TpchTable::Customer, 8),
    (TpchTable::Partsupp, 5),
    (TpchTable::Orders, 9),
    (TpchTable::Lineitem, 16),
];

/// # Panics
/// If the generator does not support the scale; the section rejects those.
pub(super) fn tables(scale: f64) -> Generated<Tpch> {
    let tpch = Tpch::new(scale).expect("the section accepts only supported scales");
    Generated::new(tpch, ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::stored_tables::Rows as _;
    use datagen::{Benchmark as _, Format};

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
