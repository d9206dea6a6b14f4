//! The trait `Node`: one server process.
//!
//! Implementations: `managed` (prony starts and stops it), `external` (a DSN), `sqlite` (in process) and `fake` (for fast
//! tests). SQL belongs to the crates `workload` and `observe`.

use crate::{ServerError, Session, StartRequest};
use record::ServerIdentity;
use spec::Dsn;
use std::path::PathBuf;

/// Opens a connection as the administrator, any number of times and from any thread.
pub type Connector = Box<dyn Fn() -> Result<Session, ServerError> + Send + Sync>;

/// One server process. A handle shared by the trial, its events and its observers. Every method may be called from any
/// thread, even while another thread waits for a start.
pub trait Node: Send + Sync {
    /// What this node supports; the protocol marks everything else "not available".
    fn abilities(&self) -> Abilities;
    /// Known after the first start.
    fn identity(&self) -> Option<ServerIdentity>;
    /// Starts the node on the data folder of the request and waits until it answers.
    /// For an external server: connects and checks that it answers.
    ///
    /// # Errors
    /// The node is already running, ended or was killed before it answered, or did not answer in time.
    fn start(&self, request: &StartRequest) -> Result<Started, ServerError>;
    /// The last start request, to start the node again after a kill or a stop; None if prony never started it.
    fn started_with(&self) -> Option<StartRequest> {
        None
    }
    /// Stops the node cleanly and leaves a data folder that can be copied. Does nothing if it is not running.
    fn stop(&self) -> Result<(), ServerError>;
    /// Sends SIGKILL and waits until the process has ended. Does nothing if it is not running.
    fn kill(&self) -> Result<(), ServerError>;
    /// Opens a connection as the administrator: autocommit on, no schema chosen.
    fn connect(&self) -> Result<Session, ServerError> {
        self.connector()?()
    }
    /// A function that opens such connections from any thread, also after this node is restarted.
    ///
    /// # Errors
    /// The node was never started.
    fn connector(&self) -> Result<Connector, ServerError>;
    /// The address of the node, including the password. It is known from the first start on and never changes, so that a
    /// client that reconnects after a restart finds the same server. None if the node takes no connections.
    fn endpoint(&self) -> Option<Dsn> {
        None
    }
    /// The process id, if prony started the process and it is running.
    fn pid(&self) -> Option<u32> {
        None
    }
    /// The folder with the data files, if prony may read it.
    fn data_folder(&self) -> Option<PathBuf> {
        None
    }
    /// The last lines of the server's log, for error messages.
    fn log_tail(&self, _lines: usize) -> Vec<String> {
        Vec::new()
    }
    /// The server's log over all starts, if prony may read it.
    fn log_path(&self) -> Option<PathBuf> {
        None
    }
    /// Why the process ended although prony did not stop it; None while it is running, or if prony cannot know.
    fn exit_reason(&self) -> Option<String> {
        None
    }
    /// Settings of the last start whose value in force is not the requested one.
    fn adjusted(&self, _session: &mut Session) -> Result<Vec<Adjusted>, ServerError> {
        Ok(Vec::new())
    }
}

/// What a server supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// prony can restart it, so rounds can be cold.
    pub restart: bool,
    /// prony can apply `settings`.
    pub settings: bool,
    /// It understands MySQL's SET SESSION, SHOW STATUS, tabular EXPLAIN and LOAD DATA.
    pub mysql: bool,
    /// Datasets can be kept as snapshots of the data folder.
    pub snapshots: bool,
}

/// The result of a start.
#[derive(Clone, Debug)]
pub struct Started {
    /// Seconds from launching the process to its first answer.
    pub elapsed_s: f64,
}

/// A setting whose value in force is not the requested one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjusted {
    pub name: String,
    pub requested: String,
    pub effective: String,
}
