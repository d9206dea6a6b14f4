//! Bulk loading: streams generated text to the server without a file in between.
//!
//! Purpose: load as fast as the server accepts rows, with constant memory; report progress, stop promptly on cancel, and
//! explain every failure with table, rows, cause and fix. Boundaries: the workload defines the rows; the dataset updates
//! statistics and writes the marker.

mod build;
pub mod fault;
mod insert;
mod lines;
mod local;
mod pieces;
mod queue;
pub mod settings;
mod sqlite;
mod tally;
pub(crate) mod warnings;
mod watch;

use super::{LoadError, Loaded, Progress, held};
use queue::Queue;
use server::{ServerError, Session};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;
use tally::Tally;

pub use build::Indexes;
pub use pieces::part;
pub use pieces::{Piece, PiecePart, WriteRows};

/// The parameters of a load.
pub struct Job {
    /// Statements for each connection before it loads: the schema, session settings.
    pub prepare: Vec<String>,
    pub tables: Vec<Table>,
    /// In loading order.
    pub pieces: Vec<Piece>,
    /// Whether the pieces are only some of the tables' rows.
    pub is_part: bool,
    /// Built one after another when all rows are loaded.
    pub indexes: Vec<Indexes>,
    /// The number of connections; SQLite always has one writer.
    pub connections: usize,
    /// The estimated size of the loaded tables, for the message about a full disk.
    pub data_bytes: u64,
}

pub struct Table {
    pub name: String,
    pub columns: usize,
    pub rows: u64,
}

pub type Connect<'a> = &'a (dyn Fn() -> Result<Session, ServerError> + Sync);

#[derive(Clone, Copy, PartialEq)]
enum Method {
    Local,
    /// Rows up to so many bytes of statement.
    Insert(usize),
    Sqlite,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Method::Local => "LOAD DATA LOCAL INFILE",
            Method::Insert(_) => "INSERT",
            Method::Sqlite => "prepared INSERT",
        }
    }
}

/// The error of a worker and its current table.
struct Failure {
    table: usize,
    error: ServerError,
}

/// Loads every piece; on Ok all rows are committed and counted.
pub fn run(
    job: Job,
    connect: Connect<'_>,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<Loaded, LoadError> {
    let tables = &job.tables;
    let tally = Arc::new(Tally::new(tables.iter().map(|table| table.rows).collect()));
    let faults = fault::Faults {
        tables,
        tally: &tally,
        data_bytes: job.data_bytes,
    };

    let connections = job.connections.min(job.pieces.len());
    let opened = open_all(connect, &job.prepare, &tables[0], connections);
    let (sessions, method) = opened.map_err(|error| faults.explain(0, error))?;
    let connections = sessions.len();
    let ids: Vec<u32> = sessions.iter().filter_map(Session::connection_id).collect();
    let queue = Mutex::new(Queue::new(job.pieces, tables.len()));
    let began = Instant::now();
    let watch = watch::Watch {
        began,
        tally: &tally,
        tables,
        ids: &ids,
        connect,
        progress,
        cancel,
    };
    let outcome = work_all(sessions, method, &queue, &tally, &watch);
    let elapsed_s = began.elapsed().as_secs_f64();
    faults.unless_done(outcome)?;
    if !job.is_part {
        faults.all_rows_are_in()?;
    }
    let mut index_s = BTreeMap::new();
    if !job.indexes.is_empty() {
        let session = open(connect, &job.prepare).map_err(|error| faults.explain(0, error))?;
        let ids: Vec<u32> = session.connection_id().into_iter().collect();
        let watch = watch::Watch { ids: &ids, ..watch };
        let (outcome, built) = build::all(&job.indexes, tables, session, &watch);
        faults.unless_done(outcome)?;
        index_s = built;
    }
    Ok(Loaded {
        rows: tally.done(),
        bytes: tally.bytes.load(Relaxed),
        elapsed_s,
        index_s,
        finish_s: 0.0,
        method: method.name().into(),
        connections,
        tables: tally.by_table(tables),
        events: Vec::new(),
    })
}

fn open(connect: Connect<'_>, prepare: &[String]) -> Result<Session, ServerError> {
    let mut session = connect()?;
    for statement in prepare {
        session.execute(statement)?;
    }
    Ok(session)
}

/// Opens the first connection, chooses the method, and opens further ones up to this number. SQLite has one writer.
fn open_all(
    connect: Connect<'_>,
    prepare: &[String],
    first: &Table,
    connections: usize,
) -> Result<(Vec<Session>, Method), ServerError> {
    let (session, method) = choose(open(connect, prepare)?, first)?;
    let mut sessions = vec![session];
    while method != Method::Sqlite && sessions.len() < connections {
        sessions.push(open(connect, prepare)?);
    }
    Ok((sessions, method))
}

/// Tests with an empty load into the first table whether the server accepts LOCAL.
fn choose(mut session: Session, table: &Table) -> Result<(Session, Method), ServerError> {
    if !session.is_mysql() {
        return Ok((session, Method::Sqlite));
    }
    match session.load(&local::statement(&table.name), Box::new(|_| Ok(()))) {
        Ok(_) => Ok((session, Method::Local)),
        Err(error) if error.is_local_infile_refused() => {
            let limit = insert::statement_limit(&mut session)?;
            Ok((session, Method::Insert(limit)))
        }
        Err(error) => Err(error),
    }
}

/// Loads over all connections at once, in a thread each.
fn work_all(
    sessions: Vec<Session>,
    method: Method,
    queue: &Mutex<Queue>,
    tally: &Arc<Tally>,
    watch: &watch::Watch<'_>,
) -> watch::Outcome {
    std::thread::scope(|scope| {
        let (ended, ends) = mpsc::channel();
        for session in sessions {
            let (ended, tables) = (ended.clone(), watch.tables);
            scope.spawn(move || {
                let result = work(session, method, tables, queue, tally);
                if result.is_err() {
                    tally.stop.store(true, Relaxed);
                }
                // The receiver outlives every sender.
                let _ = ended.send(result);
            });
        }
        drop(ended);
        watch::until_ended(&ends, watch)
    })
}

/// Loads pieces from the queue over one connection until it is empty or the load stops.
fn work(
    mut session: Session,
    method: Method,
    tables: &[Table],
    queue: &Mutex<Queue>,
    tally: &Arc<Tally>,
) -> Result<(), Failure> {
    if method == Method::Sqlite {
        return sqlite::load_all(&mut session, tables, queue, tally);
    }
    while let Some(piece) = next(queue, tally) {
        let table = piece.table;
        let begun = Instant::now();
        let rows = match method {
            Method::Insert(limit) => {
                insert::load(&mut session, &tables[table], piece, limit, tally)
            }
            _ => local::load(&mut session, &tables[table], piece, tally),
        };
        let rows = rows.map_err(|error| Failure { table, error })?;
        tally.finished(table, rows, begun);
        held(queue).leave(table);
    }
    Ok(())
}

fn next(queue: &Mutex<Queue>, tally: &Tally) -> Option<Piece> {
    if tally.stop.load(Relaxed) {
        return None;
    }
    held(queue).take()
}
