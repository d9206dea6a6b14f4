//! A connection to a server, as the parts that are not hot use it: the blocking `mysql` crate in the text protocol, or SQLite.
//!
//! Goal: one statement, its rows as text, its time. Non-goals: load at speed (`crates/wire`), pooling, prepared statements.

mod connect;
mod cutter;
pub mod option_file;

pub use cutter::Cutter;

use mysql::prelude::Queryable;
use mysql::{LocalInfileHandler, Value};
use std::io::Write;
use std::time::{Duration, Instant};

/// The rows of one statement in text form; NULL is None.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// From sending the statement to having read the last row.
    pub elapsed: Duration,
}

impl Reply {
    /// The first column of the first row as text, where there is one that is not NULL.
    pub fn first_text(&self) -> Option<String> {
        let cell = self.rows.first()?.first()?.as_deref()?;
        Some(String::from_utf8_lossy(cell).into_owned())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The server answered with an error: the statement is at fault, the connection lives.
    #[error("{code} {message}")]
    Refused { code: u16, message: String },
    /// The connection is gone, or could not be had.
    #[error("{0}")]
    Lost(String),
    /// The server cannot be had or does not start; the text is meant for the user and says what to do.
    #[error("{0}")]
    Unusable(String),
    /// It ended, or had to be ended, before it answered: what is known of the cause, and the end of its log.
    #[error("{says}\nthe end of its log:\n  {}", log.join("\n  "))]
    NotStarted { says: String, log: Vec<String> },
}

impl ServerError {
    /// The server does not let clients send files (LOAD DATA LOCAL): by its own setting, or by ours as it sees it.
    /// The rows have to go by INSERT. Codes: 1148 (5.x, MariaDB), 3948 (MySQL 8.0), 4166 (MariaDB 10.5 and later).
    pub fn is_local_infile_refused(&self) -> bool {
        matches!(
            self,
            ServerError::Refused {
                code: 1148 | 3948 | 4166,
                ..
            }
        )
    }
}

pub enum Session {
    MySql(Box<mysql::Conn>),
    Sqlite(rusqlite::Connection),
    /// Answers by a function of the statement (see `fake`).
    Scripted(Box<Script>),
}

/// What answers in place of a server. A load is one statement to it, whose rows are counted.
pub type Script = dyn FnMut(&str) -> Result<Reply, ServerError> + Send;

/// A producer of the bytes of LOAD DATA LOCAL INFILE.
pub type Producer = Box<dyn FnMut(&mut dyn Write) -> std::io::Result<()> + Send>;

impl Session {
    /// It speaks MySQL: SET SESSION, SHOW STATUS, EXPLAIN as a table, LOAD DATA.
    pub fn is_mysql(&self) -> bool {
        matches!(self, Session::MySql(_) | Session::Scripted(_))
    }

    /// The number by which another session can KILL this one; None in SQLite.
    pub fn connection_id(&self) -> Option<u32> {
        match self {
            Session::MySql(connection) => Some(connection.connection_id()),
            Session::Sqlite(_) | Session::Scripted(_) => None,
        }
    }

    /// Runs one statement and reads all its rows. A statement without rows gives an empty reply.
    pub fn query(&mut self, sql: &str) -> Result<Reply, ServerError> {
        let sent = Instant::now();
        let mut reply = match self {
            Session::MySql(connection) => query_mysql(connection, sql).map_err(statement_error),
            Session::Sqlite(connection) => query_sqlite(connection, sql).map_err(sqlite_error),
            Session::Scripted(script) => script(sql),
        }?;
        reply.elapsed = sent.elapsed();
        Ok(reply)
    }

    /// Runs a statement whose rows, if any, do not matter, and gives the number of rows that it changed.
    /// In SQLite the text may hold several statements; the last one's number counts.
    pub fn execute(&mut self, sql: &str) -> Result<u64, ServerError> {
        match self {
            Session::MySql(connection) => execute_mysql(connection, sql).map_err(statement_error),
            Session::Sqlite(connection) => {
                connection.execute_batch(sql).map_err(sqlite_error)?;
                Ok(connection.changes())
            }
            Session::Scripted(script) => Ok(script(sql)?.rows.len() as u64),
        }
    }

    /// Runs one statement, reads its rows one after the other without keeping them, and gives their number.
    pub fn drain(&mut self, sql: &str) -> Result<u64, ServerError> {
        match self {
            Session::MySql(connection) => drain_mysql(connection, sql).map_err(statement_error),
            Session::Sqlite(connection) => drain_sqlite(connection, sql).map_err(sqlite_error),
            Session::Scripted(script) => Ok(script(sql)?.rows.len() as u64),
        }
    }

    /// Runs `LOAD DATA LOCAL INFILE 'any name' ...` with the producer's bytes as the file, and gives the rows loaded.
    ///
    /// A server that refuses LOCAL answers [`ServerError::Refused`] before the producer is asked for anything. If the
    /// producer fails the protocol has no way to take back what was sent, so the session is [`ServerError::Lost`].
    pub fn load(&mut self, sql: &str, mut producer: Producer) -> Result<u64, ServerError> {
        let connection = match self {
            Session::MySql(connection) => connection,
            Session::Sqlite(_) => {
                return Err(ServerError::Unusable(
                    "SQLite has no LOAD DATA: insert the rows instead".into(),
                ));
            }
            Session::Scripted(script) => {
                producer(&mut std::io::sink())
                    .map_err(|cause| ServerError::Lost(format!("the load broke off: {cause}")))?;
                return Ok(script(sql)?.rows.len() as u64);
            }
        };
        let handler = LocalInfileHandler::new(move |_name, packets| producer(packets));
        connection.set_local_infile_handler(Some(handler));
        let loaded = execute_mysql(connection, sql);
        connection.set_local_infile_handler(None);
        loaded.map_err(|error| match error {
            mysql::Error::IoError(cause) => {
                ServerError::Lost(format!("the load broke off: {cause}"))
            }
            other => statement_error(other),
        })
    }
}

fn query_mysql(connection: &mut mysql::Conn, sql: &str) -> mysql::Result<Reply> {
    let mut result = connection.query_iter(sql)?;
    let columns = result
        .columns()
        .as_ref()
        .iter()
        .map(|column| column.name_str().into_owned())
        .collect();
    let mut rows = Vec::new();
    for row in result.by_ref() {
        rows.push(row?.unwrap().into_iter().map(text).collect());
    }
    Ok(Reply {
        columns,
        rows,
        elapsed: Duration::ZERO,
    })
}

fn execute_mysql(connection: &mut mysql::Conn, sql: &str) -> mysql::Result<u64> {
    let mut result = connection.query_iter(sql)?;
    let changed = result.affected_rows();
    for row in result.by_ref() {
        row?;
    }
    Ok(changed)
}

fn drain_mysql(connection: &mut mysql::Conn, sql: &str) -> mysql::Result<u64> {
    let mut rows = 0;
    for row in connection.query_iter(sql)?.by_ref() {
        row?;
        rows += 1;
    }
    Ok(rows)
}

fn drain_sqlite(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare(sql)?;
    let mut found = statement.query([])?;
    let mut rows = 0;
    while found.next()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}

/// The text protocol sends bytes or NULL and nothing else.
fn text(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(bytes),
        other => Some(other.as_sql(true).into_bytes()),
    }
}

fn query_sqlite(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Reply> {
    let mut statement = connection.prepare(sql)?;
    let columns: Vec<String> = statement.column_names().map(String::from).collect();
    let mut found = statement.query([])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(
            (0..columns.len())
                .map(|n| row.get_ref(n).map(sqlite_text))
                .collect::<Result<_, _>>()?,
        );
    }
    Ok(Reply {
        columns,
        rows,
        elapsed: Duration::ZERO,
    })
}

fn sqlite_text(value: rusqlite::types::ValueRef<'_>) -> Option<Vec<u8>> {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

/// Error codes after which the server closes the connection: shutdown, KILL of the connection, inactivity.
const CLOSING: [u16; 5] = [1053, 1152, 1184, 1927, 4031];

fn statement_error(error: mysql::Error) -> ServerError {
    match error {
        mysql::Error::MySqlError(answer) if CLOSING.contains(&answer.code) => {
            ServerError::Lost(format!(
                "the server closed the connection: {} {}",
                answer.code, answer.message
            ))
        }
        mysql::Error::MySqlError(answer) => ServerError::Refused {
            code: answer.code,
            message: answer.message,
        },
        mysql::Error::IoError(cause) => {
            ServerError::Lost(format!("the connection to the server was lost: {cause}"))
        }
        other => ServerError::Lost(format!("the connection to the server was lost: {other}")),
    }
}

fn sqlite_error(error: rusqlite::Error) -> ServerError {
    match error {
        rusqlite::Error::SqliteFailure(cause, message) => ServerError::Refused {
            code: cause.extended_code as u16,
            message: message.unwrap_or_else(|| cause.to_string()),
        },
        rusqlite::Error::SqlInputError { error, msg, .. } => ServerError::Refused {
            code: error.extended_code as u16,
            message: msg,
        },
        other => ServerError::Refused {
            code: 0,
            message: other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite() -> Session {
        Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap())
    }

    #[test]
    fn sqlite_answers_as_text_with_null_apart() {
        let reply = sqlite()
            .query("select 7 as n, 'x' as t, null as nil, 0.5 as half")
            .unwrap();
        assert_eq!(reply.columns, ["n", "t", "nil", "half"]);
        assert_eq!(
            reply.rows,
            [[
                Some(b"7".to_vec()),
                Some(b"x".to_vec()),
                None,
                Some(b"0.5".to_vec())
            ]]
            .map(Vec::from)
        );
        assert_eq!(reply.first_text().as_deref(), Some("7"));
    }

    #[test]
    fn rows_that_are_not_kept_are_counted() {
        let sql = "select 1 union all select 2 union all select 3";
        assert_eq!(sqlite().drain(sql).unwrap(), 3);
    }

    #[test]
    fn sqlite_counts_the_changed_rows() {
        let mut session = sqlite();
        session.execute("create table t (n)").unwrap();
        assert_eq!(session.execute("insert into t values (1), (2)").unwrap(), 2);
    }

    #[test]
    fn a_mistake_in_a_statement_is_a_refusal() {
        assert!(matches!(
            sqlite().query("selec 1"),
            Err(ServerError::Refused { code: 1, .. })
        ));
    }

    #[test]
    fn sqlite_does_not_take_load_data() {
        let refused = sqlite()
            .load("load data", Box::new(|_| Ok(())))
            .unwrap_err();
        assert_eq!(
            refused.to_string(),
            "SQLite has no LOAD DATA: insert the rows instead"
        );
    }
}
