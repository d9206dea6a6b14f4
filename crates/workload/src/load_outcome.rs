//! What the loading of tables reports: its progress, its figures at the end, or why it failed.
//!
//! Purpose: every message of a failed load names the table, the progress, the cause and the fix. Boundaries: `loader` and `sql` load;
//! `loader::fault` finds the cause.

use server::ServerError;
use std::collections::BTreeMap;

/// The progress of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The table that is being loaded; the largest if there are several.
    pub table: String,
    /// Of all tables: accepted by the server so far, and in total.
    pub rows: u64,
    pub rows_total: u64,
    /// What `rows` counts.
    pub unit: Unit,
    pub elapsed_s: f64,
    /// Seconds since the server last accepted a row.
    pub idle_s: f64,
    /// Whether the user's statements have just made the tables, and rows from files follow.
    pub has_tables: bool,
}

/// What the progress of a load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Rows,
    /// Bytes of files, as they are on disk.
    Bytes,
}

/// A finished load.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub rows: u64,
    /// Bytes of text that went to the server.
    pub bytes: u64,
    /// From the first row to the last commit, without the statistics.
    pub elapsed_s: f64,
    /// Seconds of the secondary indexes that were built after the rows, by table; empty where the rows came with them.
    pub index_s: BTreeMap<String, f64>,
    /// ANALYZE and the marker.
    pub finish_s: f64,
    /// `LOAD DATA LOCAL INFILE`, `INSERT`
    pub method: String,
    pub connections: usize,
    /// Rows and seconds from its first row to its last commit, by table; tables that load side by side overlap.
    pub tables: BTreeMap<String, (u64, f64)>,
    /// Events that the statements of the user have made.
    pub events: Vec<String>,
}

impl Loaded {
    /// Committed rows per second of wall time.
    pub fn rows_per_s(&self) -> f64 {
        self.rows as f64 / self.elapsed_s
    }
}

/// Why a load failed. Every message names the table, the progress, the cause and the fix.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(
        "the server is out of disk space: {table} had {rows} of {rows_total} rows ({cause}). Free about {need_mb} MB where the server keeps its data, or use a smaller --scale"
    )]
    Full {
        table: String,
        rows: u64,
        rows_total: u64,
        cause: String,
        need_mb: u64,
    },
    #[error(
        "the server was lost while loading {table}, after {rows} of {rows_total} rows ({cause}). See the server log; the tables are incomplete and the next load starts over"
    )]
    Died {
        table: String,
        rows: u64,
        rows_total: u64,
        cause: String,
    },
    #[error(
        "the server accepted no row of {table} for {idle_s:.0} s, after {rows} of {rows_total} rows. MyISAM and Aria wait silently when the disk is full: free space where the server keeps its data, then run again"
    )]
    Stalled {
        table: String,
        rows: u64,
        rows_total: u64,
        idle_s: f64,
    },
    #[error("the server refused {table} after {rows} of {rows_total} rows: {cause}")]
    Refused {
        table: String,
        rows: u64,
        rows_total: u64,
        cause: String,
    },
    #[error(
        "the load was interrupted after {rows} of {rows_total} rows; the tables are incomplete and the next load starts over"
    )]
    Cancelled { rows: u64, rows_total: u64 },
    #[error(
        "the schema {schema} holds {what}. prony does not drop it by default: run again with --allow-drop to replace prony's tables in it, or drop them yourself"
    )]
    Exists { schema: String, what: String },
    #[error(
        "the schema {schema} holds {}, which prony did not load: its marker is missing. prony drops tables of yours only by name: move them, or run again with --allow-drop={}",
        tables.join(", "),
        tables.join(",")
    )]
    Theirs { schema: String, tables: Vec<String> },
    #[error(
        "the schema {schema} also holds {}, which prony did not create. prony drops only its own tables and loads only beside them: move or drop the others",
        tables.join(", ")
    )]
    Foreign { schema: String, tables: Vec<String> },
    #[error(
        "the server is read-only ({cause}). Switch read_only off, or name a server that accepts writes"
    )]
    ReadOnly { cause: String },
    #[error(
        "{table}: {says}. The tables differ from the generated data: drop the schema and load again"
    )]
    Wrong { table: String, says: String },
    #[error(
        "the server has no storage engine {engine} ({cause}); SHOW ENGINES lists the available ones"
    )]
    NoEngine { engine: String, cause: String },
    /// As `Cancelled`, in statements of the user.
    #[error(
        "{place}: the load was interrupted here; the tables are incomplete and the next load starts over"
    )]
    Interrupted {
        /// `shop.sql:12`
        place: String,
    },
    /// A mistake in a file of the user, or what the server says of it.
    #[error("{place}: {says}")]
    Written {
        /// `shop.sql:12`
        place: String,
        says: String,
    },
    #[error(
        "{place}: {says}. On an external server, statements stay within prony's own schema: change this one, or allow it with --allow-setup"
    )]
    Unconfined {
        /// `tables.sql:12`
        place: String,
        says: String,
    },
    #[error("{what}: {cause}")]
    Server {
        what: &'static str,
        cause: ServerError,
    },
}

impl LoadError {
    /// Wraps a server's error with `what` prony was doing.
    pub fn during(what: &'static str) -> impl Fn(ServerError) -> LoadError {
        move |cause| LoadError::Server { what, cause }
    }
}
