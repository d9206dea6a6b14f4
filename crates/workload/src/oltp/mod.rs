//! Small transactions on sysbench's tables: point reads, ranges, updates, inserts, and their mixes.
//!
//! Goal: what sysbench's OLTP tests ask of a server, as data for the load engine. Non-goals: the rows and keys (crate `datagen`), running
//! (`script`).

pub mod distribution;
mod operations;
mod section;
mod tables;

pub use section::{Data, Section};
pub use tables::{SCHEMA, Tables};

use super::answers::Reference;
use super::script::Script;
use super::{Dataset, Driver, Estimate, LoadError, Loaded, Operation, Preloaded, Progress, State};
use server::{ServerError, Session};
use std::sync::Arc;

/// The tables and the operations of one section.
pub struct Oltp {
    section: Section,
    tables: Tables,
    script: Arc<Script>,
}

impl Oltp {
    pub fn new(section: Section) -> Oltp {
        Oltp {
            tables: Tables::new(section.data.clone()),
            script: Arc::new(operations::script(&section)),
            section,
        }
    }
}

impl Dataset for Oltp {
    fn fingerprint(&self) -> String {
        self.tables.fingerprint()
    }

    fn summary(&self) -> String {
        let names = self.section.mix.iter().map(|(operation, _)| operation.name);
        let names: Vec<&str> = names.collect();
        format!("{} on {}", names.join(" and "), self.tables.summary())
    }

    fn schema(&self) -> &str {
        tables::SCHEMA
    }

    fn estimate(&self) -> Estimate {
        self.tables.estimate()
    }

    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        self.tables.enter(session)
    }

    fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        self.tables.state(session)
    }

    fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        self.tables.create(session, allow_drop)
    }

    fn load(
        &self,
        connect: &(dyn Fn() -> Result<Session, ServerError> + Sync),
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        self.tables.load(connect, progress, cancel)
    }

    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        self.tables.verify(session)
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        self.tables.data_bytes(session)
    }

    /// None: there are no queries that a round could run.
    fn operations(&self) -> Vec<Operation> {
        Vec::new()
    }

    fn reference(&self, _: &str) -> Option<Reference> {
        None
    }

    fn driver(&self, login: wire::Login, session: &[String], seed: u64) -> Option<Driver> {
        let login = wire::Login {
            schema: Some(tables::SCHEMA.into()),
            ..login
        };
        Some(Driver::new(Arc::clone(&self.script), login, session, seed))
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        self.tables.preload(session)
    }
}
