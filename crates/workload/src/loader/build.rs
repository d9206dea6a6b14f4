//! Builds indexes after the rows are loaded.
//!
//! Purpose: time the build per table, and stop soon when the load is cancelled. Boundaries: `schema::indexes` chooses the
//! indexes.

use super::watch::{self, Outcome, Watch};
use super::{Failure, Table};
use server::{ServerError, Session};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Instant;

/// The statement that builds the indexes of a table.
pub struct Indexes {
    /// An index into `Job::tables`.
    pub table: usize,
    pub statement: String,
}

/// Index build time by table (s).
pub(super) type Built = BTreeMap<String, f64>;

/// Builds all indexes over one connection. Returns the outcome of the watch and the build times so far.
pub(super) fn all(
    indexes: &[Indexes],
    tables: &[Table],
    session: Session,
    watch: &Watch<'_>,
) -> (Outcome, Built) {
    std::thread::scope(|scope| {
        let (ended, ends) = mpsc::channel();
        let builder = scope.spawn(move || {
            let mut built = Built::new();
            // The receiver outlives the sender.
            let _ = ended.send(one_by_one(indexes, tables, session, &mut built));
            built
        });
        let outcome = watch::until_ended(&ends, watch);
        let built = builder
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (outcome, built)
    })
}

fn one_by_one(
    indexes: &[Indexes],
    tables: &[Table],
    mut session: Session,
    built: &mut Built,
) -> Result<(), Failure> {
    for Indexes { table, statement } in indexes {
        let begun = Instant::now();
        let failure = |error: ServerError| Failure {
            table: *table,
            error,
        };
        session.query(statement).map_err(failure)?;
        let name = tables[*table].name.clone();
        built.insert(name, begun.elapsed().as_secs_f64());
    }
    Ok(())
}
