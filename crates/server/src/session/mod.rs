//! A blocking connection to a server: the crate `wire` with the text protocol, or SQLite.
//!
//! It runs one statement at a time and returns its rows as text and its duration. It has no connection pool and no prepared
//! statements. Timed loads use `wire` directly.
//!
//! What a server sends is bounded: an answer that is kept has at most 64 MiB, a row that is handed out as well, and no file but the
//! one that a load offers is sent. Control statements have a deadline ([`Session::control`]), and an interruption of prony ends
//! every statement within two seconds. A statement without a deadline ends when the server has forgotten it (`watch`).

mod connect;
mod cutter;
mod kept;
pub(crate) mod option_file;
mod watch;

pub use connect::login;
pub use cutter::Cutter;

use kept::{Each, First, Kept};
use record::visible::{SAID_MAX, shortened};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use wire::{Blocking, WireError};

pub use wire::ColumnKind;

/// Time limit of a control statement, in total.
const CONTROL_WITHIN: Duration = Duration::from_secs(30);

/// The rows of one statement as text; NULL is None.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub columns: Vec<String>,
    /// How the values of each column are compared. May be shorter; the rest is [`ColumnKind::Other`].
    pub kinds: Vec<ColumnKind>,
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// From sending the statement to reading the last row.
    pub elapsed: Duration,
}

impl Reply {
    /// The first column of the first row as text; None if there is no row or the value is NULL.
    pub fn first_text(&self) -> Option<String> {
        self.text(0, 0)
    }

    /// A cell as text, by its row and column from 0; None if it does not exist or is NULL.
    pub fn text(&self, row: usize, column: usize) -> Option<String> {
        let cell = self.rows.get(row)?.get(column)?.as_deref()?;
        Some(String::from_utf8_lossy(cell).into_owned())
    }

    /// The place of the first column with one of these names.
    pub(crate) fn column(&self, names: &[&str]) -> Option<usize> {
        let is_one = |column: &String| names.contains(&column.as_str());
        self.columns.iter().position(is_one)
    }
}

/// Why a server or a statement failed. The texts are for users.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The server rejected the statement; the connection is still usable.
    #[error("{code} {message}")]
    Refused { code: u16, message: String },
    /// The connection was lost or could not be opened.
    #[error("{0}")]
    Lost(String),
    /// The server is not available or does not start; the text says what to do.
    #[error("{0}")]
    Unusable(String),
    /// The server ended, or had to be killed, before it answered: the cause if known, and the last lines of its log.
    #[error("{message}\nlast lines of its log:\n  {}", log.join("\n  "))]
    NotStarted { message: String, log: Vec<String> },
}

impl ServerError {
    /// Whether the server rejected LOAD DATA LOCAL because local_infile is off, so that rows must be sent with INSERT.
    /// Codes: 1148 (5.x, MariaDB), 3948 (MySQL 8.0), 4166 (MariaDB 10.5 and later).
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

/// The error of a file or a folder.
pub(crate) fn file_error(path: &Path, error: &std::io::Error) -> ServerError {
    ServerError::Unusable(format!("{}: {error}", path.display()))
}

/// An open connection.
pub enum Session {
    MySql(Box<Blocking>),
    Sqlite(rusqlite::Connection),
    /// A fake connection that answers with a script (see `fake`).
    Scripted(Box<Script>),
}

/// A function from a statement to its reply, in place of a server. A load counts as one statement; the number of rows in
/// its reply is the number of rows loaded.
pub type Script = dyn FnMut(&str) -> Result<Reply, ServerError> + Send;

/// Writes the file contents for LOAD DATA LOCAL INFILE.
pub type Producer = Box<dyn FnMut(&mut dyn Write) -> std::io::Result<()> + Send>;

/// Receives the first result of a statement as it arrives: its columns, then its rows.
pub trait TakeAnswer {
    /// `kind` says how values of the column compare.
    fn column(&mut self, name: &str, kind: ColumnKind);
    /// The cells as text; NULL is None.
    fn row(&mut self, cells: &[Option<&[u8]>]);
}

/// Receives the cells of a row as text; NULL is None.
pub type TakeRow<'a> = dyn FnMut(&[Option<&[u8]>]) + 'a;

impl Session {
    /// Whether the server understands MySQL's SET SESSION, SHOW STATUS, tabular EXPLAIN and LOAD DATA.
    pub fn is_mysql(&self) -> bool {
        matches!(self, Session::MySql(_) | Session::Scripted(_))
    }

    /// Whether a script answers in place of a server, so that nothing can be counted.
    pub fn is_scripted(&self) -> bool {
        matches!(self, Session::Scripted(_))
    }

    /// The connection to a server; None for SQLite and scripts.
    fn connection(&self) -> Option<&Blocking> {
        match self {
            Session::MySql(connection) => Some(connection),
            Session::Sqlite(_) | Session::Scripted(_) => None,
        }
    }

    /// The connection id for KILL; None for SQLite and scripts.
    pub fn connection_id(&self) -> Option<u32> {
        self.connection().map(Blocking::id)
    }

    /// The number of warnings of the last statement, at most 65,535.
    pub fn warnings(&self) -> u16 {
        self.connection().map_or(0, Blocking::warnings)
    }

    /// The rows that the last statement, a LOAD DATA LOCAL, skipped because their keys existed already. Servers before 5.7 do
    /// not warn of them.
    pub fn skipped_rows(&self) -> u64 {
        let connection = self.connection();
        connection.map_or(0, |connection| skipped(connection.load_info()))
    }

    /// Runs control statements, such as SET, SHOW and KILL: each ends within 30 s. All others have no limit of their own.
    pub fn control<T>(&mut self, run: impl FnOnce(&mut Session) -> T) -> T {
        let before = self.limit(Some(CONTROL_WITHIN));
        let result = run(self);
        self.limit(before);
        result
    }

    /// This session for control statements only, see [`Session::control`].
    pub fn for_control(self) -> Session {
        self.limited(CONTROL_WITHIN)
    }

    /// This session with a limit for each of its statements.
    pub fn limited(mut self, within: Duration) -> Session {
        self.limit(Some(within));
        self
    }

    fn limit(&mut self, limit: Option<Duration>) -> Option<Duration> {
        match self {
            Session::MySql(connection) => connection.set_statement_timeout(limit),
            Session::Sqlite(_) | Session::Scripted(_) => None,
        }
    }

    /// Runs one statement and returns all rows of its first result. A statement without rows returns an empty reply.
    ///
    /// # Errors
    /// [`ServerError::Unusable`] for an answer of more than 64 MiB.
    pub fn query(&mut self, sql: &str) -> Result<Reply, ServerError> {
        let sent = Instant::now();
        let mut reply = match self {
            Session::MySql(connection) => query_mysql(connection, sql),
            Session::Sqlite(connection) => query_sqlite(connection, sql).map_err(sqlite_error),
            Session::Scripted(script) => script(sql),
        }?;
        reply.elapsed = sent.elapsed();
        Ok(reply)
    }

    /// Runs one statement and hands its first result to `take` as it arrives. Only one row is in memory. Returns the time from
    /// sending the statement to reading the last row.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn answer(
        &mut self,
        sql: &str,
        take: &mut dyn TakeAnswer,
    ) -> Result<Duration, ServerError> {
        let sent = Instant::now();
        if let Session::MySql(connection) = self {
            let read = connection.read(sql, &mut First::new(take));
            read.map_err(|error| statement_error(connection, error))?;
            return Ok(sent.elapsed());
        }
        let reply = self.query(sql)?;
        for (n, name) in reply.columns.iter().enumerate() {
            let kind = reply.kinds.get(n).copied();
            take.column(name, kind.unwrap_or(ColumnKind::Other));
        }
        for row in &reply.rows {
            let cells: Vec<Option<&[u8]>> = row.iter().map(|cell| cell.as_deref()).collect();
            take.row(&cells);
        }
        Ok(reply.elapsed)
    }

    /// Runs a statement, discards its rows, and returns the number of changed rows. For SQLite the text may contain several
    /// statements; the result is that of the last one.
    pub fn execute(&mut self, sql: &str) -> Result<u64, ServerError> {
        match self {
            Session::MySql(connection) => Ok(run_mysql(connection, sql)?.affected),
            Session::Sqlite(connection) => {
                connection.execute_batch(sql).map_err(sqlite_error)?;
                Ok(connection.changes())
            }
            Session::Scripted(script) => Ok(script(sql)?.rows.len() as u64),
        }
    }

    /// Runs a statement whose bytes are in the character set of the connection, discards its rows, and returns the number of
    /// changed rows.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn send(&mut self, sql: &[u8]) -> Result<u64, ServerError> {
        match self {
            Session::MySql(connection) => Ok(run_mysql(connection, sql)?.affected),
            Session::Sqlite(_) | Session::Scripted(_) => {
                self.execute(&String::from_utf8_lossy(sql))
            }
        }
    }

    /// Has a server of the MySQL family parse a statement and look up its names, without running it. Others accept everything.
    ///
    /// # Errors
    /// [`ServerError::Refused`] with what the server says.
    pub fn prepare(&mut self, sql: &str) -> Result<(), ServerError> {
        let Session::MySql(connection) = self else {
            return Ok(());
        };
        let prepared = connection.prepare(sql);
        prepared.map_err(|error| statement_error(connection, error))
    }

    /// Runs one statement, reads and discards its rows one by one, and returns their number.
    pub fn drain(&mut self, sql: &str) -> Result<u64, ServerError> {
        match self {
            Session::MySql(connection) => Ok(run_mysql(connection, sql)?.rows),
            Session::Sqlite(connection) => drain_sqlite(connection, sql).map_err(sqlite_error),
            Session::Scripted(script) => Ok(script(sql)?.rows.len() as u64),
        }
    }

    /// Runs one statement and hands each row to `take` as it arrives. Only one row is in memory.
    pub fn each(&mut self, sql: &str, take: &mut TakeRow<'_>) -> Result<(), ServerError> {
        if let Session::MySql(connection) = self {
            let read = connection.read(sql, &mut Each(take));
            return read
                .map(drop)
                .map_err(|error| statement_error(connection, error));
        }
        for row in self.query(sql)?.rows {
            let cells: Vec<Option<&[u8]>> = row.iter().map(|cell| cell.as_deref()).collect();
            take(&cells);
        }
        Ok(())
    }

    /// Runs `LOAD DATA LOCAL INFILE 'any name' ...` with the producer's bytes as the file, and returns the number of loaded
    /// rows. The name has only ASCII characters and no quotes or backslashes: a server that requests another one is refused.
    ///
    /// # Errors
    /// [`ServerError::Refused`] if the server forbids LOCAL; the producer is not called then. [`ServerError::Lost`] if the
    /// producer fails, because the protocol cannot take back what was sent.
    pub fn load(&mut self, sql: &str, mut producer: Producer) -> Result<u64, ServerError> {
        let connection = match self {
            Session::MySql(connection) => connection,
            Session::Sqlite(_) => {
                return Err(ServerError::Unusable(
                    "SQLite has no LOAD DATA; insert the rows instead".into(),
                ));
            }
            Session::Scripted(script) => {
                producer(&mut std::io::sink())
                    .map_err(|cause| ServerError::Lost(format!("the load was aborted: {cause}")))?;
                return Ok(script(sql)?.rows.len() as u64);
            }
        };
        let name = sql.split('\'').nth(1).unwrap_or_default();
        connection
            .load(sql, name, &mut producer)
            .map_err(|error| match error {
                WireError::Io(cause) => ServerError::Lost(format!(
                    "the load was aborted: {}",
                    broken(connection, &cause)
                )),
                other => statement_error(connection, other),
            })
    }
}

/// `Records: 3  Deleted: 0  Skipped: 1  Warnings: 0`
fn skipped(info: &str) -> u64 {
    let mut words = info.split_whitespace();
    let found = words.find(|word| *word == "Skipped:");
    let number = found.and_then(|_| words.next()?.parse().ok());
    number.unwrap_or(0)
}

fn query_mysql(connection: &mut Blocking, sql: &str) -> Result<Reply, ServerError> {
    let mut kept = Kept::default();
    match connection.read(sql, &mut kept) {
        Ok(_) => Ok(kept.reply()),
        Err(error) => Err(statement_error(connection, error)),
    }
}

fn run_mysql(connection: &mut Blocking, sql: impl AsRef<[u8]>) -> Result<wire::Done, ServerError> {
    let done = connection.run(sql);
    done.map_err(|error| statement_error(connection, error))
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

fn query_sqlite(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Reply> {
    let mut statement = connection.prepare(sql)?;
    let columns: Vec<String> = statement.column_names().map(String::from).collect();
    let mut found = statement.query([])?;
    let mut rows = Vec::new();
    // A column of SQLite has no type: it is numeric if all its values are.
    let mut kinds = vec![ColumnKind::Exact; columns.len()];
    while let Some(row) = found.next()? {
        for (n, kind) in kinds.iter_mut().enumerate() {
            use rusqlite::types::ValueRef::{Blob, Text};
            if matches!(row.get_ref(n)?, Text(_) | Blob(_)) {
                *kind = ColumnKind::Other;
            }
        }
        rows.push(
            (0..columns.len())
                .map(|n| row.get_ref(n).map(sqlite_text))
                .collect::<Result<_, _>>()?,
        );
    }
    Ok(Reply {
        columns,
        kinds,
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

fn statement_error(connection: &Blocking, error: WireError) -> ServerError {
    let is_lost = error.is_lost();
    match error {
        WireError::Server { code, message, .. } if is_lost => ServerError::Lost(format!(
            "the server closed the connection: {code} {}",
            said(&message)
        )),
        WireError::Server { code, message, .. } => ServerError::Refused {
            code,
            message: said(&message),
        },
        WireError::ReplyTooLarge { .. } | WireError::AnswerTooLarge { .. } => {
            ServerError::Unusable(error.to_string())
        }
        WireError::Io(cause) => ServerError::Lost(format!(
            "the connection to the server was lost: {}",
            broken(connection, &cause)
        )),
        other => ServerError::Lost(format!("the connection to the server was lost: {other}")),
    }
}

/// Why a connection broke, in words.
fn broken(connection: &Blocking, cause: &std::io::Error) -> String {
    match (cause.kind(), connection.statement_timeout()) {
        // It comes from the producer of a load.
        _ if cause.get_ref().is_some() => cause.to_string(),
        (ErrorKind::ConnectionAborted, _) => watch::LOST.into(),
        (ErrorKind::TimedOut, Some(limit)) => {
            format!("no complete answer within {} s", limit.as_secs())
        }
        (ErrorKind::UnexpectedEof, _) => "the server closed it".into(),
        (ErrorKind::Interrupted, _) => "interrupted".into(),
        _ => cause.to_string(),
    }
}

/// What a server says, as far as it is kept.
fn said(message: &str) -> String {
    shortened(message, SAID_MAX).into_owned()
}

fn sqlite_error(error: rusqlite::Error) -> ServerError {
    use rusqlite::Error::{SqlInputError, SqliteFailure};
    let (code, message) = match error {
        SqliteFailure(cause, message) => {
            let message = message.unwrap_or_else(|| cause.to_string());
            (cause.extended_code, message)
        }
        SqlInputError { error, msg, .. } => (error.extended_code, msg),
        other => (0, other.to_string()),
    };
    ServerError::Refused {
        code: code as u16,
        message,
    }
}

#[cfg(test)]
mod hostile;

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite() -> Session {
        Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap())
    }

    #[test]
    fn sqlite_returns_text_and_distinguishes_null() {
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
    fn drain_counts_rows() {
        let sql = "select 1 union all select 2 union all select 3";
        assert_eq!(sqlite().drain(sql).unwrap(), 3);
    }

    #[test]
    fn each_hands_out_every_row_with_its_nulls() {
        let mut rows = Vec::new();
        let sql = "select 1, null union all select 2, 'x'";
        let mut take = |row: &[Option<&[u8]>]| rows.push(row[1].map(<[u8]>::to_vec));
        sqlite().each(sql, &mut take).unwrap();
        assert_eq!(rows, [None, Some(b"x".to_vec())]);
    }

    #[test]
    fn sqlite_counts_changed_rows() {
        let mut session = sqlite();
        session.execute("create table t (n)").unwrap();
        assert_eq!(session.execute("insert into t values (1), (2)").unwrap(), 2);
    }

    #[test]
    fn skipped_rows_are_read_from_the_servers_summary() {
        assert_eq!(
            skipped("Records: 3  Deleted: 0  Skipped: 1  Warnings: 0"),
            1
        );
        assert_eq!(skipped(""), 0);
    }

    #[test]
    fn a_syntax_error_is_refused() {
        assert!(matches!(
            sqlite().query("selec 1"),
            Err(ServerError::Refused { code: 1, .. })
        ));
    }

    #[test]
    fn sqlite_rejects_load_data() {
        let refused = sqlite()
            .load("load data", Box::new(|_| Ok(())))
            .unwrap_err();
        assert_eq!(
            refused.to_string(),
            "SQLite has no LOAD DATA; insert the rows instead"
        );
    }
}
