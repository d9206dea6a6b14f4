//! Loads rows into SQLite: one prepared INSERT per table, one transaction for all.

use super::lines::{each_line, fields, is_null};
use super::queue::Queue;
use super::tally::Tally;
use super::{Failure, Piece, Table, next};
use crate::held;
use server::{ServerError, Session};
use std::sync::Mutex;
use std::time::Instant;

/// Loads every piece of the queue and commits; SQLite rolls back on failure.
pub(super) fn load_all(
    session: &mut Session,
    tables: &[Table],
    queue: &Mutex<Queue>,
    tally: &Tally,
) -> Result<(), Failure> {
    let mut finished = Vec::new();
    execute(session, "BEGIN", 0)?;
    while let Some(piece) = next(queue, tally) {
        let (table, begun) = (piece.table, Instant::now());
        let rows = load(session, &tables[table], piece, tally)
            .map_err(|error| Failure { table, error })?;
        finished.push((table, rows, begun));
        held(queue).leave(table);
    }
    execute(session, "COMMIT", tables.len() - 1)?;
    for (table, rows, begun) in finished {
        tally.finished(table, rows, begun);
    }
    Ok(())
}

fn execute(session: &mut Session, sql: &str, table: usize) -> Result<(), Failure> {
    let done = session.execute(sql).map(drop);
    done.map_err(|error| Failure { table, error })
}

fn load(
    session: &mut Session,
    table: &Table,
    piece: Piece,
    tally: &Tally,
) -> Result<u64, ServerError> {
    let Session::Sqlite(connection) = session else {
        return Err(ServerError::Unusable(
            "only SQLite supports this way of loading".into(),
        ));
    };
    let marks = vec!["?"; table.columns].join(",");
    let mut insert = connection
        .prepare_cached(&format!("INSERT INTO {} VALUES ({marks})", table.name))
        .map_err(refusal)?;
    let mut rows = 0;
    each_line(piece, tally, |line| {
        rows += 1;
        insert_row(&mut insert, line).map_err(refusal)
    })?;
    Ok(rows)
}

/// Binds text; column affinity converts it to numbers.
fn insert_row(insert: &mut rusqlite::Statement<'_>, line: &[u8]) -> rusqlite::Result<()> {
    for (n, field) in fields(line).enumerate() {
        if is_null(field) {
            insert.raw_bind_parameter(n + 1, rusqlite::types::Null)?
        } else {
            insert.raw_bind_parameter(n + 1, std::str::from_utf8(field)?)?
        }
    }
    insert.raw_execute().map(|_| ())
}

fn refusal(error: rusqlite::Error) -> ServerError {
    let code = error
        .sqlite_error()
        .map_or(0, |cause| cause.extended_code as u16);
    ServerError::Refused {
        code,
        message: error.to_string(),
    }
}
