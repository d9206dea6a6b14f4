//! Query results in a canonical form, so that servers, rounds and a reference can be compared by hash.
//!
//! Purpose: equal rows have the same hash on every server, different rows never do. A rounded reference is compared within
//! the tolerance of its column. Boundaries: `cell` compares values.

mod arriving;
mod cell;
mod order;
pub(crate) mod reference_hashes;

pub use arriving::Answer;
pub use cell::Cell;
pub(crate) use cell::{of_reference, shown_row};

use crate::Operation;
use cell::{canonical, shown};
use record::answer_hash;
use server::{ColumnKind, Reply, Sha256};

/// The expected result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// In the canonical form.
    Rows(Vec<Vec<String>>),
    /// In the canonical form, with the tolerance of each column.
    Rounded {
        rows: Vec<Vec<String>>,
        columns: &'static [Precision],
    },
    /// For results that are not stored: the number of rows and their `Canonical::reference_hash`.
    Hash { rows: u64, hash: String },
}

/// The tolerance against a reference rounded to two decimals, after TPC-H clause 2.1.3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// A column value, a count, a sum of integers: equal (a, and comments 2 and 4 of the clause).
    Exact,
    /// A sum of money: within 100 (c).
    Sum,
    /// An average or a ratio r, rounded to two decimals, to the reference v: `0.99 v <= r <= 1.01 v` (b and d).
    Ratio,
}

impl Precision {
    /// Whether the cell, in the canonical form, matches the reference.
    pub fn agrees(self, cell: &str, reference: &str) -> bool {
        // The reference does not show spaces at the end of a text.
        let is_equal = cell.trim_end_matches(' ') == reference;
        if self == Precision::Exact || is_equal {
            return is_equal;
        }
        let (Ok(r), Ok(v)) = (cell.parse::<f64>(), reference.parse::<f64>()) else {
            return false;
        };
        match self {
            Precision::Exact => false,
            Precision::Sum => (r - v).abs() <= 100.0,
            // In hundredths, so that both are integers.
            Precision::Ratio => ((r * 100.0).round() - (v * 100.0).round()).abs() <= v.abs(),
        }
    }
}

/// The rows of a result in the canonical form, ties of the ORDER BY in a fixed order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    pub rows: Vec<Vec<Cell>>,
}

impl Canonical {
    /// The canonical form of a server's result. Only ties are sorted, so a wrong row order stays wrong.
    pub fn of(operation: &Operation, reply: &Reply) -> Canonical {
        let row = |row: &Vec<Option<Vec<u8>>>| {
            let cells: Vec<Option<&[u8]>> = row.iter().map(|cell| cell.as_deref()).collect();
            canonical_row(&reply.kinds, &cells)
        };
        let rows = reply.rows.iter().map(row).collect();
        let ordered_by = ordered_by(operation, reply);
        Canonical {
            rows: in_order(&ordered_by, rows, |cell: &Cell| cell.as_deref()),
        }
    }

    /// The hash that is recorded: equal for equal rows, and different for any other. It has the version of the canonical form.
    pub fn hash(&self) -> String {
        answer_hash::of_this_version(&self.digest(|cell, hash| update_escaped(hash, cell)))
    }

    /// The hash of references that were computed without the types of columns: spaces at the end of a text do not count, and NULL is
    /// the text `\N`. SHA-256 in hex over the cells (each followed by 0x1F) and the rows (each followed by a line feed).
    pub(crate) fn reference_hash(&self) -> String {
        self.digest(|cell, hash| match cell {
            None => hash.update(b"\\N"),
            Some(bytes) => hash.update(trimmed(bytes)),
        })
    }

    fn digest(&self, update: impl Fn(&Cell, &mut Sha256)) -> String {
        let mut hash = Sha256::default();
        for row in &self.rows {
            for cell in row {
                update(cell, &mut hash);
                hash.update([CELL_END]);
            }
            hash.update([ROW_END]);
        }
        hash.hex()
    }

    /// Compares with a reference; the error describes the first difference.
    pub fn difference(&self, reference: &Reference) -> Option<String> {
        match reference {
            Reference::Rows(rows) => self.difference_of_rows(rows, |got, right| {
                let agrees =
                    |(cell, right): (&Cell, &String)| cell.as_deref() == Some(right.as_bytes());
                got.len() == right.len() && got.iter().zip(right).all(agrees)
            }),
            Reference::Rounded { rows, columns } => self.difference_of_rows(rows, |got, right| {
                let agrees = |((cell, right), precision): ((&Cell, &String), &Precision)| {
                    cell.is_some() && precision.agrees(&shown(cell), right)
                };
                got.len() == right.len() && got.iter().zip(right).zip(*columns).all(agrees)
            }),
            Reference::Hash { rows, hash } => self.difference_of_hash(*rows, hash),
        }
    }

    fn difference_of_hash(&self, rows: u64, hash: &str) -> Option<String> {
        let (got_rows, got) = (self.rows.len(), self.reference_hash());
        (got != hash).then(|| {
            format!(
                "there are {got_rows} rows with the hash {got}, the reference has {rows} rows with the hash {hash}"
            )
        })
    }

    /// Names the first row that differs.
    fn difference_of_rows(
        &self,
        reference: &[Vec<String>],
        agree: impl Fn(&[Cell], &[String]) -> bool,
    ) -> Option<String> {
        for (n, (got, right)) in self.rows.iter().zip(reference).enumerate() {
            if !agree(got, right) {
                return Some(format!(
                    "row {} is ({}), the reference says ({})",
                    n + 1,
                    shown_row(got),
                    right.join(", ")
                ));
            }
        }
        let (got, right) = (self.rows.len(), reference.len());
        match got.cmp(&right) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Less => Some(format!(
                "there are {got} rows, the reference has {right}; the first missing row is ({})",
                reference[got].join(", ")
            )),
            std::cmp::Ordering::Greater => Some(format!(
                "there are {got} rows, the reference has {right}; the first surplus row is ({})",
                shown_row(&self.rows[right])
            )),
        }
    }
}

/// The canonical form of a row as a server sent it; a column without a kind is text.
pub(crate) fn canonical_row(kinds: &[ColumnKind], cells: &[Option<&[u8]>]) -> Vec<Cell> {
    let kind = |column: usize| kinds.get(column).copied().unwrap_or(ColumnKind::Other);
    let cells = cells.iter().enumerate();
    cells
        .map(|(column, cell)| canonical(kind(column), *cell))
        .collect()
}

/// The columns that the rows are ordered by, most significant first. Only prony's own queries say so.
pub(crate) fn ordered_by(operation: &Operation, reply: &Reply) -> Vec<usize> {
    match &operation.place {
        None => operation.ordered_by.clone(),
        Some(_) => order::columns(&operation.mysql, reply),
    }
}

/// Two cells are equal there if only the case of letters, or spaces at the end, differ: as in most collations.
pub(crate) fn key_of(cell: Option<&[u8]>) -> Option<Vec<u8>> {
    Some(trimmed(cell?).to_ascii_lowercase())
}

/// Sorts rows that are equal in the columns of the ORDER BY. `bytes` are those of a value, None is NULL. Letters in either case are
/// equal there, as in most collations.
pub(crate) fn in_order<C: Ord>(
    ordered_by: &[usize],
    mut rows: Vec<Vec<C>>,
    bytes: impl Fn(&C) -> Option<&[u8]>,
) -> Vec<Vec<C>> {
    let key = |row: &Vec<C>| -> Vec<Option<Vec<u8>>> {
        let key = |column: usize| key_of(bytes(row.get(column)?));
        ordered_by.iter().map(|&column| key(column)).collect()
    };
    for ties in rows.chunk_by_mut(|a, b| key(a) == key(b)) {
        ties.sort();
    }
    rows
}

pub(crate) const CELL_END: u8 = 0x1f;
const ROW_END: u8 = b'\n';
const ESCAPE: u8 = b'\\';

/// Adds a cell so that no two cells are the same bytes: NULL is `\N`, and what ends a cell or a row, or escapes, is escaped.
pub(crate) fn update_escaped(hash: &mut Sha256, cell: &Cell) {
    let Some(bytes) = cell else {
        return hash.update([ESCAPE, b'N']);
    };
    let ends = |byte: &u8| [CELL_END, ROW_END, ESCAPE].contains(byte);
    let mut rest = bytes.as_slice();
    while let Some(at) = rest.iter().position(ends) {
        hash.update(&rest[..at]);
        hash.update([ESCAPE, rest[at]]);
        rest = &rest[at + 1..];
    }
    hash.update(rest);
}

/// Without the spaces at its end.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != b' ');
    &bytes[..end.map_or(0, |end| end + 1)]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn operation(ordered_by: &[usize]) -> Operation {
        Operation {
            ordered_by: ordered_by.to_vec(),
            ..Operation::new("Q", "")
        }
    }

    fn reply(rows: &[&[&str]]) -> Reply {
        let cell = |text: &&str| Some(text.as_bytes().to_vec());
        Reply {
            rows: rows
                .iter()
                .map(|row| row.iter().map(cell).collect())
                .collect(),
            ..Reply::default()
        }
    }

    #[test]
    fn ties_may_come_in_any_order() {
        let one = Canonical::of(
            &operation(&[0]),
            &reply(&[&["1", "b"], &["1", "a"], &["2", "c"]]),
        );
        let other = Canonical::of(
            &operation(&[0]),
            &reply(&[&["1", "a"], &["1", "b"], &["2", "c"]]),
        );
        assert_eq!(one.hash(), other.hash());
    }

    #[test]
    fn a_wrong_row_order_is_not_corrected() {
        let right = Canonical::of(&operation(&[0]), &reply(&[&["1", "a"], &["2", "b"]]));
        let wrong = Canonical::of(&operation(&[0]), &reply(&[&["2", "b"], &["1", "a"]]));
        assert_ne!(right.hash(), wrong.hash());
    }

    #[test]
    fn the_order_of_a_users_query_counts_where_it_orders() {
        let of = |sql: &str, rows: &[&[&str]]| {
            let own = Operation {
                mysql: sql.into(),
                place: Some("q.sql:1".into()),
                ..operation(&[])
            };
            let named = Reply {
                columns: vec!["id".into()],
                ..reply(rows)
            };
            Canonical::of(&own, &named).hash()
        };
        let (up, down): (&[&[&str]], &[&[&str]]) = (&[&["1"], &["2"]], &[&["2"], &["1"]]);
        let (ordered, open) = ("select id from t order by id", "select id from t");
        assert_ne!(of(ordered, up), of(ordered, down));
        assert_eq!(of(open, up), of(open, down));
    }

    #[test]
    fn null_is_not_an_empty_string() {
        let null = Reply {
            rows: vec![vec![None]],
            ..Reply::default()
        };
        assert_ne!(
            Canonical::of(&operation(&[]), &null).hash(),
            Canonical::of(&operation(&[]), &reply(&[&[""]])).hash()
        );
    }

    #[test]
    fn null_the_text_for_it_and_separators_in_text_have_hashes_of_their_own() {
        let of = |cells: &[Option<&[u8]>]| {
            let row = cells.iter().map(|cell| cell.map(<[u8]>::to_vec)).collect();
            Canonical { rows: vec![row] }.hash()
        };
        let all: [&[Option<&[u8]>]; 9] = [
            &[None],
            &[Some(b"\\N")],
            &[Some(b"\\\\N")],
            &[Some(b"")],
            &[Some(b"a"), Some(b"b")],
            &[Some(b"a\x1fb")],
            &[Some(b"a\\\x1fb")],
            &[Some(&[0x81])],
            &[Some(&[0x82])],
        ];
        for (n, one) in all.iter().enumerate() {
            let equal = all.iter().filter(|other| of(other) == of(one)).count();
            assert_eq!(equal, 1, "case {n}");
        }
    }

    #[test]
    fn spaces_at_the_end_count_in_the_hash_but_not_in_that_of_a_reference() {
        let of = |text: &str| Canonical::of(&operation(&[]), &reply(&[&[text]]));
        assert_ne!(of("a ").hash(), of("a").hash());
        assert_eq!(of("a ").reference_hash(), of("a").reference_hash());
    }

    #[test]
    fn the_first_differing_row_is_named() {
        let got = Canonical::of(&operation(&[]), &reply(&[&["1992", "7"], &["1993", "8"]]));
        let reference = |rows: &[&[&str]]| {
            let row = |row: &&[&str]| row.iter().map(|cell| cell.to_string()).collect();
            Reference::Rows(rows.iter().map(row).collect())
        };
        assert_eq!(
            got.difference(&reference(&[&["1992", "7"], &["1993", "8"]])),
            None
        );
        assert_eq!(
            got.difference(&reference(&[&["1992", "7"], &["1993", "9"]]))
                .unwrap(),
            "row 2 is (1993, 8), the reference says (1993, 9)"
        );
        assert_eq!(
            got.difference(&reference(&[&["1992", "7"]])).unwrap(),
            "there are 2 rows, the reference has 1; the first surplus row is (1993, 8)"
        );
        assert_eq!(
            got.difference(&reference(&[
                &["1992", "7"],
                &["1993", "8"],
                &["1994", "9"]
            ]))
            .unwrap(),
            "there are 2 rows, the reference has 3; the first missing row is (1994, 9)"
        );
    }

    #[test]
    fn a_sum_may_be_a_hundred_off_and_a_ratio_a_hundredth() {
        use Precision::{Exact, Ratio, Sum};
        for (precision, cell, reference, agrees) in [
            (Sum, "348406.054286", "348406.02", true),
            (Sum, "348506.02", "348406.02", true),
            (Sum, "348506.03", "348406.02", false),
            (Ratio, "0.03443589", "0.03", true),
            (Ratio, "0.0351", "0.03", false),
            (Ratio, "38273.129735", "38273.13", true),
            (Ratio, "-2.02", "-2", true),
            (Ratio, "-2.03", "-2", false),
            (Exact, "323", "323", true),
            (Exact, "323.01", "323", false),
            (Sum, "NULL", "5", false),
            (Exact, "a ", "a", true),
            (Exact, " a", "a", false),
        ] {
            assert_eq!(
                precision.agrees(cell, reference),
                agrees,
                "{precision:?} {cell} {reference}"
            );
        }
    }

    #[test]
    fn a_rounded_reference_is_met_within_the_bounds_of_each_column() {
        let reference = Reference::Rounded {
            rows: vec![vec!["F".into(), "1000.5".into()]],
            columns: &[Precision::Exact, Precision::Sum],
        };
        let answer = |row: &[&str]| Canonical::of(&operation(&[]), &reply(&[row]));
        assert_eq!(answer(&["F", "1000.4999"]).difference(&reference), None);
        assert_eq!(
            answer(&["F", "1200"]).difference(&reference).unwrap(),
            "row 1 is (F, 1200), the reference says (F, 1000.5)"
        );
        assert!(answer(&["f", "1000.5"]).difference(&reference).is_some());
        assert!(answer(&["F"]).difference(&reference).is_some());
    }

    #[test]
    fn a_reference_may_be_a_hash_and_a_number_of_rows() {
        let answer = Canonical::of(&operation(&[]), &reply(&[&["1992", "7"]]));
        let right = Reference::Hash {
            rows: 1,
            hash: answer.reference_hash(),
        };
        assert_eq!(answer.difference(&right), None);
        let other = Reference::Hash {
            rows: 2,
            hash: "ab".into(),
        };
        let says = answer.difference(&other).unwrap();
        assert!(
            says.starts_with("there are 1 rows with the hash ")
                && says.ends_with("the reference has 2 rows with the hash ab"),
            "{says}"
        );
    }

    proptest! {
        #[test]
        fn different_rows_have_different_hashes(one in rows(), other in rows()) {
            let (one, other) = (Canonical { rows: one }, Canonical { rows: other });
            prop_assert_eq!(one == other, one.hash() == other.hash());
        }
    }

    fn rows() -> impl Strategy<Value = Vec<Vec<Cell>>> {
        let byte = prop::sample::select(vec![b'a', b' ', b'\\', b'N', b'\n', 0x1f, 0x80]);
        let cell = prop::option::of(prop::collection::vec(byte, 0..4));
        prop::collection::vec(prop::collection::vec(cell, 1..3), 0..3)
    }
}
