//! The marker: a table that is made before all others and gets its row last, so that an incomplete load is detected and tables that
//! prony did not make are recognised.
//!
//! Purpose: distinguish "completely loaded, with this fingerprint" from "partly loaded", "the user's" and "absent". Boundaries: the marker does not
//! prove that the rows are correct (`Dataset::verify` counts them, and every round checks the results).

use crate::{DatasetState, Dialect};
use record::Moment;
use server::{Reply, ServerError, Session, Sha256};
use std::time::{SystemTime, UNIX_EPOCH};

/// The marker's table.
pub const TABLE: &str = "prony_dataset";

/// The content of the marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub fingerprint: String,
    pub rows: u64,
}

/// Twelve hexadecimal digits that identify the contents of tables, for a fingerprint.
pub(crate) fn hash(parts: &[&[u8]]) -> String {
    Sha256::of_parts(parts).hex_of_first(6)
}

/// Which of `tables` and the marker's table exist in the schema.
pub(crate) fn present(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
) -> Result<Vec<String>, ServerError> {
    let sql = match Dialect::of(session) {
        Dialect::MySql => format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'"
        ),
        Dialect::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table'".into(),
    };
    let mut present = names(&session.query(&sql)?);
    present.retain(|name| name == TABLE || tables.contains(&name.as_str()));
    Ok(present)
}

/// The first column of a reply as text.
pub(crate) fn names(reply: &Reply) -> Vec<String> {
    let rows = 0..reply.rows.len();
    rows.filter_map(|row| reply.text(row, 0)).collect()
}

/// The tables of a schema in MySQL that match a LIKE pattern, and the marker's table.
pub(crate) fn present_like(
    session: &mut Session,
    schema: &str,
    pattern: &str,
) -> Result<Vec<String>, ServerError> {
    let reply = session.query(&format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND (table_name LIKE '{pattern}' OR table_name = '{TABLE}') ORDER BY table_name"
    ))?;
    Ok(names(&reply))
}

/// The state of these tables in the schema.
pub(crate) fn state(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
) -> Result<DatasetState, ServerError> {
    let present = present(session, schema, tables)?;
    if present.is_empty() {
        return Ok(DatasetState::Absent);
    }
    if !present.iter().any(|name| name == TABLE) {
        return Ok(DatasetState::Theirs);
    }
    // A dataset with missing tables is incomplete, whatever the marker contains.
    let whole = present.len() == tables.len() + 1;
    match if whole { read(session, schema)? } else { None } {
        Some(marker) => Ok(DatasetState::Complete(marker.fingerprint)),
        None => Ok(DatasetState::Partial),
    }
}

/// The row of the marker; None without one. Its table must exist.
pub(crate) fn read(session: &mut Session, schema: &str) -> Result<Option<Marker>, ServerError> {
    let reply = session.query(&format!(
        "SELECT fingerprint, loaded_rows FROM {}",
        qualified(session, schema)
    ))?;
    let rows = reply.text(0, 1).and_then(|rows| rows.parse().ok());
    let found = reply.text(0, 0).zip(rows);
    Ok(found.map(|(fingerprint, rows)| Marker { fingerprint, rows }))
}

/// Makes the empty marker. `engine` is that of the tables, since the server may have no other.
pub(crate) fn make(session: &mut Session, schema: &str, engine: &str) -> Result<(), ServerError> {
    let table = qualified(session, schema);
    // MEMORY has no TEXT.
    let look = if engine.eq_ignore_ascii_case("memory") {
        "VARCHAR(16000)"
    } else {
        "MEDIUMTEXT"
    };
    let engine = match Dialect::of(session) {
        Dialect::MySql => format!(" ENGINE={engine}"),
        Dialect::Sqlite => String::new(),
    };
    session
        .execute(&format!(
            "CREATE TABLE {table} (fingerprint VARCHAR(200) NOT NULL, loaded_at VARCHAR(40) NOT NULL, loaded_rows BIGINT NOT NULL, look {look}){engine}"
        ))
        .map(drop)
}

/// Writes the row of the marker.
pub(crate) fn write(
    session: &mut Session,
    schema: &str,
    marker: &Marker,
) -> Result<(), ServerError> {
    let table = qualified(session, schema);
    session.execute(&format!(
        "INSERT INTO {table} (fingerprint, loaded_at, loaded_rows) VALUES ('{}', '{}', {})",
        marker.fingerprint,
        now(),
        marker.rows
    ))?;
    Ok(())
}

/// `2026-11-25T21:12:00Z`.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let at = Moment::from_unix(since.map_or(0, |since| since.as_secs() as i64));
    format!("{}T{}Z", at.date(), at.time())
}

/// The marker's table, as statements name it.
pub(crate) fn qualified(session: &Session, schema: &str) -> String {
    match Dialect::of(session) {
        Dialect::MySql => format!("{schema}.{TABLE}"),
        Dialect::Sqlite => TABLE.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite(tables: &str) -> Session {
        let mut session = Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap());
        session.execute(tables).unwrap();
        session
    }

    fn marker() -> Marker {
        Marker {
            fingerprint: "ssb-1".into(),
            rows: 7,
        }
    }

    /// The table `part` with its marker.
    fn marked() -> Session {
        let mut session = sqlite("create table part (n)");
        make(&mut session, "s", "").unwrap();
        write(&mut session, "s", &marker()).unwrap();
        session
    }

    #[test]
    fn a_schema_without_the_tables_is_absent_whatever_else_it_holds() {
        let mut session = sqlite("create table other (n)");
        assert_eq!(
            state(&mut session, "s", &["part"]).unwrap(),
            DatasetState::Absent
        );
    }

    #[test]
    fn tables_without_a_marker_are_the_users() {
        let mut session = sqlite("create table part (n)");
        assert_eq!(
            state(&mut session, "s", &["part"]).unwrap(),
            DatasetState::Theirs
        );
    }

    #[test]
    fn tables_with_an_empty_marker_are_partial() {
        let mut session = sqlite("create table part (n)");
        make(&mut session, "s", "").unwrap();
        assert_eq!(
            state(&mut session, "s", &["part"]).unwrap(),
            DatasetState::Partial
        );
    }

    #[test]
    fn a_marker_without_all_the_tables_is_partial() {
        let mut session = marked();
        assert_eq!(
            state(&mut session, "s", &["part", "date"]).unwrap(),
            DatasetState::Partial
        );
    }

    #[test]
    fn a_marker_makes_it_complete_and_says_what_it_is() {
        let mut session = marked();
        assert_eq!(
            state(&mut session, "s", &["part"]).unwrap(),
            DatasetState::Complete("ssb-1".into())
        );
        assert_eq!(read(&mut session, "s").unwrap(), Some(marker()));
    }
}
