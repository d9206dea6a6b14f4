//! A connection to a server, as the parts that are not hot use it: the blocking `mysql` crate, SQLite, or a script.
//!
//! Goal: one statement, its rows as text, its time. Non-goals: load at speed (`crates/wire`), pooling.

use std::io::Write;
use std::time::Duration;

/// The rows of one statement in text form; NULL is None.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// From sending the statement to having read the last row.
    pub elapsed: Duration,
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
}

pub enum Session {
    MySql(Box<mysql::Conn>),
    Sqlite(rusqlite::Connection),
}

/// A producer of the bytes of LOAD DATA LOCAL INFILE.
pub type Producer = Box<dyn FnMut(&mut dyn Write) -> std::io::Result<()> + Send>;
