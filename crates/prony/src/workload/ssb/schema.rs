//! Making the tables, and what is done to them before and after the load.

use crate::server::{ServerError, Session};
use crate::workload::schema::{cannot_create, make, statements};
use crate::workload::{Dialect, LoadError};

pub(super) const MYSQL: &str = include_str!("schema.mysql.sql");
pub(super) const SQLITE: &str = include_str!("schema.sqlite.sql");
/// SQLite's indexes are made after the load: sorting is several times faster than one insertion a row.
pub(super) const INDEXES_SQLITE: &str = include_str!("indexes.sqlite.sql");

/// The empty tables, in a schema that is made where it is not there.
pub(super) fn create(session: &mut Session, schema: &str, engine: &str) -> Result<(), LoadError> {
    match Dialect::of(session) {
        Dialect::MySql => create_mysql(session, schema, engine),
        Dialect::Sqlite => session.execute(SQLITE).map(|_| ()),
    }
    .map_err(|cause| cannot_create(engine, cause))
}

fn create_mysql(session: &mut Session, schema: &str, engine: &str) -> Result<(), ServerError> {
    make(session, schema)?;
    for statement in statements(MYSQL) {
        session.execute(&statement.replace("{engine}", engine))?;
    }
    Ok(())
}

/// For every connection that loads.
pub(super) fn prepare(dialect: Dialect, schema: &str) -> Vec<String> {
    match dialect {
        // A value that does not fit is an error for INSERT; for LOAD DATA LOCAL it is a warning, which the loader reads.
        Dialect::MySql => vec![
            format!("USE {schema}"),
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES'".into(),
        ],
        // A load that breaks off is begun again, so nothing has to survive a crash.
        Dialect::Sqlite => vec![
            "PRAGMA synchronous = OFF".into(),
            "PRAGMA cache_size = -65536".into(),
        ],
    }
}

/// Once, before the first row.
pub(super) fn before_load(dialect: Dialect, engine: &str) -> Vec<String> {
    match dialect {
        Dialect::MySql if sorts_keys(engine) => vec!["ALTER TABLE lineorder DISABLE KEYS".into()],
        _ => Vec::new(),
    }
}

/// Once, after the last row.
pub(super) fn after_load(dialect: Dialect, engine: &str) -> Vec<String> {
    let mut list = Vec::new();
    match dialect {
        Dialect::MySql => {
            if sorts_keys(engine) {
                list.push("ALTER TABLE lineorder ENABLE KEYS".into());
            }
            list.push("ANALYZE TABLE date, supplier, customer, part, lineorder".into());
        }
        Dialect::Sqlite => {
            list.extend(statements(INDEXES_SQLITE).map(String::from));
            list.push("ANALYZE".into());
        }
    }
    list
}

/// Engines that build keys by sorting when they are enabled again.
fn sorts_keys(engine: &str) -> bool {
    matches!(engine, "MyISAM" | "Aria")
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
