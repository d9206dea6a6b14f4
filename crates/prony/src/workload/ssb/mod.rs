//! The Star Schema Benchmark: five tables, 13 queries in four flights.
//!
//! Goal: the tables, keys and queries of the published results on any server of the MySQL family and on SQLite.
//! Non-goal: the rows themselves (crate `datagen`).

mod queries;
mod references;
mod schema;
mod section;
mod tables;

pub use section::{Joins, Section};

use super::answers::Reference;
use super::loader::{self, settings};
use super::marker::{self, Marker};
use super::schema as common;
use super::{
    Dataset, Dialect, Driver, Estimate, LoadError, Loaded, Operation, Preloaded, Progress, State,
    preload,
};
use crate::server::{ServerError, Session};
use sha2::{Digest, Sha256};
use std::time::Instant;

/// prony's own schema for this workload.
const SCHEMA: &str = "prony_ssb";
/// To be raised when the generator's rows change, so that kept datasets are made anew.
const GENERATOR: u32 = 1;

/// The benchmark at one scale.
pub struct StarSchema {
    section: Section,
    tables: tables::Tables,
}

impl StarSchema {
    pub fn new(section: Section) -> StarSchema {
        let tables = tables::Tables::new(section.scale);
        StarSchema { section, tables }
    }

    fn failed(what: &'static str) -> impl Fn(ServerError) -> LoadError {
        move |cause| LoadError::Server { what, cause }
    }

    /// Statistics decide plans: without ANALYZE 5.5 takes each key of lineorder for unique, and the others look at the
    /// tables at a time of their own choice. MyISAM's keys were switched off for the load and are built by sorting here.
    fn finish(&self, session: &mut Session) -> Result<(), LoadError> {
        let failed = Self::failed("The rows are loaded, but the tables could not be finished");
        for statement in schema::after_load(Dialect::of(session), &self.section.engine) {
            session.query(&statement).map_err(&failed)?;
        }
        let marker = Marker {
            fingerprint: self.fingerprint(),
            rows: self.tables.rows(),
        };
        marker::write(session, SCHEMA, &self.section.engine, &marker).map_err(failed)
    }
}

impl Dataset for StarSchema {
    fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for text in [schema::MYSQL, schema::SQLITE, schema::INDEXES_SQLITE] {
            hash.update(text);
        }
        hash.update(GENERATOR.to_le_bytes());
        let hash: String = hash
            .finalize()
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("ssb-{}-{}-{hash}", self.section.scale, self.section.engine)
    }

    fn summary(&self) -> String {
        let Section {
            scale,
            engine,
            joins,
        } = &self.section;
        let joins = match joins {
            Joins::Original => "joins in the WHERE clause",
            Joins::Ansi => "ANSI joins",
            Joins::FactFirst => "fact table first",
            Joins::DimensionFirst => "dimension first",
        };
        format!("Star Schema Benchmark, scale {scale}, {engine}, {joins}")
    }

    fn schema(&self) -> &str {
        SCHEMA
    }

    /// Measured at scale 1 on two cores: InnoDB of 5.5.34 and 5.6.14 hold 1.2 GB. The rounds are those of the
    /// ANSI form on 5.5.34 with everything in memory (43 s), and, guessed, with a pool of an eighth of the data on a cold SSD.
    fn estimate(&self) -> Estimate {
        let text_bytes = self.tables.text_bytes();
        let scale = self.section.scale;
        Estimate {
            rows: self.tables.rows(),
            data_bytes: (text_bytes as f64 * 2.0) as u64,
            text_bytes,
            load_s: 1.0 + 60.0 * scale,
            round_cold_s: 1.0 + 150.0 * scale,
            round_hot_s: 45.0 * scale,
        }
    }

    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        if session.is_mysql() {
            session.execute(&format!("USE {SCHEMA}"))?;
        }
        Ok(())
    }

    fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        marker::state(session, SCHEMA, &tables::NAMES)
    }

    fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        let failed = Self::failed("The schema prony_ssb cannot be looked at");
        let what = match self.state(session).map_err(&failed)? {
            State::Absent => None,
            State::Partial => Some("tables of a load that did not end".to_owned()),
            State::Complete(fingerprint) => Some(format!("the loaded dataset {fingerprint}")),
        };
        if let Some(what) = what {
            if !allow_drop {
                return Err(LoadError::Exists {
                    schema: SCHEMA.into(),
                    what,
                });
            }
            let tables = marker::present(session, SCHEMA, &tables::NAMES).map_err(failed)?;
            common::drop(session, SCHEMA, &tables)?;
        }
        schema::create(session, SCHEMA, &self.section.engine)
    }

    fn load(
        &self,
        connect: &(dyn Fn() -> Result<Session, ServerError> + Sync),
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let failed = Self::failed("The server cannot be reached for the load");
        let mut session = connect().map_err(&failed)?;
        let (dialect, engine) = (Dialect::of(&session), &self.section.engine);
        let strategy = settings::strategy(engine);
        self.enter(&mut session).map_err(&failed)?;
        for statement in schema::before_load(dialect, engine) {
            session.execute(&statement).map_err(&failed)?;
        }
        let job = loader::Job {
            prepare: schema::prepare(dialect, SCHEMA),
            tables: self.tables.list(),
            pieces: self.tables.pieces(strategy.rows_per_statement),
            connections: strategy.connections,
            data_bytes: self.estimate().data_bytes,
        };
        let mut loaded = loader::run(job, connect, progress, cancel)?;
        let begun = Instant::now();
        self.finish(&mut session)?;
        loaded.finish_s = begun.elapsed().as_secs_f64();
        Ok(loaded)
    }

    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        let failed = Self::failed("The loaded tables cannot be counted");
        self.enter(session).map_err(&failed)?;
        let wrong = |table: &str, says: String| LoadError::Wrong {
            table: table.into(),
            says,
        };
        for table in self.tables.list() {
            let reply = session
                .query(&format!("SELECT COUNT(*) FROM {}", table.name))
                .map_err(&failed)?;
            let counted = reply.first_text().unwrap_or_default();
            if counted != table.rows.to_string() {
                return Err(wrong(
                    &table.name,
                    format!("it has {counted} rows and should have {}", table.rows),
                ));
            }
        }
        let expected = Marker {
            fingerprint: self.fingerprint(),
            rows: self.tables.rows(),
        };
        match self.state(session).map_err(&failed)? {
            State::Complete(fingerprint) if fingerprint == expected.fingerprint => {}
            other => {
                return Err(wrong(
                    marker::TABLE,
                    format!("it says {other:?} and should name {}", expected.fingerprint),
                ));
            }
        }
        match marker::read(session, SCHEMA).map_err(failed)? {
            Some(found) if found == expected => Ok(()),
            other => Err(wrong(
                marker::TABLE,
                format!("its row is {other:?} and should be {expected:?}"),
            )),
        }
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        common::data_bytes(session, SCHEMA, &tables::NAMES)
    }

    fn operations(&self) -> Vec<Operation> {
        queries::operations(self.section.joins)
    }

    fn reference(&self, operation: &str) -> Option<Reference> {
        references::reference(self.section.scale, operation)
    }

    fn driver(&self, _: wire::Login, _: &[String], _: u64) -> Option<Driver> {
        None
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        preload::preload(session, SCHEMA, &tables::NAMES)
    }
}

#[cfg(test)]
mod tests;
