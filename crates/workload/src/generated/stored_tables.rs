//! The generated tables of a workload, in a schema of their own.
//!
//! Purpose: one `Dataset` for all workloads with generated rows: create, load, count, mark, preload. Boundaries: a workload
//! provides the statements, and the rows through `Rows`.

use crate::loader::{self, Indexes};
use crate::schema::held::{self, Look};
use crate::schema::indexes::{self, IndexBuild, Plan};
use crate::schema::marker::{self, Marker};
use crate::schema::{self, preload};
use crate::{
    AfterLoad, AllowDrop, Dataset, DatasetState, Dialect, Divided, Estimate, Held, LoadError,
    Loaded, Preloaded, Progress,
};
use server::{ServerError, Session};
use std::collections::HashMap;
use std::time::Instant;

/// The rows of all tables, from a generator. Tables come in the order of loading.
pub trait Rows: Send + Sync {
    fn names(&self) -> Vec<&str>;
    /// The tables with their exact row counts. An implementation counts once.
    fn tables(&self) -> Vec<loader::Table>;
    /// Bytes of text, approximately.
    fn text_bytes(&self) -> u64;
    /// Every table in pieces of about this many rows; None: each table is one piece.
    fn pieces(&self, rows_per_piece: Option<u64>) -> Vec<loader::Piece>;
}

/// The tables of a workload and their statements.
pub struct Stored {
    /// See [`Dataset::fingerprint`].
    pub fingerprint: String,
    /// See [`Dataset::summary`].
    pub summary: String,
    /// prony's own; nothing outside it is touched.
    pub schema: &'static str,
    pub engine: String,
    pub index_build: IndexBuild,
    /// CREATE TABLE statements in MySQL's dialect, each with `{engine}`.
    pub create: String,
    pub sqlite: Sqlite,
    /// The LIKE pattern of all tables of this workload at any size; None: the tables are fixed.
    pub pattern: Option<&'static str>,
    pub rows: Box<dyn Rows>,
    /// The number of parallel connections, each loading its own table.
    pub connections: usize,
    /// Without the rows and the bytes of text, which the generator knows.
    pub cost: Estimate,
    /// Statements after the rows of MySQL's dialect are loaded.
    pub after_rows: Vec<String>,
    /// None: a timed load leaves the tables fit for the next one, as far as their rows and indexes tell.
    pub changing: Option<Changing>,
    /// Whether tables that a load has changed may be dropped and loaded anew.
    pub reload: bool,
}

/// Tables that a timed load changes so much that the next one would measure something else. They need a schema of their own.
pub struct Changing {
    /// A query whose only value is 0 while the rows are as loaded. It must be cheap.
    pub changes: String,
    /// The rules that the loaded rows violate, one sentence each.
    pub rules: Rules,
}

/// Checks rules over its own connections.
pub(crate) type Rules =
    Box<dyn Fn(loader::Connect<'_>) -> Result<Vec<String>, ServerError> + Send + Sync>;

/// The tables in SQLite.
pub enum Sqlite {
    Made {
        create: &'static str,
        /// Run after the rows.
        indexes: &'static str,
    },
    /// Not supported: the reason (`what`) and the fix (`instead`).
    Refused {
        what: &'static str,
        instead: &'static str,
    },
}

impl Dataset for Stored {
    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    /// What stands before the engine is all that the generator needs to know.
    fn rows_key(&self) -> String {
        let engine = format!("-{}", self.engine);
        let rows = self.fingerprint.split(&engine).next();
        rows.unwrap_or_default().to_string()
    }

    fn summary(&self) -> String {
        self.summary.clone()
    }

    fn schema(&self) -> &str {
        self.schema
    }

    fn engine(&self) -> Option<&str> {
        Some(&self.engine)
    }

    fn estimate(&self) -> Estimate {
        Estimate {
            rows: self.marker().rows,
            text_bytes: self.rows.text_bytes(),
            ..self.cost
        }
    }

    fn state(&self, session: &mut Session) -> Result<DatasetState, ServerError> {
        let state = marker::state(session, self.schema, &self.rows.names())?;
        match (state, &self.changing) {
            (DatasetState::Complete(fingerprint), Some(changing))
                if fingerprint == self.fingerprint && changing.are_changed(session)? =>
            {
                Ok(DatasetState::Changed(fingerprint))
            }
            (state, _) => Ok(state),
        }
    }

    fn held(&self, session: &mut Session) -> Result<Held, ServerError> {
        let rows: Vec<u64> = self.rows.tables().iter().map(|table| table.rows).collect();
        held::compared(session, self.schema, &self.rows.names(), &rows)
    }

    fn knows_changes(&self) -> bool {
        self.changing.is_some()
    }

    fn create(&self, session: &mut Session, allow: &AllowDrop) -> Result<(), LoadError> {
        if let Sqlite::Refused { what, instead } = self.sqlite {
            schema::refuse_sqlite(session, what, instead)?;
        }
        self.is_alone(session)?;
        self.make_room(session, allow)?;
        match (Dialect::of(session), &self.sqlite) {
            (Dialect::Sqlite, Sqlite::Made { create, .. }) => {
                schema::create(session, self.schema, "", [*create].into_iter())
            }
            _ => {
                let plans = self.plans();
                let create = plans.iter().map(|plan| &*plan.create);
                schema::create(session, self.schema, &self.engine, create)
            }
        }
    }

    fn load(
        &self,
        connect: loader::Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let (mut session, plans) = self.begin(connect)?;
        let dialect = Dialect::of(&session);
        let mut loaded = loader::run(self.job(dialect, &plans), connect, progress, cancel)?;
        loaded.finish_s = self.end(&mut session)?;
        Ok(loaded)
    }

    fn divided(&self) -> Option<&dyn Divided> {
        Some(self)
    }

    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        let failed = LoadError::during("The loaded tables cannot be counted");
        self.enter(session).map_err(&failed)?;
        let wrong = |table: &str, says: String| LoadError::Wrong {
            table: table.into(),
            says,
        };
        for table in self.rows.tables() {
            let counted = schema::count(session, &table.name).map_err(&failed)?;
            if counted != table.rows {
                let says = format!("it has {counted} rows but should have {}", table.rows);
                return Err(wrong(&table.name, says));
            }
        }
        match self.state(session).map_err(&failed)? {
            DatasetState::Complete(fingerprint) if fingerprint == self.fingerprint => {}
            other => {
                let says = format!("it says {other:?} and should name {}", self.fingerprint);
                return Err(wrong(marker::TABLE, says));
            }
        }
        let expected = self.marker();
        match marker::read(session, self.schema).map_err(failed)? {
            Some(found) if found == expected => Ok(()),
            other => {
                let says = format!("its row is {other:?} but should be {expected:?}");
                Err(wrong(marker::TABLE, says))
            }
        }
    }

    fn verify_rules(&self, connect: loader::Connect<'_>) -> Result<(), LoadError> {
        let Some(changing) = &self.changing else {
            return Ok(());
        };
        let failed = LoadError::during("The loaded tables cannot be checked");
        let violated = (changing.rules)(connect).map_err(failed)?;
        match violated.first() {
            None => Ok(()),
            Some(first) => Err(LoadError::Wrong {
                table: self.schema.into(),
                says: format!("{first} ({} violations listed)", violated.len()),
            }),
        }
    }

    fn after_load(&self) -> AfterLoad {
        match &self.changing {
            _ if self.reload => AfterLoad::Reload,
            None => AfterLoad::Keep,
            Some(_) => AfterLoad::Refuse,
        }
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        schema::data_bytes(session, self.schema, &self.rows.names())
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        preload::preload(session, self.schema, &self.rows.names())
    }
}

impl Divided for Stored {
    fn load_part(
        &self,
        index: u32,
        of: u32,
        connect: loader::Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let (session, plans) = self.begin(connect)?;
        let whole = self.job(Dialect::of(&session), &plans);
        let job = loader::Job {
            pieces: loader::part(whole.pieces, index, of),
            is_part: true,
            indexes: Vec::new(),
            ..whole
        };
        loader::run(job, connect, progress, cancel)
    }

    fn finish_parts(
        &self,
        connect: loader::Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let (mut session, plans) = self.begin(connect)?;
        let whole = self.job(Dialect::of(&session), &plans);
        let job = loader::Job {
            pieces: Vec::new(),
            is_part: true,
            ..whole
        };
        let mut loaded = loader::run(job, connect, progress, cancel)?;
        loaded.finish_s = self.end(&mut session)?;
        loaded.rows = self.marker().rows;
        Ok(loaded)
    }
}

impl Stored {
    /// A session in the schema, and the plans of the tables, whose indexes are put off where that is faster.
    fn begin(&self, connect: loader::Connect<'_>) -> Result<(Session, Vec<Plan<'_>>), LoadError> {
        let failed = LoadError::during("The server cannot be reached for the load");
        let mut session = connect().map_err(&failed)?;
        let plans = match Dialect::of(&session) {
            Dialect::MySql => self.plans(),
            Dialect::Sqlite => Vec::new(),
        };
        self.enter(&mut session).map_err(&failed)?;
        for statement in plans.iter().filter_map(|plan| plan.before.as_ref()) {
            session.execute(statement).map_err(&failed)?;
        }
        Ok((session, plans))
    }

    /// Updates the statistics and writes the marker. Returns the seconds that it took.
    fn end(&self, session: &mut Session) -> Result<f64, LoadError> {
        let begun = Instant::now();
        let failed = LoadError::during(
            "The rows are loaded, but the statistics or the marker could not be written",
        );
        for statement in self.finish(Dialect::of(session)) {
            session.query(&statement).map_err(&failed)?;
        }
        marker::write(session, self.schema, &self.marker()).map_err(&failed)?;
        if Dialect::of(session) == Dialect::MySql {
            let look = Look::at(session, self.schema, &self.rows.names()).map_err(&failed)?;
            held::write_look(session, self.schema, &look).map_err(failed)?;
        }
        Ok(begun.elapsed().as_secs_f64())
    }

    fn marker(&self) -> Marker {
        Marker {
            fingerprint: self.fingerprint.clone(),
            rows: self.rows.tables().iter().map(|table| table.rows).sum(),
        }
    }

    fn plans(&self) -> Vec<Plan<'_>> {
        schema::statements(&self.create)
            .map(|create| indexes::plan(create, &self.engine, self.index_build))
            .collect()
    }

    fn job(&self, dialect: Dialect, plans: &[Plan<'_>]) -> loader::Job {
        let tables = self.rows.tables();
        let each = loader::settings::rows_per_statement(&self.engine);
        loader::Job {
            prepare: schema::prepare(dialect, self.schema),
            indexes: indexes_of(plans, &tables),
            tables,
            pieces: self.rows.pieces(each),
            is_part: false,
            connections: self.connections,
            data_bytes: self.cost.data_bytes,
        }
    }

    /// Fails with [`LoadError::Foreign`] if tables that change share their schema.
    fn is_alone(&self, session: &mut Session) -> Result<(), LoadError> {
        if self.changing.is_none() {
            return Ok(());
        }
        let failed = LoadError::during("prony's schema cannot be looked at");
        let own = self.rows.names();
        let mut tables = marker::present_like(session, self.schema, "%").map_err(failed)?;
        tables.retain(|name| name != marker::TABLE && !own.contains(&name.as_str()));
        if tables.is_empty() {
            Ok(())
        } else {
            Err(LoadError::Foreign {
                schema: self.schema.into(),
                tables,
            })
        }
    }

    /// Drops existing tables if allowed; otherwise fails with [`LoadError::Exists`] or [`LoadError::Theirs`].
    fn make_room(&self, session: &mut Session, allow: &AllowDrop) -> Result<(), LoadError> {
        let failed = LoadError::during("prony's schema cannot be looked at");
        let (present, what) = match self.pattern {
            Some(pattern) => {
                let present = marker::present_like(session, self.schema, pattern);
                let present = present.map_err(failed)?;
                let what = format!("the tables {}", present.join(", "));
                (present, what)
            }
            None => {
                let what = match self.state(session).map_err(&failed)? {
                    DatasetState::Absent => return Ok(()),
                    DatasetState::Partial => "tables of a load that did not end".to_owned(),
                    DatasetState::Theirs => "tables of yours".to_owned(),
                    DatasetState::Complete(fingerprint) => {
                        format!("the loaded dataset {fingerprint}")
                    }
                    DatasetState::Changed(fingerprint) => {
                        format!("the dataset {fingerprint}, which a run has changed")
                    }
                };
                let present = marker::present(session, self.schema, &self.rows.names());
                (present.map_err(failed)?, what)
            }
        };
        schema::may_drop(self.schema, &present, what, allow)?;
        schema::drop_tables(session, self.schema, &present)
    }

    /// Statements after the last row. Plans depend on statistics: without ANALYZE, 5.5 assumes that each key of a large
    /// table is unique, and other servers update statistics at unpredictable times.
    fn finish(&self, dialect: Dialect) -> Vec<String> {
        match (dialect, &self.sqlite) {
            (Dialect::Sqlite, Sqlite::Made { indexes, .. }) => schema::statements(indexes)
                .chain(["ANALYZE"])
                .map(String::from)
                .collect(),
            _ => {
                let analyze = format!("ANALYZE TABLE {}", self.rows.names().join(", "));
                self.after_rows.iter().cloned().chain([analyze]).collect()
            }
        }
    }
}

impl Changing {
    fn are_changed(&self, session: &mut Session) -> Result<bool, ServerError> {
        let changes = session.query(&self.changes)?.first_text();
        Ok(changes.as_deref() != Some("0"))
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
