//! The trait `Workload`: the interface between a workload and a run.
//!
//! Purpose: a workload describes itself and provides data, queries, a load and an audit; the run needs nothing else.
//! Nothing here is on a measured path. Boundaries: `load` drives operations, `run` decides when to load, measure and audit.

use crate::answers::Reference;
use crate::load_outcome::{LoadError, Loaded, Progress};
use crate::loader::Connect;
use crate::query::Operation;
use crate::schema;
use crate::schema::held::Held;
use crate::schema::preload::Preloaded;
use crate::schema::state::{AllowDrop, DatasetState};
use crate::schema::witness::Witness;
use load::{Drivable, Tally};
use record::AuditNote;
use server::{ServerError, Session};
use spec::TargetKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One section of an experiment file: `[workload.NAME]` with a level's changes.
pub trait Workload: Send + Sync {
    /// One line for people: `Star Schema Benchmark, scale 0.1, InnoDB, ANSI joins`.
    fn summary(&self) -> String;

    /// What the workload runs on.
    fn target(&self) -> TargetKind {
        TargetKind::Server
    }

    /// The tables to load before the first trial; None if the workload needs none.
    fn data(&self) -> Option<&dyn Dataset> {
        None
    }

    /// The queries of a round; None if the workload has only operations for a timed load.
    fn queries(&self) -> Option<&dyn Queries> {
        None
    }

    /// The user's own statements on the tables, as a server can prepare them.
    fn written(&self) -> Vec<Operation> {
        Vec::new()
    }

    /// The files to make in an empty folder before a trial; None if the workload needs none.
    fn files(&self) -> Option<&dyn Files> {
        None
    }

    /// The number of homes in the data to which clients are dealt in turn by their numbers. The clients of one home stay on one machine
    /// if several machines share the load. None: clients have no home.
    fn homes(&self) -> Option<u32> {
        None
    }

    /// How clients pause around their operations, which they do in a closed loop only. None: they do not pause.
    fn pauses(&self) -> Option<Pausing> {
        None
    }

    /// Whether operations that only read go to the readers of a target. If not, clients have one connection each.
    fn routes_reads(&self) -> bool {
        false
    }

    /// Whether no operation and no query changes data. Queries of rounds only read.
    fn only_reads(&self) -> bool {
        self.queries().is_some()
    }

    /// One timed load on this target. None if the workload has only queries, or runs on another kind of target.
    fn work(&self, _target: &Target, _seed: u64) -> Option<Work> {
        None
    }
}

/// Pauses of clients around their operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pausing {
    /// The key that requests them, with its value.
    pub key: &'static str,
    /// The mean pause between two operations of a client (s).
    pub mean_s: f64,
}

/// One timed load: its operations and the audit that belongs to them.
pub struct Work {
    pub driver: Box<dyn Drivable>,
    /// Has what the clients of `driver` remember. None if the workload has no audit.
    pub audit: Option<Box<dyn Auditor>>,
    /// Rows of the clients of `driver` that another connection looks for after the load.
    pub witness: Option<Witness>,
}

impl Work {
    pub(crate) fn without_audit(driver: impl Drivable + 'static) -> Work {
        Work {
            driver: Box::new(driver),
            audit: None,
            witness: None,
        }
    }
}

/// Checks the data of one timed load.
pub trait Auditor: Send {
    /// Reads what the audit must know of the data before the load starts. `temporary`: a folder for files that end with the audit.
    fn before(&mut self, _place: Audited, _temporary: &Path) -> Result<(), AuditError> {
        Ok(())
    }

    /// Checks the data after the load. No client is connected any more. None if there is nothing to report.
    fn audit(
        self: Box<Self>,
        place: Audited,
        ended: &Ended,
    ) -> Result<Option<AuditNote>, AuditError>;
}

/// The load that an audit checks.
pub struct Ended<'a> {
    /// The operations of the whole load, warm-up included, in the order of the driver's operations.
    pub tallies: &'a [Tally],
    /// When the server was killed or lost its power, until its next process was launched: nanoseconds since the start of the load,
    /// ascending. What a client notes in between, the old process has still answered.
    pub crashes_ns: &'a [Range<u64>],
}

/// The nodes for operations that only read.
#[derive(Clone)]
pub struct Readers {
    /// As for the other operations, with the endpoints of these nodes.
    pub login: wire::Login,
    /// Whether each client reads from all of them in turn, and not from one.
    pub in_turn: bool,
}

/// Connections to further nodes of a server, by the nodes' numbers.
pub type Further<'a> = &'a [(u32, Connect<'a>)];

/// Where a load runs.
pub enum Target {
    Server {
        /// The workload replaces its schema by its own.
        login: wire::Login,
        /// Where operations go that only read; None: where all go.
        readers: Option<Box<Readers>>,
        /// Statements that each connection runs once it is open: `SET SESSION ...`.
        session: Vec<String>,
    },
    Folder(PathBuf),
}

impl Target {
    pub fn kind(&self) -> TargetKind {
        match self {
            Target::Server { .. } => TargetKind::Server,
            Target::Folder(_) => TargetKind::Folder,
        }
    }
}

/// What an audit inspects.
#[derive(Clone, Copy)]
pub enum Audited<'a> {
    Server {
        /// Opens a connection in the workload's schema.
        connect: Connect<'a>,
        /// The same for each further node, which must hold the same data, by its number.
        further: Further<'a>,
    },
    Folder(&'a Path),
}

/// The files of a workload in a folder.
pub trait Files: Send + Sync {
    /// The space that they take.
    fn bytes(&self) -> u64;
    /// What a load can write until more than a tenth of it goes to blocks that it has written before.
    fn new_bytes(&self) -> u64;
    /// Whether every byte is written when they are made. If not, their blocks are only allocated.
    fn are_written(&self) -> bool;
    /// Whether the load bypasses the page cache.
    fn are_direct(&self) -> bool;
    /// Operations that each client has in flight.
    fn depth(&self) -> u32;
    /// Bytes that reads and writes transferred in a load, from how its operations ended, in the driver's order.
    fn transferred_bytes(&self, tallies: &[Tally]) -> u64;
    /// What happens to them before the load.
    fn precondition(&self) -> Option<Precondition>;
    /// Makes them in the empty folder and waits until they are on disk. Calls `progress` with the bytes that were written so far, and
    /// ends soon once `cancel` is true. Returns their paths.
    fn make(
        &self,
        folder: &Path,
        progress: &dyn Fn(u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<Vec<PathBuf>, FilesError>;
    /// Writes every byte of the made files once more, with data of its own for each pass, and waits until it is on disk. `progress` and
    /// `cancel` as in `make`.
    fn overwrite(
        &self,
        folder: &Path,
        pass: u32,
        progress: &dyn Fn(u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), FilesError>;
}

/// What happens to files between their making and the load, so that a device is measured in its steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precondition {
    /// How often every byte is written, with the first time.
    pub passes: u32,
    /// The length of a round of the load. Rounds follow until they are steady.
    pub round: Duration,
}

/// Why files could not be made.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("the file system of {} has no direct I/O; write direct = false, or choose another folder", .0.display())]
    NoDirect(PathBuf),
    #[error("cannot make {}: {cause}", path.display())]
    Failed {
        path: PathBuf,
        cause: std::io::Error,
    },
    /// What the section needs and this machine lacks, and the way out.
    #[error("{0}")]
    Unusable(String),
    #[error("interrupted")]
    Cancelled,
}

/// Why an audit has no result.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("cannot read {}: {cause}", path.display())]
    Folder {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("what the clients remember cannot be kept in {}: {cause}", path.display())]
    Ledger {
        path: PathBuf,
        cause: std::io::Error,
    },
}

/// The queries of a round.
pub trait Queries: Send + Sync {
    /// In the order of a round.
    fn operations(&self) -> Vec<Operation>;
    /// The right answer of an operation; None if it is not known for this data.
    fn reference(&self, operation: &str) -> Option<Reference>;
}

/// The tables of a workload on a server.
pub trait Dataset: Send + Sync {
    /// Identifies the loaded tables: workload, scale, engine, schema text and generator, but not the queries. Fit for a file name.
    fn fingerprint(&self) -> String;
    /// Identifies the rows alone, whatever engine and indexes hold them: a query has the same answer on all tables with these rows.
    fn rows_key(&self) -> String {
        self.fingerprint()
    }
    /// One line for people: `Star Schema Benchmark, scale 0.1, InnoDB`.
    fn summary(&self) -> String;
    /// prony's own schema; prony touches nothing outside it.
    fn schema(&self) -> &str;
    /// Rough costs, known before anything is loaded.
    fn estimate(&self) -> Estimate;
    /// Makes the schema the session's default. Does nothing in SQLite, where the file is the schema.
    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        schema::enter(session, self.schema())
    }
    /// Whether the tables are the user's own on a running server, so that prony neither creates nor changes them.
    fn is_theirs(&self) -> bool {
        false
    }
    /// Whether nothing makes tables: the workload names none.
    fn is_empty(&self) -> bool {
        false
    }
    /// The storage engine of all tables, as CREATE TABLE has it; None where the user's own statements choose it.
    fn engine(&self) -> Option<&str> {
        None
    }
    /// What the server already holds of the data.
    fn state(&self, session: &mut Session) -> Result<DatasetState, ServerError>;
    /// What the tables hold now, compared with what was loaded. Counts the rows of prony's own tables exactly.
    fn held(&self, session: &mut Session) -> Result<Held, ServerError>;
    /// Whether [`Dataset::state`] notices every change that a timed load makes.
    fn knows_changes(&self) -> bool {
        false
    }
    /// Checks that the load changes nothing outside prony's schema, before it runs on a server that others use. Only statements of the
    /// user's own can.
    fn confined(&self, _session: &mut Session) -> Result<(), LoadError> {
        Ok(())
    }
    /// Creates the empty tables and the empty marker. Where the schema already holds tables of this workload it drops those, and only
    /// those, if allowed; otherwise it fails with [`LoadError::Exists`] or [`LoadError::Theirs`].
    fn create(&self, session: &mut Session, allow: &AllowDrop) -> Result<(), LoadError>;
    /// Fills the empty tables, updates the optimizer statistics and writes the marker last.
    /// `connect` opens further connections, `progress` is called several times a second, `cancel` ends the load soon.
    fn load(
        &self,
        connect: Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError>;
    /// The same tables for several processes that fill them together; None if one process has to.
    fn divided(&self) -> Option<&dyn Divided> {
        None
    }
    /// Counts the rows of every table and reads the marker.
    fn verify(&self, session: &mut Session) -> Result<(), LoadError>;
    /// Checks rules about the loaded rows that a count does not show. `connect` opens connections.
    fn verify_rules(&self, _connect: Connect<'_>) -> Result<(), LoadError> {
        Ok(())
    }
    /// What a timed load leaves for the next trial on a server without snapshots.
    fn after_load(&self) -> AfterLoad {
        AfterLoad::Keep
    }
    /// The collations of its text columns, where servers may have given them different ones.
    fn collations(&self, _session: &mut Session) -> Result<Vec<String>, ServerError> {
        Ok(Vec::new())
    }
    /// A hash of the columns, indexes and engines of its tables, where the user's statements define them; None where prony does, for the
    /// fingerprint says it.
    fn definitions(&self, _session: &mut Session) -> Result<Option<String>, ServerError> {
        Ok(None)
    }
    /// A hash of the triggers, foreign keys and names of views in their schema, likewise.
    fn objects(&self, _session: &mut Session) -> Result<Option<String>, ServerError> {
        Ok(None)
    }
    /// Bytes of data and indexes as the server reports them; relative settings refer to them.
    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError>;
    /// Reads every index of every table into the server's memory, and checks whether they stayed in the buffer pool.
    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError>;
}

/// Tables that several processes fill together, instead of [`Dataset::load`] in one.
pub trait Divided: Send + Sync {
    /// Fills part `index`, from 0, of `of` equal parts of the empty tables. The arguments are those of [`Dataset::load`].
    fn load_part(
        &self,
        index: u32,
        of: u32,
        connect: Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError>;
    /// Once all parts are in: builds the indexes that come after the rows, updates the optimizer statistics and writes the marker.
    fn finish_parts(
        &self,
        connect: Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError>;
}

/// What happens to tables that a timed load has changed, on a server without snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLoad {
    /// The next trial uses them, if their rows and indexes are as loaded.
    Keep,
    /// The next trial is refused.
    Refuse,
    /// They are dropped and loaded anew before the next trial.
    Reload,
}

/// Rough costs for `check`, from measurements on two cores (see the implementations).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub rows: u64,
    /// In the server, including indexes.
    pub data_bytes: u64,
    /// As the generator writes them.
    pub text_bytes: u64,
    pub load_s: f64,
    pub round_cold_s: f64,
    pub round_hot_s: f64,
}
