//! A workload's own schema on a server: made, looked at, counted, dropped.
//!
//! Goal: what every dataset does with its tables, the same on MySQL 5.5 to 9.7 and MariaDB. Non-goal: which tables (the dataset's).

use super::{Dialect, LoadError};
use crate::server::{ServerError, Session};

/// Unknown storage engine; a storage engine that the server's configuration switched off.
const NO_SUCH_ENGINE: [u16; 2] = [1286, 3161];

/// Makes the schema where it is not there, enters it, and has it refuse another engine than the one that is asked for.
pub fn make(session: &mut Session, schema: &str) -> Result<(), ServerError> {
    // 5.5 would take its default engine silently where it lacks the one asked for.
    session.execute("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'")?;
    if !exists(session, schema)? {
        session.execute(&format!(
            "CREATE DATABASE {schema} DEFAULT CHARACTER SET latin1"
        ))?;
    }
    session.execute(&format!("USE {schema}")).map(|_| ())
}

/// An account that may use the schema need not have the right to create one.
fn exists(session: &mut Session, schema: &str) -> Result<bool, ServerError> {
    let sql =
        format!("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{schema}'");
    Ok(session.query(&sql)?.first_text().as_deref() != Some("0"))
}

/// What a refused CREATE TABLE means.
pub fn cannot_create(engine: &str, cause: ServerError) -> LoadError {
    match cause {
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
    }
}

/// Drops these tables of the schema and nothing else.
pub fn drop(session: &mut Session, schema: &str, tables: &[String]) -> Result<(), LoadError> {
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

/// The rows of a table, counted.
pub fn count(session: &mut Session, table: &str) -> Result<u64, ServerError> {
    let reply = session.query(&format!("SELECT COUNT(*) FROM {table}"))?;
    Ok(number(reply.first_text()))
}

/// Bytes of the tables with their indexes, as the server reports them.
pub fn data_bytes(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
) -> Result<u64, ServerError> {
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

fn number(text: Option<String>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The statements of a .sql file of ours: each ends with a semicolon at the end of a line.
pub fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split(";\n")
        .map(str::trim)
        .filter(|statement| !statement.is_empty())
}
