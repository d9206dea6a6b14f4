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
use super::loader::settings;
use super::marker::{self, Marker};
use super::schema as common;
use super::stored::{Filling, Stored};
use super::{
    Dataset, Dialect, Driver, Estimate, LoadError, Loaded, Operation, Preloaded, Progress, State,
};
use server::{ServerError, Session};

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
        let tables = tables::tables(section.scale);
        StarSchema { section, tables }
    }

    fn stored(&self) -> Stored<'_> {
        Stored {
            schema: SCHEMA,
            tables: tables::NAMES.to_vec(),
            engine: &self.section.engine,
            index_build: self.section.index_build(),
            create: schema::MYSQL,
            indexes_sqlite: schema::INDEXES_SQLITE,
        }
    }

    fn marker(&self) -> Marker {
        Marker {
            fingerprint: self.fingerprint(),
            rows: self.tables.rows(),
        }
    }
}

impl Dataset for StarSchema {
    fn fingerprint(&self) -> String {
        let hash = marker::hash(&[
            schema::MYSQL.as_bytes(),
            schema::SQLITE.as_bytes(),
            schema::INDEXES_SQLITE.as_bytes(),
            &GENERATOR.to_le_bytes(),
        ]);
        let Section { scale, engine, .. } = &self.section;
        let build = self.section.index_build().suffix(engine);
        format!("ssb-{scale}-{engine}{build}-{hash}")
    }

    fn summary(&self) -> String {
        let Section {
            scale,
            engine,
            joins,
            ..
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
        self.stored().enter(session)
    }

    fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        self.stored().state(session)
    }

    fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        self.stored().make_room(session, allow_drop)?;
        match Dialect::of(session) {
            Dialect::MySql => self.stored().create_mysql(session),
            Dialect::Sqlite => common::create(session, SCHEMA, "", [schema::SQLITE].into_iter()),
        }
    }

    fn load(
        &self,
        connect: &(dyn Fn() -> Result<Session, ServerError> + Sync),
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let strategy = settings::strategy(&self.section.engine);
        let filling = Filling {
            tables: self.tables.list(),
            pieces: self.tables.pieces(strategy.rows_per_statement),
            connections: strategy.connections,
            data_bytes: self.estimate().data_bytes,
            marker: self.marker(),
        };
        self.stored().load(filling, connect, progress, cancel)
    }

    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        self.stored()
            .verify(session, &self.tables.list(), &self.marker())
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        self.stored().data_bytes(session)
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
        self.stored().preload(session)
    }
}

#[cfg(test)]
mod tests;
