//! The 13 queries in their four forms.
//!
//! Purpose: the .sql files contain the statements exactly as they run. A test checks that all forms return the same
//! results (`references`).

use super::section::Joins;
use crate::Operation;
use crate::schema::query;

/// The name, and the columns of the ORDER BY.
const QUERIES: [(&str, &[usize]); 13] = [
    ("Q1.1", &[]),
    ("Q1.2", &[]),
    ("Q1.3", &[]),
    ("Q2.1", &[1, 2]),
    ("Q2.2", &[1, 2]),
    ("Q2.3", &[1, 2]),
    ("Q3.1", &[2, 3]),
    ("Q3.2", &[2, 3]),
    ("Q3.3", &[2, 3]),
    ("Q3.4", &[2, 3]),
    ("Q4.1", &[0, 1]),
    ("Q4.2", &[0, 1, 2]),
    ("Q4.3", &[0, 1, 2]),
];

/// The queries of a form, in the order of the flights.
pub(super) fn operations(joins: Joins) -> Vec<Operation> {
    let text = match joins {
        Joins::Original => include_str!("original.sql"),
        Joins::Ansi => include_str!("ansi.sql"),
        Joins::FactFirst => include_str!("fact_first.sql"),
        Joins::DimensionFirst => include_str!("dimension_first.sql"),
    };
    QUERIES
        .iter()
        .map(|(name, ordered_by)| {
            let mysql = query(text, name).expect("the .sql file holds every query");
            Operation {
                sqlite: for_sqlite(mysql),
                ordered_by: ordered_by.to_vec(),
                ..Operation::new(*name, mysql)
            }
        })
        .collect()
}

/// SQLite keeps the order of a CROSS JOIN, and looks rows up by their row id where MySQL uses PRIMARY.
fn for_sqlite(mysql: &str) -> String {
    mysql
        .replace("STRAIGHT_JOIN", "CROSS JOIN")
        .replace(" FORCE INDEX (PRIMARY)", "")
        .replace("FORCE INDEX (lo_orderdate)", "INDEXED BY lo_orderdate")
        .replace("FORCE INDEX (lo_suppkey)", "INDEXED BY lo_suppkey")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_all_13_queries_in_both_dialects() {
        for (_, joins) in Joins::NAMES {
            let operations = operations(joins);
            assert_eq!(operations.len(), 13);
            for operation in operations {
                assert!(
                    operation.mysql.starts_with("SELECT "),
                    "{}",
                    operation.mysql
                );
                assert!(!operation.sqlite.contains("FORCE"), "{}", operation.sqlite);
                assert!(
                    !operation.sqlite.contains("STRAIGHT"),
                    "{}",
                    operation.sqlite
                );
            }
        }
    }

    #[test]
    fn a_forced_order_is_forced_in_every_query() {
        for joins in [Joins::FactFirst, Joins::DimensionFirst] {
            for operation in operations(joins) {
                let tables = operation.mysql.matches("_JOIN ").count();
                assert!(tables >= 1, "{}", operation.mysql);
                assert_eq!(
                    tables,
                    operation.mysql.matches("FORCE INDEX").count(),
                    "{}",
                    operation.mysql
                );
            }
        }
    }
}
