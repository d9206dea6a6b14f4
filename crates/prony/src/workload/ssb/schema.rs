//! Making the tables, and what is done to them before and after the load.

use crate::server::{ServerError, Session};
use crate::workload::{Dialect, LoadError};

pub(super) const MYSQL: &str = include_str!("schema.mysql.sql");
pub(super) const SQLITE: &str = include_str!("schema.sqlite.sql");
/// SQLite's indexes are made after the load: sorting is several times faster than one insertion a row.
pub(super) const INDEXES_SQLITE: &str = include_str!("indexes.sqlite.sql");

/// Unknown storage engine; a storage engine that the server's configuration switched off.
const NO_SUCH_ENGINE: [u16; 2] = [1286, 3161];

/// The empty tables, in a schema that is made where it is not there.
pub(super) fn create(session: &mut Session, schema: &str, engine: &str) -> Result<(), LoadError> {
    let failed = |cause: ServerError| match cause {
        ServerError::Refused { code, .. } if NO_SUCH_ENGINE.contains(&code) => {
            LoadError::NoEngine {
                engine: engine.into(),
                cause: cause.to_string(),
            }
        }
        cause => LoadError::Server {
            what: "The tables cannot be created",
            cause,
        },
    };
    match Dialect::of(session) {
        Dialect::MySql => create_mysql(session, schema, engine),
        Dialect::Sqlite => session.execute(SQLITE).map(|_| ()),
    }
    .map_err(failed)
}

fn create_mysql(session: &mut Session, schema: &str, engine: &str) -> Result<(), ServerError> {
    // 5.5 would take its default engine silently where it lacks the one asked for.
    session.execute("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'")?;
    if !exists(session, schema)? {
        session.execute(&format!(
            "CREATE DATABASE {schema} DEFAULT CHARACTER SET latin1"
        ))?;
    }
    session.execute(&format!("USE {schema}"))?;
    for statement in statements(MYSQL) {
        session.execute(&statement.replace("{engine}", engine))?;
    }
    Ok(())
}

/// An account that may use the schema need not have the right to create one.
fn exists(session: &mut Session, schema: &str) -> Result<bool, ServerError> {
    let sql =
        format!("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{schema}'");
    Ok(session.query(&sql)?.first_text().as_deref() != Some("0"))
}

/// Drops these tables of the schema and nothing else.
pub(super) fn drop(
    session: &mut Session,
    schema: &str,
    tables: &[String],
) -> Result<(), LoadError> {
    let dialect = Dialect::of(session);
    for table in tables {
        let sql = match dialect {
            Dialect::MySql => format!("DROP TABLE {schema}.{table}"),
            Dialect::Sqlite => format!("DROP TABLE {table}"),
        };
        session.execute(&sql).map_err(|cause| LoadError::Server {
            what: "prony's own tables cannot be dropped",
            cause,
        })?;
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

/// Bytes of the tables with their indexes, as the server reports them.
pub(super) fn data_bytes(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
) -> Result<u64, ServerError> {
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    if Dialect::of(session) == Dialect::Sqlite {
        let pages = number(session.query("PRAGMA page_count")?.first_text());
        return Ok(pages * number(session.query("PRAGMA page_size")?.first_text()));
    }
    // 8.0 and later answer from what they saw up to a day ago. The others do not know the variable (1193).
    match session.execute("SET SESSION information_schema_stats_expiry = 0") {
        Ok(_) | Err(ServerError::Refused { .. }) => {}
        Err(lost) => return Err(lost),
    }
    let names = tables
        .iter()
        .map(|name| format!("'{name}'"))
        .collect::<Vec<_>>()
        .join(", ");
    let sql = format!(
        "SELECT CAST(SUM(data_length + index_length) AS UNSIGNED) FROM information_schema.tables WHERE table_schema = '{schema}' AND table_name IN ({names})"
    );
    Ok(number(session.query(&sql)?.first_text()))
}

/// The statements of a .sql file: each ends with a semicolon at the end of a line.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split(";\n")
        .map(str::trim)
        .filter(|statement| !statement.is_empty())
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
