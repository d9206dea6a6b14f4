//! Checks that a server has the requested storage engine and that the tables use it.
//!
//! Purpose: no result of one engine labelled as another. The server is queried before and after the tables are created:
//! unless `sql_mode` forbids it, MySQL 5.5 and 5.6 silently fall back to their default engine, and MariaDB's
//! `enforce_storage_engine` replaces the engine. Boundaries: nothing about the features of engines.

use crate::LoadError;
use server::{ServerError, Session};

/// Error codes: unknown storage engine, and storage engine disabled by configuration.
const NO_SUCH_ENGINE: [u16; 2] = [1286, 3161];

/// # Errors
/// [`LoadError::NoEngine`] if the server lacks it or has it disabled.
pub(crate) fn must_have(session: &mut Session, engine: &str) -> Result<(), LoadError> {
    let sql = format!("SELECT support FROM information_schema.engines WHERE engine = '{engine}'");
    let support = session.query(&sql).map_err(unasked)?.first_text();
    let cause = match support.as_deref() {
        Some("YES" | "DEFAULT") => return Ok(()),
        Some(support) => format!("its information_schema.engines says {support}"),
        None => "its information_schema.engines does not name it".to_string(),
    };
    Err(no_engine(engine, cause))
}

/// # Errors
/// [`LoadError::NoEngine`] if one of the tables uses another engine.
pub(crate) fn must_be_of(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
    engine: &str,
) -> Result<(), LoadError> {
    let names: Vec<String> = tables.iter().map(|name| format!("'{name}'")).collect();
    let sql = format!(
        "SELECT CONCAT(table_name, ' in ', engine) FROM information_schema.tables WHERE table_schema = '{schema}' AND table_name IN ({}) AND engine <> '{engine}'",
        names.join(", ")
    );
    match session.query(&sql).map_err(unasked)?.first_text() {
        None => Ok(()),
        Some(other) => Err(no_engine(engine, format!("it made the table {other}"))),
    }
}

/// Error codes of a server that accepts no writes: an option such as --read-only, and InnoDB's own read-only mode.
const READ_ONLY: [u16; 2] = [1290, 1836];

/// Explains a rejected CREATE TABLE.
pub(crate) fn cannot_create(engine: &str, cause: ServerError) -> LoadError {
    match cause {
        ServerError::Refused { code, .. } if NO_SUCH_ENGINE.contains(&code) => {
            no_engine(engine, cause.to_string())
        }
        ServerError::Refused { code, .. } if READ_ONLY.contains(&code) => LoadError::ReadOnly {
            cause: cause.to_string(),
        },
        cause => LoadError::during("The tables cannot be created")(cause),
    }
}

fn no_engine(engine: &str, cause: String) -> LoadError {
    LoadError::NoEngine {
        engine: engine.into(),
        cause,
    }
}

fn unasked(cause: ServerError) -> LoadError {
    LoadError::during("The storage engines of the server cannot be listed")(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;

    /// A server that answers every query with this cell, or with no row.
    fn answers(cell: Option<&'static str>) -> Session {
        let row = |cell: &str| vec![Some(cell.as_bytes().to_vec())];
        Session::Scripted(Box::new(move |_| {
            Ok(Reply {
                rows: cell.iter().map(|cell| row(cell)).collect(),
                ..Reply::default()
            })
        }))
    }

    #[test]
    fn an_engine_that_a_server_lacks_or_has_switched_off_is_found_before_anything_is_made() {
        let says = |cell| must_have(&mut answers(cell), "Aria").map_err(|error| error.to_string());
        assert_eq!(says(Some("YES")), Ok(()));
        assert_eq!(says(Some("DEFAULT")), Ok(()));
        assert!(
            says(Some("NO"))
                .unwrap_err()
                .contains("no storage engine Aria")
        );
        assert!(
            says(Some("DISABLED"))
                .unwrap_err()
                .contains("says DISABLED")
        );
        assert!(says(None).unwrap_err().contains("does not name it"));
    }

    #[test]
    fn a_table_silently_created_in_another_engine_is_found() {
        let of = |cell| must_be_of(&mut answers(cell), "s", &["part"], "MyISAM");
        assert!(of(None).is_ok());
        let says = of(Some("part in InnoDB")).unwrap_err().to_string();
        assert!(says.contains("it made the table part in InnoDB"), "{says}");
    }
}
