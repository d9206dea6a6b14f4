//! Refuses a setup or a dump whose values the server stores other than they are written.
//!
//! Boundaries: `loader::warnings` tells which warnings are losses.

use super::dump::Statement;
use crate::LoadError;
use crate::loader::warnings::{self, Values};
use crate::sql_text::lexer::{Lexer, Quoting, Token, TokenKind};
use server::{ServerError, Session};

/// The longest statement that sets variables.
const SETS_BYTES: usize = 4096;
/// Error code: unknown system variable. Only MariaDB from 10.6.16 on has note_verbosity.
const NO_VARIABLE: u16 = 1193;

/// Makes the server keep every warning of a statement, and notes too.
pub(super) fn show_all(session: &mut Session) -> Result<(), LoadError> {
    let shown = session.execute("SET SESSION sql_notes = 1, max_error_count = 65535");
    shown.map(drop).map_err(unread)
}

/// Looks at the warnings of the statement that ran last, as `sql`.
///
/// # Errors
/// The file and the line with a value that is not stored as it is written.
pub(super) fn refuse(
    session: &mut Session,
    values: Values,
    sql: &[u8],
    statement: &Statement,
) -> Result<(), LoadError> {
    let values = match values {
        Values::Computed if session.warnings() > 0 && is_written_down(sql) => Values::Given,
        values => values,
    };
    if let Some(loss) = warnings::loss(session, values).map_err(unread)? {
        let within = loss
            .row()
            .map_or(0, |row| line_of_row(&String::from_utf8_lossy(sql), row));
        return Err(LoadError::Written {
            place: format!("{}:{}", statement.file, statement.line + within),
            says: loss.says(),
        });
    }
    // Dumps turn notes off, and a note says that digits were cut.
    if sets(sql, "note_verbosity") {
        match session.execute("SET SESSION note_verbosity = 'basic'") {
            Err(ServerError::Refused { code, .. }) if code == NO_VARIABLE => {}
            set => set.map(drop).map_err(unread)?,
        }
    }
    if sets(sql, "sql_notes") {
        show_all(session)
    } else {
        Ok(())
    }
}

/// Whether a statement inserts numbers and texts as they are, so that nothing is computed, also in a setup.
fn is_written_down(sql: &[u8]) -> bool {
    const WORDS: [&str; 4] = ["NULL", "DEFAULT", "TRUE", "FALSE"];
    let mut tokens = Lexer::new(sql, Quoting::default());
    let first = tokens.next();
    if !first.is_some_and(|first| first.is_one_of(&["INSERT", "REPLACE"])) {
        return false;
    }
    let is_set = |token: &Token| token.is("SET");
    let mut before = tokens.find(|token| starts_rows(sql, token) || is_set(token));
    // `SET a = 1, b = 2` has a column before each value.
    let has_columns = before.as_ref().is_some_and(is_set);
    let mut is_column = has_columns;
    before.is_some()
        && tokens.all(|token| {
            let before = before.replace(token);
            if is_column {
                is_column = !token.is_sign(b'=');
                return true;
            }
            is_column = has_columns && token.is_sign(b',');
            match token.kind {
                TokenKind::Text => true,
                TokenKind::Word => token.text[0].is_ascii_digit() || token.is_one_of(&WORDS),
                TokenKind::Name => false,
                TokenKind::Sign => match token.text[0] {
                    b'+' | b'-' => before.is_some_and(|before| is_of_number(&token, &before)),
                    sign => b"(),.".contains(&sign),
                },
            }
        })
}

/// Whether a plus or a minus behind this token is the sign of a number or of its exponent: in `1-2` it computes.
fn is_of_number(sign: &Token, before: &Token) -> bool {
    let has_exponent = match before.text {
        [digits @ .., b'e' | b'E'] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    let begins = b"(,=".iter().any(|begin| before.is_sign(*begin));
    begins || (has_exponent && before.end() == sign.at)
}

/// Whether a statement may set this variable. Only short ones do.
fn sets(sql: &[u8], variable: &str) -> bool {
    sql.len() <= SETS_BYTES
        && String::from_utf8_lossy(sql)
            .to_ascii_lowercase()
            .contains(variable)
}

fn unread(cause: ServerError) -> LoadError {
    LoadError::during("The warnings of the load cannot be read")(cause)
}

/// The line within the text of an INSERT in which its row with this number begins, from 0; 0 if it cannot be found.
fn line_of_row(sql: &str, row: u64) -> u64 {
    let start = rows_of(sql.as_bytes()).nth(row.saturating_sub(1) as usize);
    let before = start.map_or("", |start| &sql[..start]);
    before.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Where the rows after VALUES begin.
fn rows_of(sql: &[u8]) -> impl Iterator<Item = usize> {
    let tokens = Lexer::new(sql, Quoting::default());
    let tokens = tokens.skip_while(move |token| !starts_rows(sql, token));
    let mut depth: i32 = 0;
    tokens.filter_map(move |token| {
        let is_start = depth == 0 && token.is_sign(b'(');
        depth += i32::from(token.is_sign(b'(')) - i32::from(token.is_sign(b')'));
        is_start.then_some(token.at)
    })
}

/// Whether rows begin behind the token: a column may have the name `value`, too.
fn starts_rows(sql: &[u8], token: &Token) -> bool {
    let behind = sql[token.end()..].trim_ascii_start();
    token.is_one_of(&["VALUES", "VALUE"]) && behind.starts_with(b"(")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dump::Statements;

    #[test]
    fn values_of_an_insert_are_written_down_unless_something_is_computed() {
        for sql in [
            "INSERT INTO t VALUES (1, -1.2345, 'a; b()'), (2, NULL, \"c\")",
            "/* all */ replace into t (a, values_b) values (1e5, default)",
            "insert into t (id, value) values (1, 1.2345)",
            "insert into t values (+1, - 2, 1.5e-3, 2E+1)",
            "insert into t set a = 1.2345, `b` = -2, t.c = 'x', value=null",
            "REPLACE t SET a = DEFAULT",
        ] {
            assert!(is_written_down(sql.as_bytes()), "{sql}");
        }
        for sql in [
            "insert into t values (1, rand() * 5)",
            "insert into t values (10 / 3)",
            "insert into t values (1-2.25)",
            "insert into t values ('2026' + 1.25)",
            "insert into t values ((1) - 2.25)",
            "insert into t values (0x1e-2.25)",
            "insert into t values (@a)",
            "insert into t select 1.2345",
            "insert into t values (1) on duplicate key update a = 2",
            "insert into t set a = 10 / 3",
            "insert into t set a = 1, b = a",
            "insert into t set a = 1 = 2",
            "insert into t set a = 1 on duplicate key update a = 2",
            "update t set a = 1.2345",
        ] {
            assert!(!is_written_down(sql.as_bytes()), "{sql}");
        }
    }

    #[test]
    fn notes_that_a_dump_of_mariadb_turns_off_are_on_again() {
        let sql = b"/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */";
        for code in [None, Some(NO_VARIABLE)] {
            let (say, said) = std::sync::mpsc::channel();
            let mut session = Session::Scripted(Box::new(move |sql: &str| {
                say.send(sql.to_string()).unwrap();
                let message = String::new();
                code.map_or(Ok(server::Reply::default()), |code| {
                    Err(ServerError::Refused { code, message })
                })
            }));
            let mut statements = Statements::new("a.sql", &b"set a = 1;"[..]);
            let statement = statements.next().unwrap().unwrap();
            refuse(&mut session, Values::Given, sql, &statement).unwrap();
            let set = said.recv().unwrap();
            assert_eq!(set, "SET SESSION note_verbosity = 'basic'");
        }
    }

    #[test]
    fn the_line_of_a_row_is_found_in_an_insert_of_several_lines() {
        let sql = "INSERT INTO t (a, b) VALUES\n(1, '(\n('),\n(2, f(3)),(4, '5')";
        let lines: Vec<u64> = (1..=4).map(|row| line_of_row(sql, row)).collect();
        assert_eq!(lines, [1, 3, 3, 0]);
        let sql = "INSERT INTO t (a, old_values) VALUES\n(1, 2),\n(3, 4)";
        assert_eq!(line_of_row(sql, 2), 2);
        assert_eq!(line_of_row("insert into t select 1", 1), 0);
    }
}
