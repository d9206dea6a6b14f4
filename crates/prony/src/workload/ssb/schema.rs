//! The statements that make the tables and finish them.

use crate::workload::Dialect;
use crate::workload::schema::statements;

pub(super) const MYSQL: &str = include_str!("schema.mysql.sql");
pub(super) const SQLITE: &str = include_str!("schema.sqlite.sql");
/// SQLite's indexes are made after the load: sorting is several times faster than one insertion a row.
pub(super) const INDEXES_SQLITE: &str = include_str!("indexes.sqlite.sql");

/// After the last row. Statistics decide plans: without ANALYZE 5.5 takes each key of lineorder for unique, and the others look at
/// the tables at a time of their own choice.
pub(super) fn finish(dialect: Dialect) -> Vec<String> {
    match dialect {
        Dialect::MySql => {
            vec!["ANALYZE TABLE date, supplier, customer, part, lineorder".into()]
        }
        Dialect::Sqlite => statements(INDEXES_SQLITE)
            .chain(["ANALYZE"])
            .map(String::from)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_five_tables_and_sqlite_the_same() {
        let tables = |text: &str| -> Vec<String> {
            let lines = text
                .lines()
                .filter_map(|line| line.strip_prefix("CREATE TABLE "));
            lines.map(String::from).collect()
        };
        assert_eq!(statements(MYSQL).count(), 5);
        assert_eq!(tables(MYSQL), tables(SQLITE));
    }

    #[test]
    fn both_dialects_have_the_same_columns_in_the_same_order() {
        let columns = |text: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix("    "));
            let words = lines.filter_map(|line| line.split_whitespace().next());
            words
                .filter(|word| word.starts_with(|first: char| first.is_lowercase()))
                .map(String::from)
                .collect()
        };
        assert_eq!(columns(MYSQL), columns(SQLITE));
    }
}
