//! Query results in a canonical form, so that servers, rounds and a reference can be compared by hash.
//!
//! Purpose: equal rows have the same hash on every server, different rows never do. A rounded reference is compared within
//! the tolerance of its column. Boundaries: floating-point columns are compared to ten digits only.

use crate::Operation;
use server::{Reply, Sha256};

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
    /// For results that are not stored: the number of rows and their [`Canonical::hash`].
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
        if self == Precision::Exact || cell == reference {
            return cell == reference;
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

/// The rows of a result: numbers without trailing zeros, NULL as `\N`, ties of the ORDER BY in a fixed order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    pub rows: Vec<Vec<String>>,
}

impl Canonical {
    /// The canonical form of a server's result. Only ties are sorted, so a wrong row order stays wrong.
    pub fn of(operation: &Operation, reply: &Reply) -> Canonical {
        let is_inexact = |column: usize| reply.inexact.get(column) == Some(&true);
        let cell = |(column, cell): (usize, &Option<Vec<u8>>)| match cell.as_deref() {
            Some(bytes) if is_inexact(column) => rounded(&String::from_utf8_lossy(bytes)),
            other => canonical_cell(other),
        };
        let rows = reply.rows.iter();
        let rows = rows
            .map(|row| row.iter().enumerate().map(cell).collect())
            .collect();
        Canonical::in_order(operation, rows)
    }

    /// Rows with cells already in the canonical form.
    pub fn in_order(operation: &Operation, mut rows: Vec<Vec<String>>) -> Canonical {
        let key = |row: &Vec<String>| -> Vec<Option<String>> {
            operation
                .ordered_by
                .iter()
                .map(|&column| row.get(column).cloned())
                .collect()
        };
        for ties in rows.chunk_by_mut(|a, b| key(a) == key(b)) {
            ties.sort();
        }
        Canonical { rows }
    }

    /// SHA-256 in hex over the cells (each followed by 0x1F) and the rows (each followed by a line feed).
    pub fn hash(&self) -> String {
        let mut hash = Sha256::default();
        for row in &self.rows {
            for cell in row {
                hash.update(cell.as_bytes());
                hash.update([0x1f]);
            }
            hash.update(b"\n");
        }
        hash.hex()
    }

    /// Compares with a reference; the error describes the first difference.
    pub fn difference(&self, reference: &Reference) -> Option<String> {
        match reference {
            Reference::Rows(rows) => self.difference_of_rows(rows, |got, right| got == right),
            Reference::Rounded { rows, columns } => self.difference_of_rows(rows, |got, right| {
                let agrees = |((cell, reference), precision): ((&String, &String), &Precision)| {
                    precision.agrees(cell, reference)
                };
                got.len() == right.len() && got.iter().zip(right).zip(*columns).all(agrees)
            }),
            Reference::Hash { rows, hash } => self.difference_of_hash(*rows, hash),
        }
    }

    fn difference_of_hash(&self, rows: u64, hash: &str) -> Option<String> {
        let (got_rows, got) = (self.rows.len(), self.hash());
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
        agree: impl Fn(&[String], &[String]) -> bool,
    ) -> Option<String> {
        let shown = |row: &[String]| row.join(", ");
        for (n, (got, right)) in self.rows.iter().zip(reference).enumerate() {
            if !agree(got, right) {
                return Some(format!(
                    "row {} is ({}), the reference says ({})",
                    n + 1,
                    shown(got),
                    shown(right)
                ));
            }
        }
        let (got, right) = (self.rows.len(), reference.len());
        match got.cmp(&right) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Less => Some(format!(
                "there are {got} rows, the reference has {right}; the first missing row is ({})",
                shown(&reference[got])
            )),
            std::cmp::Ordering::Greater => Some(format!(
                "there are {got} rows, the reference has {right}; the first surplus row is ({})",
                shown(&self.rows[right])
            )),
        }
    }
}

/// The canonical form of a cell sent by a server; None is NULL.
pub fn canonical_cell(cell: Option<&[u8]>) -> String {
    match cell {
        None => "\\N".into(),
        Some(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            canonical_number(&text).unwrap_or_else(|| text.trim_end_matches(' ').into())
        }
    }
}

/// Significant digits of floating-point numbers. A DOUBLE has 15 that are exact; sums in another order differ in the last.
const DIGITS: usize = 10;

/// A floating-point number with the digits that do not depend on the order of the operations.
fn rounded(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(0.0) => "0".into(),
        Ok(number) => format!("{number:.*e}", DIGITS - 1),
        Err(_) => text.into(),
    }
}

/// `446268068091.0000` and `446268068091` are the same SUM. None if the text is not a plain decimal number.
fn canonical_number(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    };
    let fraction = fraction.trim_end_matches('0');
    Some(match (whole, fraction) {
        ("0", "") => "0".into(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn operation(ordered_by: &[usize]) -> Operation {
        Operation {
            name: "Q".into(),
            mysql: String::new(),
            sqlite: String::new(),
            ordered_by: ordered_by.to_vec(),
            place: None,
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
    fn a_sum_is_the_same_with_and_without_its_zeroes() {
        let with = Canonical::of(&operation(&[]), &reply(&[&["446268068091.0000"]]));
        let without = Canonical::of(&operation(&[]), &reply(&[&["446268068091"]]));
        assert_eq!(with.hash(), without.hash());
        assert_eq!(with.rows, [["446268068091"]]);
    }

    #[test]
    fn text_with_digits_is_unchanged() {
        let rows = Canonical::of(
            &operation(&[]),
            &reply(&[&["MFGR#1210", "1e5", ".", "-", "1.2.3"]]),
        )
        .rows;
        assert_eq!(rows, [["MFGR#1210", "1e5", ".", "-", "1.2.3"]]);
    }

    #[test]
    fn floating_point_numbers_are_compared_to_ten_digits() {
        let of = |cell: &str| {
            let floats = Reply {
                inexact: vec![true],
                ..reply(&[&[cell]])
            };
            Canonical::of(&operation(&[]), &floats).hash()
        };
        assert_eq!(of("0.30000000000000004"), of("0.3"));
        assert_eq!(of("-0"), of("0"));
        assert_eq!(of("1e22"), of("10000000000000000000000"));
        assert_ne!(of("0.30000001"), of("0.3"));
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
            (Sum, "\\N", "5", false),
            (Sum, "\\N", "\\N", true),
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
            hash: answer.hash(),
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
        fn equal_numbers_in_different_forms_are_equal(number in any::<i64>(), zeroes in 0usize..6) {
            let plain = number.to_string();
            let long = format!("{plain}.{}", "0".repeat(zeroes));
            prop_assert_eq!(canonical_number(&long).unwrap(), canonical_number(&plain).unwrap());
            prop_assert_eq!(canonical_number(&plain).unwrap(), plain);
        }

        #[test]
        fn different_rows_have_different_hashes(a in "[a-z ]{0,6}", b in "[a-z ]{0,6}", c in "[a-z ]{0,6}", d in "[a-z ]{0,6}") {
            let one = Canonical { rows: vec![vec![a.clone(), b.clone()]] };
            let other = Canonical { rows: vec![vec![c.clone(), d.clone()]] };
            prop_assert_eq!(one == other, one.hash() == other.hash());
        }
    }
}
