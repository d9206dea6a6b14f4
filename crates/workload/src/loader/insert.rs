//! Loads rows by INSERT, for servers that refuse LOCAL: many rows per statement, one transaction per piece.

use super::lines::{each_line, fields, is_null};
use super::tally::Tally;
use super::warnings::refuse_losses;
use super::{Piece, Table};
use server::{ServerError, Session};

/// Larger statements are not faster and cost the server memory.
const LARGEST_STATEMENT: u64 = 1 << 20;

/// Maximum statement size: half of what the server accepts, and not more than is useful.
pub(super) fn statement_limit(session: &mut Session) -> Result<usize, ServerError> {
    let allowed = session.query("SELECT @@max_allowed_packet")?.first_text();
    let allowed = allowed
        .and_then(|text| text.parse().ok())
        .unwrap_or(LARGEST_STATEMENT);
    Ok(LARGEST_STATEMENT.min(allowed / 2) as usize)
}

/// Loads a piece as one transaction and returns the number of rows that the server stored.
pub(super) fn load(
    session: &mut Session,
    table: &Table,
    piece: Piece,
    limit: usize,
    tally: &Tally,
) -> Result<u64, ServerError> {
    session.execute("START TRANSACTION")?;
    let mut batch = Batch::new(&table.name, limit);
    each_line(piece, tally, |line| batch.add(session, line))?;
    batch.send(session)?;
    session.execute("COMMIT")?;
    Ok(batch.rows)
}

/// A statement that grows until it is sent.
struct Batch {
    head: String,
    sql: Vec<u8>,
    limit: usize,
    /// Rows that the server has accepted.
    rows: u64,
}

impl Batch {
    fn new(table: &str, limit: usize) -> Batch {
        Batch {
            head: format!("INSERT INTO {table} VALUES "),
            sql: Vec::with_capacity(limit),
            limit,
            rows: 0,
        }
    }

    fn add(&mut self, session: &mut Session, line: &[u8]) -> Result<(), ServerError> {
        // Quotes and commas of the longest row are well below three times its text.
        if !self.sql.is_empty() && self.sql.len() + 3 * line.len() > self.limit {
            self.send(session)?;
        }
        let before: &[u8] = if self.sql.is_empty() {
            self.head.as_bytes()
        } else {
            b","
        };
        self.sql.extend_from_slice(before);
        append_row(&mut self.sql, line);
        Ok(())
    }

    fn send(&mut self, session: &mut Session) -> Result<(), ServerError> {
        if self.sql.is_empty() {
            return Ok(());
        }
        self.rows += session.execute(&String::from_utf8_lossy(&self.sql))?;
        refuse_losses(session)?;
        self.sql.clear();
        Ok(())
    }
}

/// `1|it's|\N|` becomes `('1','it''s',NULL)`; every column converts text to its type.
fn append_row(sql: &mut Vec<u8>, line: &[u8]) {
    for (n, field) in fields(line).enumerate() {
        sql.push(if n == 0 { b'(' } else { b',' });
        if is_null(field) {
            sql.extend_from_slice(b"NULL")
        } else {
            append_text(sql, field)
        }
    }
    sql.push(b')');
}

fn append_text(sql: &mut Vec<u8>, field: &[u8]) {
    sql.push(b'\'');
    for &byte in field {
        match byte {
            b'\'' => sql.extend_from_slice(b"''"),
            b'\\' => sql.extend_from_slice(b"\\\\"),
            other => sql.push(other),
        }
    }
    sql.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_a_row_with_its_quotes_doubled() {
        let mut sql = Vec::new();
        append_row(&mut sql, b"1|it's a \\|");
        assert_eq!(String::from_utf8(sql).unwrap(), "('1','it''s a \\\\')");
    }

    #[test]
    fn a_field_for_null_becomes_null() {
        let mut sql = Vec::new();
        append_row(&mut sql, br"\N|1|\Nx|\N|");
        assert_eq!(String::from_utf8(sql).unwrap(), r"(NULL,'1','\\Nx',NULL)");
    }

    #[test]
    fn statements_stay_within_the_limit() {
        let mut session = Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap());
        session.execute("create table t (n, t)").unwrap();
        let mut batch = Batch::new("t", 100);
        for n in 0..50 {
            batch
                .add(&mut session, format!("{n}|text|").as_bytes())
                .unwrap();
            assert!(batch.sql.len() <= 100);
        }
        batch.send(&mut session).unwrap();
        assert_eq!(batch.rows, 50);
    }
}
