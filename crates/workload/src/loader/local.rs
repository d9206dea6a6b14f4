//! LOAD DATA LOCAL INFILE, fed by the generator.

use super::tally::Tally;
use super::{Piece, Table};
use server::{ServerError, Session};
use std::sync::Arc;

/// The statement. The explicit character set keeps the server from validating the bytes against another one.
pub(super) fn statement(table: &str) -> String {
    format!(
        "LOAD DATA LOCAL INFILE '{table}' INTO TABLE {table} CHARACTER SET latin1 FIELDS TERMINATED BY '|' LINES TERMINATED BY '|\\n'"
    )
}

/// Loads a piece as one statement and returns the number of rows that the server stored.
pub(super) fn load(
    session: &mut Session,
    table: &Table,
    piece: Piece,
    tally: &Arc<Tally>,
) -> Result<u64, ServerError> {
    let tally = Arc::clone(tally);
    let mut parts = piece.parts.into_iter();
    let at = piece.table;
    let producer =
        move |to: &mut dyn std::io::Write| parts.try_for_each(|part| tally.write(at, part, to));
    let rows = session.load(&statement(&table.name), Box::new(producer))?;
    no_warnings(session)?;
    Ok(rows)
}

/// With LOCAL a value that does not fit is truncated with a warning, even in strict mode.
fn no_warnings(session: &mut Session) -> Result<(), ServerError> {
    match warning(session)? {
        None => Ok(()),
        Some((code, message)) => Err(ServerError::Refused { code, message }),
    }
}

/// The first warning of the last statement.
pub(crate) fn warning(session: &mut Session) -> Result<Option<(u16, String)>, ServerError> {
    let reply = session.control(|session| session.query("SHOW WARNINGS LIMIT 1"))?;
    let cell = |row: &Vec<Option<Vec<u8>>>, n: usize| {
        row.get(n)
            .and_then(|cell| cell.as_deref())
            .map(String::from_utf8_lossy)
            .unwrap_or_default()
            .into_owned()
    };
    let warning = |row| (cell(row, 1).parse().unwrap_or(0), cell(row, 2));
    Ok(reply.rows.first().map(warning))
}
