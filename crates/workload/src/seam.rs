//! The seam `Dataset`: what the protocol asks of a workload's data, whoever generates it. Cold: never on a measured path.
//!
//! Goal: the words that provisioning needs: what it is, how large, load it, is it whole. Non-goals: running the
//! operations (the protocol does), where the data is kept (`run`).

use super::answers::Reference;
use super::preload::Preloaded;
use super::script::Driver;
use server::{ServerError, Session};
use std::collections::BTreeMap;

pub trait Dataset: Send + Sync {
    /// Changes when the loaded tables would: workload, scale, engine, schema text, generator; not with the join form.
    /// Fit for a file name.
    fn fingerprint(&self) -> String;
    /// `Star Schema Benchmark, scale 0.1, InnoDB, ANSI joins`
    fn summary(&self) -> String;
    /// prony's own schema: nothing outside it is touched.
    fn schema(&self) -> &str;
    /// Rough, known before anything is loaded.
    fn estimate(&self) -> Estimate;
    /// Makes the schema the session's own. Does nothing in SQLite, where the file is the schema.
    fn enter(&self, session: &mut Session) -> Result<(), ServerError>;
    /// What the server holds of it already.
    fn state(&self, session: &mut Session) -> Result<State, ServerError>;
    /// Makes the empty tables. Where the schema holds tables of this workload already they are dropped, and nothing but
    /// them, if `allow_drop`; otherwise that is [`LoadError::Exists`].
    fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError>;
    /// Fills the empty tables, has the server look at them (statistics decide plans) and writes the marker last.
    /// `connect` gives further connections, `progress` is called several times a second, `cancel` ends it soon.
    fn load(
        &self,
        connect: &(dyn Fn() -> Result<Session, ServerError> + Sync),
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError>;
    /// Counts the rows of every table and reads the marker.
    fn verify(&self, session: &mut Session) -> Result<(), LoadError>;
    /// Bytes of data and indexes as the server reports them; what relative settings refer to.
    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError>;
    /// In the order in which a round runs them.
    fn operations(&self) -> Vec<Operation>;
    /// What an operation has to answer at this scale, where that is known.
    fn reference(&self, operation: &str) -> Option<Reference>;
    /// What a timed load drives on the loaded tables; None where there are queries alone. The login's schema is replaced by the
    /// dataset's own. `session`: statements for each connection once it is open, `SET SESSION ...`.
    fn driver(&self, login: wire::Login, session: &[String], seed: u64) -> Option<Driver>;
    /// Has the server read every index of every table, and looks whether they stayed in the pool.
    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The schema is not there, or holds none of the tables.
    Absent,
    /// Loaded whole; the fingerprint says what. It may be another one than that of the dataset asked for.
    Complete(String),
    /// Some of the tables and no marker: a load that did not end.
    Partial,
}

/// The SQL that a server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    MySql,
    Sqlite,
}

impl Dialect {
    pub fn of(session: &Session) -> Dialect {
        if session.is_mysql() {
            Dialect::MySql
        } else {
            Dialect::Sqlite
        }
    }
}

/// One query of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// `Q1.1`
    pub name: String,
    pub mysql: String,
    pub sqlite: String,
    /// What its ORDER BY fixes: the columns (from 0) in that order. Rows that are equal in all of them may come in any order.
    pub ordered_by: Vec<usize>,
}

impl Operation {
    pub fn sql(&self, dialect: Dialect) -> &str {
        match dialect {
            Dialect::MySql => &self.mysql,
            Dialect::Sqlite => &self.sqlite,
        }
    }
}

/// Rough figures for `check`; from measurements on two cores, see the implementations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub rows: u64,
    /// In the server, indexes included.
    pub data_bytes: u64,
    /// As the generator writes it.
    pub text_bytes: u64,
    pub load_s: f64,
    pub round_cold_s: f64,
    pub round_hot_s: f64,
}

/// Where a load stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The table that is being worked on; several at once are named by the largest.
    pub table: String,
    /// Rows of all tables that the server has taken, and those that it will have.
    pub rows: u64,
    pub rows_total: u64,
    pub elapsed_s: f64,
    /// Seconds since the server last took a row.
    pub idle_s: f64,
}

/// A load as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub rows: u64,
    /// Bytes of text that went to the server.
    pub bytes: u64,
    /// From the first row to the last commit, statistics not included.
    pub elapsed_s: f64,
    /// Seconds of the secondary indexes that were built after the rows, by table; empty where the rows came with them.
    pub index_s: BTreeMap<String, f64>,
    /// ANALYZE, and what is written last.
    pub finish_s: f64,
    /// `LOAD DATA LOCAL INFILE`, `INSERT`
    pub method: String,
    pub connections: usize,
    /// Rows and seconds from its first row to its last commit, by table; tables that load side by side overlap.
    pub tables: BTreeMap<String, (u64, f64)>,
}

impl Loaded {
    /// Rows that were loaded and committed for each second of wall time.
    pub fn rows_per_s(&self) -> f64 {
        self.rows as f64 / self.elapsed_s
    }
}

/// Why a load did not end well. Every message names the table, how far it came, the cause and the way out.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(
        "the server is out of disk space: {table} had {rows} of {rows_total} rows ({cause}). Free about {need_mb} MB where the server keeps its data, or take a smaller --scale"
    )]
    Full {
        table: String,
        rows: u64,
        rows_total: u64,
        cause: String,
        need_mb: u64,
    },
    #[error(
        "the server went away while {table} was loaded, {rows} of {rows_total} rows in ({cause}). Its log says why; the tables are incomplete and the next load begins again"
    )]
    Died {
        table: String,
        rows: u64,
        rows_total: u64,
        cause: String,
    },
    #[error(
        "the server took no row of {table} for {idle_s:.0} s, {rows} of {rows_total} rows in. MyISAM and Aria wait silently where the disk is full: free space where the server keeps its data, then run again"
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
        "the load was interrupted after {rows} of {rows_total} rows; the tables are incomplete and the next load begins again"
    )]
    Cancelled { rows: u64, rows_total: u64 },
    #[error(
        "the schema {schema} holds {what}. prony drops nothing on its own: run again with --allow-drop to replace prony's tables in it, or drop them yourself"
    )]
    Exists { schema: String, what: String },
    #[error(
        "{table}: {says}. The tables are not what was generated: drop the schema and load again"
    )]
    Wrong { table: String, says: String },
    #[error("the server has no storage engine {engine} ({cause}); SHOW ENGINES lists those it has")]
    NoEngine { engine: String, cause: String },
    #[error("{what}: {cause}")]
    Server {
        what: &'static str,
        cause: ServerError,
    },
}

impl LoadError {
    /// What a server's refusal is where nothing more is known than `what` was to be done.
    pub fn during(what: &'static str) -> impl Fn(ServerError) -> LoadError {
        move |cause| LoadError::Server { what, cause }
    }
}
