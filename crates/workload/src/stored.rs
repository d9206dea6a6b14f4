//! The tables of a workload in a schema of their own.
//!
//! Goal: what the datasets of generated tables do alike: make room, load, count, mark, preload. Non-goals: their rows and statements,
//! which each workload brings.

use super::indexes::{self, IndexBuild, Plan};
use super::loader::{self, Indexes};
use super::marker::{self, Marker};
use super::{Dialect, LoadError, Loaded, Preloaded, Progress, State, preload, schema};
use server::{ServerError, Session};
use std::collections::HashMap;
use std::time::Instant;

/// Where the tables are and what they are made of.
pub struct Stored<'a> {
    /// prony's own; nothing outside it is touched.
    pub schema: &'static str,
    /// The tables' names.
    pub tables: Vec<&'a str>,
    pub engine: &'a str,
    pub index_build: IndexBuild,
    /// CREATE TABLE statements in MySQL's dialect, each with `{engine}`.
    pub create: &'a str,
    /// The statements that make the indexes in SQLite, after the rows; empty where SQLite is not taken.
    pub indexes_sqlite: &'static str,
}

/// What a load brings.
pub struct Filling {
    pub tables: Vec<loader::Table>,
    pub pieces: Vec<loader::Piece>,
    /// How many load at once, each a table of its own.
    pub connections: usize,
    /// What the loaded tables will take.
    pub data_bytes: u64,
    pub marker: Marker,
}

impl Stored<'_> {
    fn plans(&self) -> Vec<Plan<'_>> {
        schema::statements(self.create)
            .map(|create| indexes::plan(create, self.engine, self.index_build))
            .collect()
    }

    pub fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        schema::enter(session, self.schema)
    }

    pub fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        marker::state(session, self.schema, &self.tables)
    }

    /// Makes sure that none of the tables is there: drops them where that is allowed, else it is [`LoadError::Exists`].
    pub fn make_room(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        let failed = LoadError::during("prony's schema cannot be looked at");
        let what = match self.state(session).map_err(&failed)? {
            State::Absent => return Ok(()),
            State::Partial => "tables of a load that did not end".to_owned(),
            State::Complete(fingerprint) => format!("the loaded dataset {fingerprint}"),
        };
        let present = marker::present(session, self.schema, &self.tables).map_err(failed)?;
        schema::make_room(session, self.schema, &present, what, allow_drop)
    }

    /// Makes the empty tables on a server of the MySQL family, without the indexes that are built later.
    pub fn create_mysql(&self, session: &mut Session) -> Result<(), LoadError> {
        let plans = self.plans();
        let create = plans.iter().map(|plan| &*plan.create);
        schema::create(session, self.schema, self.engine, create)
    }

    /// Fills the tables, builds the indexes that come later, finishes and writes the marker.
    pub fn load(
        &self,
        filling: Filling,
        connect: loader::Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let failed = LoadError::during("The server cannot be reached for the load");
        let mut session = connect().map_err(&failed)?;
        let dialect = Dialect::of(&session);
        let plans = match dialect {
            Dialect::MySql => self.plans(),
            Dialect::Sqlite => Vec::new(),
        };
        self.enter(&mut session).map_err(&failed)?;
        for statement in plans.iter().filter_map(|plan| plan.before.as_ref()) {
            session.execute(statement).map_err(&failed)?;
        }
        let job = loader::Job {
            prepare: schema::prepare(dialect, self.schema),
            indexes: indexes_of(&plans, &filling.tables),
            tables: filling.tables,
            pieces: filling.pieces,
            connections: filling.connections,
            data_bytes: filling.data_bytes,
        };
        let mut loaded = loader::run(job, connect, progress, cancel)?;
        let begun = Instant::now();
        let failed = LoadError::during("The rows are loaded, but the tables could not be finished");
        for statement in self.finish(dialect) {
            session.query(&statement).map_err(&failed)?;
        }
        marker::write(&mut session, self.schema, self.engine, &filling.marker).map_err(failed)?;
        loaded.finish_s = begun.elapsed().as_secs_f64();
        Ok(loaded)
    }

    /// Statements after the last row. Statistics decide plans: without ANALYZE 5.5 takes each key of a large table for unique, and the
    /// others look at the tables at a time of their own choice.
    fn finish(&self, dialect: Dialect) -> Vec<String> {
        match dialect {
            Dialect::MySql => vec![format!("ANALYZE TABLE {}", self.tables.join(", "))],
            Dialect::Sqlite => schema::statements(self.indexes_sqlite)
                .chain(["ANALYZE"])
                .map(String::from)
                .collect(),
        }
    }

    /// Counts the rows of every table and reads the marker.
    pub fn verify(
        &self,
        session: &mut Session,
        tables: &[loader::Table],
        expected: &Marker,
    ) -> Result<(), LoadError> {
        let failed = LoadError::during("The loaded tables cannot be counted");
        self.enter(session).map_err(&failed)?;
        let wrong = |table: &str, says: String| LoadError::Wrong {
            table: table.into(),
            says,
        };
        for table in tables {
            let counted = schema::count(session, &table.name).map_err(&failed)?;
            if counted != table.rows {
                let says = format!("it has {counted} rows and should have {}", table.rows);
                return Err(wrong(&table.name, says));
            }
        }
        match self.state(session).map_err(&failed)? {
            State::Complete(fingerprint) if fingerprint == expected.fingerprint => {}
            other => {
                let says = format!("it says {other:?} and should name {}", expected.fingerprint);
                return Err(wrong(marker::TABLE, says));
            }
        }
        match marker::read(session, self.schema).map_err(failed)? {
            Some(found) if found == *expected => Ok(()),
            other => {
                let says = format!("its row is {other:?} and should be {expected:?}");
                Err(wrong(marker::TABLE, says))
            }
        }
    }

    pub fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        schema::data_bytes(session, self.schema, &self.tables)
    }

    pub fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        preload::preload(session, self.schema, &self.tables)
    }
}

/// The statements that build indexes after the rows, in the order of the tables.
fn indexes_of(plans: &[Plan<'_>], tables: &[loader::Table]) -> Vec<Indexes> {
    let statements: HashMap<&str, &String> = plans
        .iter()
        .filter_map(|plan| Some((indexes::table(&plan.create), plan.after.as_ref()?)))
        .collect();
    let indexes = |(table, loaded): (usize, &loader::Table)| {
        let statement = (*statements.get(loaded.name.as_str())?).clone();
        Some(Indexes { table, statement })
    };
    tables.iter().enumerate().filter_map(indexes).collect()
}
