//! The expected results of the 22 queries: the validation results of the specification at scale 1, hashes at smaller scales.
//!
//! Purpose: the results that `tests/data/tpch/README.md` describes. Boundaries: at other scales `run::audit::answers` compares
//! results with each other.

use super::queries::{QUERIES, Query};
use crate::Operation;
use crate::answers::reference_hashes;
use crate::answers::{Reference, in_order, of_reference};

/// The expected result of a query at a scale; None if unknown.
pub(super) fn reference(scale: f64, operation: &Operation) -> Option<Reference> {
    if scale != 1.0 {
        return reference_hashes::find(
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../tests/data/tpch/answer-hashes.csv"
            )),
            scale,
            &operation.name,
        );
    }
    let at = |query: &Query| query.name == operation.name;
    let number = QUERIES.iter().position(at)?;
    let rows = match operation.name.as_str() {
        "Q11" => q11(),
        _ => padded(datagen::tpch::validation_answer(number as u8 + 1)?),
    };
    Some(Reference::Rounded {
        rows: in_order(&operation.ordered_by, rows, |cell: &String| {
            Some(cell.as_bytes())
        }),
        columns: QUERIES[number].columns,
    })
}

/// The crate with the validation results truncates the part keys of this query to four digits.
fn q11() -> Vec<Vec<String>> {
    let csv = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/tpch/answers/Q11.csv"
    ));
    csv.lines()
        .map(|line| line.split(',').map(String::from).collect())
        .collect()
}

/// The rows of a padded table below its line of names. Numbers are padded on either side, text only at its end, because an address may start
/// with a space.
fn padded(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let cell = |padded: &str| {
        let number = padded.trim();
        let cell = match number.parse::<f64>() {
            Ok(_) => number,
            Err(_) => padded,
        };
        of_reference(cell)
    };
    lines
        .skip(1)
        .map(|line| line.split('|').map(cell).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpch::Section;
    use crate::tpch::statements::operations;

    fn all() -> Vec<Operation> {
        operations(&spec::read_text("", Section::read).unwrap())
    }

    fn validation(name: &str) -> Vec<Vec<String>> {
        let operations = all();
        let operation = operations.iter().find(|operation| operation.name == name);
        match reference(1.0, operation.unwrap()) {
            Some(Reference::Rounded { rows, .. }) => rows,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_validation_answers_are_those_of_the_specification() {
        assert_eq!(
            validation("Q3")[0],
            ["2456423", "406181.01", "1995-03-05", "0"]
        );
        assert_eq!(
            validation("Q10")[0][..3],
            ["57040", "Customer#000057040", "734235.25"]
        );
        assert_eq!(validation("Q11")[0], ["129760", "17538456.86"]);
        assert_eq!(validation("Q19"), [["3083843.06"]]);
        assert_eq!(
            validation("Q1")[0][..4],
            ["A", "F", "37734107", "56586554400.73"]
        );
        assert_eq!(validation("Q8"), [["1995", "0.03"], ["1996", "0.04"]]);
    }

    #[test]
    fn the_answer_of_q11_that_is_kept_is_the_validation_answer_with_whole_part_keys() {
        let cut = padded(datagen::tpch::validation_answer(11).unwrap());
        let whole = q11();
        assert_eq!(whole.len(), cut.len());
        for (whole, cut) in whole.iter().zip(cut) {
            assert!(
                whole[0].starts_with(&cut[0]) && whole[1] == cut[1],
                "{cut:?}"
            );
        }
    }

    #[test]
    fn every_query_has_an_answer_of_as_many_columns_as_bounds() {
        let rows: Vec<usize> = QUERIES
            .iter()
            .map(|query| {
                let rows = validation(query.name);
                let columns = query.columns.len();
                assert!(
                    rows.iter().all(|row| row.len() == columns),
                    "{}",
                    query.name
                );
                rows.len()
            })
            .collect();
        assert_eq!(
            rows,
            [
                4, 100, 10, 5, 5, 1, 4, 2, 175, 20, 1048, 2, 42, 1, 1, 18314, 1, 57, 1, 186, 100, 7
            ]
        );
    }

    #[test]
    fn a_space_before_an_address_is_kept() {
        let rows = padded("name |address|n\n a   | b c   |   7\n");
        assert_eq!(rows, [[" a", " b c", "7"]]);
    }

    #[test]
    fn the_small_scales_have_a_hash_for_every_query() {
        for scale in [0.01, 0.1] {
            for operation in all() {
                let reference = reference(scale, &operation);
                assert!(
                    matches!(&reference, Some(Reference::Hash { hash, .. }) if hash.len() == 64),
                    "{scale} {}: {reference:?}",
                    operation.name
                );
            }
        }
        assert_eq!(reference(0.05, &all()[0]), None);
    }
}
