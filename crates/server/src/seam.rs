//! The seam `Server`: what the protocol asks of a database server, whoever provides it.
//!
//! Implementations: `managed` (prony starts and stops it), `external` (a DSN), `sqlite` (in process), `fake` (for tests
//! in milliseconds). Non-goals: SQL (see `workload` and `observe`).

use crate::{Adjusted, ServerError, Session, StartRequest};
use record::ServerIdentity;
use spec::Dsn;
use std::path::Path;

/// Opens a connection as the administrator, again and again.
pub type Connector = Box<dyn Fn() -> Result<Session, ServerError> + Send + Sync>;

pub trait Server: Send {
    /// What can be asked of it; the protocol marks everything else "not available".
    fn abilities(&self) -> Abilities;
    /// Known after the first start.
    fn identity(&self) -> Option<&ServerIdentity>;
    /// Starts the node on the data folder of the request and waits until it answers.
    /// For an external server: connects and checks that it answers.
    fn start(&mut self, request: &StartRequest) -> Result<Started, ServerError>;
    /// A clean stop that leaves a data folder that can be copied. Does nothing where it is not running.
    fn stop(&mut self) -> Result<(), ServerError>;
    /// kill -9.
    fn kill(&mut self) -> Result<(), ServerError>;
    /// A new connection as the administrator, autocommit on, no schema chosen.
    fn connect(&self) -> Result<Session, ServerError> {
        self.connector()?()
    }
    /// What makes such connections on another thread, to this start of the server.
    fn connector(&self) -> Result<Connector, ServerError>;
    /// How a client of the load reaches it while it runs, the password with it; None where there is nothing to connect to.
    fn dsn(&self) -> Option<Dsn> {
        None
    }
    /// The process, where there is one of its own.
    fn pid(&self) -> Option<u32>;
    /// The folder whose files hold the data, where prony may look at it.
    fn data_folder(&self) -> Option<&Path>;
    /// The last lines of its log, for messages.
    fn log_tail(&self, lines: usize) -> Vec<String>;
    /// Why it ended though nobody asked it to, in words; None while it runs, and where prony cannot know.
    fn exit_reason(&mut self) -> Option<String> {
        None
    }
    /// Settings of the last start that are in force otherwise than they were asked for.
    fn adjusted(&self, _session: &mut Session) -> Result<Vec<Adjusted>, ServerError> {
        Ok(Vec::new())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// It can be restarted, so that rounds can be cold.
    pub restart: bool,
    /// `settings` can be applied.
    pub settings: bool,
    /// It speaks MySQL: SET SESSION, SHOW STATUS, EXPLAIN as a table, LOAD DATA.
    pub mysql: bool,
    /// Datasets can be kept as snapshots of the data folder.
    pub snapshots: bool,
}

#[derive(Clone, Debug)]
pub struct Started {
    /// Seconds from the start of the process to the first answer.
    pub elapsed_s: f64,
}
