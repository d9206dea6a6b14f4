//! The statements that create the tables.

pub(super) const MYSQL: &str = include_str!("schema.mysql.sql");
pub(super) const SQLITE: &str = include_str!("schema.sqlite.sql");
/// SQLite's indexes are built after the load: sorting is several times faster than inserting row by row.
pub(super) const INDEXES_SQLITE: &str = include_str!("indexes.sqlite.sql");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::statements;

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
