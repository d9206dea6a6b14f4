//! LOAD DATA LOCAL INFILE, fed by the generator.

use super::tally::Tally;
use super::warnings::refuse_losses;
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
    // With LOCAL a value that does not fit is changed with a warning, even in strict mode.
    refuse_losses(session)?;
    Ok(rows)
}
