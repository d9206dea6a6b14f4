//! Statements of the user's own, from the experiment file or from a .sql file.
//!
//! Goal: what pgbench's scripts are for: any transaction, its parameters drawn from a distribution, weighed against others. Non-goals:
//! variables that are set from answers, conditions, loops.

mod cancel;
mod parameter;
mod section;
mod setup;

pub use section::{Section, Source};

use super::answers::Reference;
use super::oltp::Tables;
use super::script::Script;
use super::{Dataset, Driver, Estimate, LoadError, Loaded, Operation, Preloaded, Progress, State};
use server::{ServerError, Session};
use setup::Setup;
use std::sync::Arc;

/// The tables and the operations of one section.
pub struct Statements {
    names: Vec<String>,
    data: Data,
    script: Arc<Script>,
}

enum Data {
    Setup(Setup),
    Oltp(Tables),
}

/// The same call on whichever tables there are.
macro_rules! data {
    ($self:ident.$call:ident($($argument:expr),*)) => {
        match &$self.data {
            Data::Setup(setup) => setup.$call($($argument),*),
            Data::Oltp(tables) => tables.$call($($argument),*),
        }
    };
}

impl Statements {
    pub fn new(section: Section) -> Statements {
        let data = match section.source {
            Source::Setup(sql) => Data::Setup(Setup::new(sql)),
            Source::Oltp(data) => Data::Oltp(Tables::new(data)),
        };
        Statements {
            names: section.names,
            data,
            script: Arc::new(section.script),
        }
    }
}

impl Dataset for Statements {
    fn fingerprint(&self) -> String {
        data!(self.fingerprint())
    }

    fn summary(&self) -> String {
        format!("{} on {}", self.names.join(" and "), data!(self.summary()))
    }

    fn schema(&self) -> &str {
        match self.data {
            Data::Setup(_) => setup::SCHEMA,
            Data::Oltp(_) => super::oltp::SCHEMA,
        }
    }

    fn estimate(&self) -> Estimate {
        data!(self.estimate())
    }

    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        data!(self.enter(session))
    }

    fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        data!(self.state(session))
    }

    fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        data!(self.create(session, allow_drop))
    }

    fn load(
        &self,
        connect: &(dyn Fn() -> Result<Session, ServerError> + Sync),
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        data!(self.load(connect, progress, cancel))
    }

    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        data!(self.verify(session))
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        data!(self.data_bytes(session))
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
            schema: Some(self.schema().into()),
            ..login
        };
        Some(Driver::new(Arc::clone(&self.script), login, session, seed))
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        data!(self.preload(session))
    }
}
