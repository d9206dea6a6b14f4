//! The expected results of the 13 queries: rows at scale 1, hashes at smaller scales.
//!
//! Purpose: the results in tests/data/ssb, which its README describes. Boundaries: at other scales `run::audit::answers` compares
//! results with each other.

use crate::answers::Reference;
use crate::answers::reference_hashes;

macro_rules! answer {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/data/ssb/answers/",
            $name,
            ".csv"
        ))
    };
}

/// The expected result of a query at a scale; None if unknown.
pub(super) fn reference(scale: f64, operation: &str) -> Option<Reference> {
    if scale == 1.0 {
        return rows(operation).map(Reference::Rows);
    }
    reference_hashes::find(
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/data/ssb/answer-hashes.csv"
        )),
        scale,
        operation,
    )
}

/// The rows at scale 1. The results of ten queries are published; other engines computed the remaining ones (see the
/// README of the folder).
fn rows(operation: &str) -> Option<Vec<Vec<String>>> {
    let csv = match operation {
        "Q1.1" => answer!("Q1.1"),
        "Q1.2" => answer!("Q1.2"),
        "Q1.3" => answer!("Q1.3"),
        "Q2.1" => answer!("Q2.1"),
        "Q2.2" => answer!("Q2.2"),
        "Q2.3" => answer!("Q2.3"),
        "Q3.1" => answer!("Q3.1"),
        "Q3.2" => answer!("Q3.2"),
        "Q3.3" => answer!("Q3.3"),
        "Q3.4" => answer!("Q3.4"),
        "Q4.1" => answer!("Q4.1"),
        "Q4.2" => answer!("Q4.2"),
        "Q4.3" => answer!("Q4.3"),
        _ => return None,
    };
    Some(
        csv.lines()
            .map(|line| line.split(',').map(String::from).collect())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssb::Joins;
    use crate::ssb::queries::operations;

    #[test]
    fn the_small_scales_have_a_hash_for_every_query() {
        for scale in [0.01, 0.1, 0.25] {
            for operation in operations(Joins::Ansi) {
                let reference = reference(scale, &operation.name);
                assert!(
                    matches!(&reference, Some(Reference::Hash { hash, .. }) if hash.len() == 64),
                    "{scale} {}: {reference:?}",
                    operation.name
                );
            }
        }
        assert_eq!(reference(0.001, "Q1.1"), None);
    }

    #[test]
    fn the_references_have_as_many_columns_as_their_queries() {
        for operation in operations(Joins::Ansi) {
            let (list, _) = operation.mysql.split_once("\nFROM").unwrap();
            // The products within SUM hold no comma, so commas count columns.
            let columns = list.split(',').count();
            let answer = rows(&operation.name).unwrap();
            assert!(!answer.is_empty(), "{}", operation.name);
            assert!(
                answer.iter().all(|row| row.len() == columns),
                "{}",
                operation.name
            );
        }
    }

    #[test]
    fn the_references_are_in_the_order_that_the_query_asks_for() {
        for operation in operations(Joins::Ansi) {
            let answer = rows(&operation.name).unwrap();
            let descending = operation.mysql.contains("revenue DESC");
            for pair in answer.windows(2) {
                let key = |row: &[String]| -> Vec<String> {
                    operation
                        .ordered_by
                        .iter()
                        .map(|&c| row[c].clone())
                        .collect()
                };
                let (a, b) = (key(&pair[0]), key(&pair[1]));
                let in_order = if descending {
                    let sum = |key: &[String]| key[1].parse::<i64>().unwrap();
                    (&a[0], -sum(&a)) <= (&b[0], -sum(&b))
                } else {
                    a <= b
                };
                assert!(in_order, "{}: {a:?} before {b:?}", operation.name);
            }
        }
    }
}
