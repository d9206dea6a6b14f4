//! A workload for tests that needs neither SQL nor time.
//!
//! Purpose: tests of `run` drive provisioning, rounds, loads, audits and every failure path in milliseconds, on a `server::Fake`
//! or on a folder. Every field is a script: take [`Toy::rounds`], [`Toy::timed`] or [`Toy::on_folder`] and change what the test is
//! about. Boundaries: no experiment file can name it.

use load::{Ending, Failure, Io, Outcome, Placement, Request, Tally};
use record::AuditNote;
use server::{ServerError, Session};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use workload::answers::Reference;
use workload::{
    AllowDrop, AuditError, Audited, Auditor, Dataset, DatasetState, Ended, Estimate, Held,
    LoadError, Loaded, Operation, Preloaded, Progress, Queries, Target, TargetKind, Unit, Work,
    Workload,
};

/// prony's own schema for this workload.
pub(crate) const SCHEMA: &str = "prony_toy";
const TABLE: &str = "toy";
/// What a folder's load writes: a file for each client, a byte for each operation.
const FILE: &str = "client-";
/// The code of an operation or a session that cannot write its file.
const CANNOT_WRITE: u16 = 60_001;

/// See [`Auditor::audit`].
pub(crate) type AuditBy = fn(Audited, &Ended) -> Result<AuditNote, AuditError>;

/// An audit by script.
struct ToyAudit(AuditBy);

impl Auditor for ToyAudit {
    fn audit(
        self: Box<Self>,
        place: Audited,
        ended: &Ended,
    ) -> Result<Option<AuditNote>, AuditError> {
        self.0(place, ended).map(Some)
    }
}

/// A workload by script.
pub(crate) struct Toy {
    pub target: TargetKind,
    pub data: Option<ToyData>,
    /// Names of the queries of a round; empty: no rounds. Their SQL is [`sql`].
    pub queries: Vec<&'static str>,
    /// The right answer of every query; None: answers are not checked.
    pub reference: Option<Reference>,
    /// Names of the operations of a timed load, in turn; empty: no timed load.
    pub operations: Vec<&'static str>,
    /// How long an operation takes.
    pub takes: Duration,
    /// The outcome of an operation.
    pub outcome: fn(&Request) -> Outcome,
    /// Whether a client can open its session.
    pub opens: fn(client: u32) -> Result<(), Failure>,
    pub audit: Option<AuditBy>,
    /// Whether its operations leave the data as it is.
    pub only_reads: bool,
}

impl Toy {
    /// Two queries on a server with 10 rows.
    pub(crate) fn rounds() -> Toy {
        Toy {
            target: TargetKind::Server,
            data: Some(ToyData::new(10)),
            queries: vec!["Q1", "Q2"],
            reference: None,
            operations: Vec::new(),
            takes: Duration::from_millis(1),
            outcome: |_| Outcome::Done,
            opens: |_| Ok(()),
            audit: None,
            only_reads: false,
        }
    }

    /// Two operations of 1 ms for a load on a server with 10 rows. No client connects to the server.
    pub(crate) fn timed() -> Toy {
        Toy {
            queries: Vec::new(),
            operations: vec!["read", "write"],
            ..Toy::rounds()
        }
    }

    /// One operation of 1 ms that writes a byte to a file in the folder. The audit counts the bytes.
    pub(crate) fn on_folder() -> Toy {
        Toy {
            target: TargetKind::Folder,
            data: None,
            operations: vec!["write"],
            audit: Some(count_bytes),
            ..Toy::timed()
        }
    }
}

impl Workload for Toy {
    fn summary(&self) -> String {
        match &self.data {
            Some(data) => data.summary(),
            None => "toy".into(),
        }
    }

    fn target(&self) -> TargetKind {
        self.target
    }

    fn data(&self) -> Option<&dyn Dataset> {
        Some(self.data.as_ref()?)
    }

    fn queries(&self) -> Option<&dyn Queries> {
        if self.queries.is_empty() {
            None
        } else {
            Some(self)
        }
    }

    fn only_reads(&self) -> bool {
        self.only_reads || !self.queries.is_empty()
    }

    fn work(&self, target: &Target, _seed: u64) -> Option<Work> {
        if self.operations.is_empty() || target.kind() != self.target {
            return None;
        }
        let driver = ToyDriver {
            operations: self.operations.clone(),
            takes: self.takes,
            outcome: self.outcome,
            opens: self.opens,
            folder: match target {
                Target::Folder(folder) => Some(folder.clone()),
                Target::Server { .. } => None,
            },
        };
        let audit = self.audit.map(|by| Box::new(ToyAudit(by)) as _);
        Some(Work {
            driver: Box::new(driver),
            audit,
            witness: None,
        })
    }
}

impl Queries for Toy {
    fn operations(&self) -> Vec<Operation> {
        let operation = |name: &&str| Operation::new(*name, sql(name));
        self.queries.iter().map(operation).collect()
    }

    fn reference(&self, _operation: &str) -> Option<Reference> {
        self.reference.clone()
    }
}

/// The SQL of a query, for a fake server's script.
pub(crate) fn sql(query: &str) -> String {
    format!("SELECT '{query}' FROM {TABLE}")
}

/// The audit of [`Toy::on_folder`]: every operation that ended has written its byte, and only unknown ones may have written more.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn count_bytes(place: Audited, ended: &Ended) -> Result<AuditNote, AuditError> {
    let bytes = match place {
        Audited::Folder(folder) => written(folder)?,
        Audited::Server { .. } => 0,
    };
    let driven: Tally = ended.tallies.iter().sum();
    let (done, unknown) = (driven.done(), driven[Ending::Unknown]);
    let mut violations = Vec::new();
    if bytes < done {
        violations.push(format!(
            "{done} operations were done, {bytes} bytes are there"
        ));
    }
    if bytes > done + unknown {
        violations.push(format!(
            "{} bytes more than operations",
            bytes - done - unknown
        ));
    }
    Ok(AuditNote {
        acknowledged: done,
        unknown,
        violations,
        ..AuditNote::default()
    })
}

fn written(folder: &Path) -> Result<u64, AuditError> {
    let failed = |cause| AuditError::Folder {
        path: folder.to_path_buf(),
        cause,
    };
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(FILE) {
            bytes += entry.metadata().map_err(failed)?.len();
        }
    }
    Ok(bytes)
}

/// Data that is only counted. It sends one statement a step, so that a fake server can refuse or die anywhere, and believes any reply
/// that is empty: one `ToyData` then stands for the data of one server. A reply with a cell says what the server holds instead.
pub(crate) struct ToyData {
    pub rows: u64,
    /// Why a load fails after half of the rows; None: it succeeds.
    pub fails: Option<fn() -> LoadError>,
    pub engine: &'static str,
    loaded: AtomicBool,
}

impl ToyData {
    pub(crate) fn new(rows: u64) -> ToyData {
        ToyData {
            rows,
            fails: None,
            engine: "InnoDB",
            loaded: AtomicBool::new(false),
        }
    }

    /// Data whose load fails after half of the rows.
    pub(crate) fn failing(rows: u64, fails: fn() -> LoadError) -> ToyData {
        ToyData {
            fails: Some(fails),
            ..ToyData::new(rows)
        }
    }
}

impl Dataset for ToyData {
    fn fingerprint(&self) -> String {
        format!("toy-{}", self.rows)
    }

    fn summary(&self) -> String {
        format!("toy, {} rows", self.rows)
    }

    fn schema(&self) -> &str {
        SCHEMA
    }

    fn engine(&self) -> Option<&str> {
        Some(self.engine)
    }

    fn estimate(&self) -> Estimate {
        Estimate {
            rows: self.rows,
            data_bytes: self.rows,
            text_bytes: self.rows,
            load_s: 0.001,
            round_cold_s: 0.001,
            round_hot_s: 0.001,
        }
    }

    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        session.execute(&format!("USE {SCHEMA}")).map(drop)
    }

    /// A cell in the reply is the fingerprint of the loaded data.
    fn state(&self, session: &mut Session) -> Result<DatasetState, ServerError> {
        let reply = session.query(&format!("SHOW TABLES FROM {SCHEMA}"))?;
        Ok(match reply.first_text() {
            Some(fingerprint) => DatasetState::Complete(fingerprint),
            None if self.loaded.load(SeqCst) => DatasetState::Complete(self.fingerprint()),
            None => DatasetState::Absent,
        })
    }

    fn held(&self, _session: &mut Session) -> Result<Held, ServerError> {
        Ok(Held {
            rows: self.rows,
            ..Held::default()
        })
    }

    fn create(&self, session: &mut Session, allow: &AllowDrop) -> Result<(), LoadError> {
        let failed = LoadError::during("The toy's table cannot be created");
        let reply = session.query(&format!("SHOW TABLES FROM {SCHEMA}"));
        let present = reply.map_err(&failed)?.first_text();
        if let Some(what) = present.filter(|_| *allow == AllowDrop::No) {
            let schema = SCHEMA.to_string();
            return Err(LoadError::Exists { schema, what });
        }
        self.loaded.store(false, SeqCst);
        let created = session.execute(&format!("CREATE TABLE {TABLE} (n INT)"));
        created.map(drop).map_err(failed)
    }

    fn load(
        &self,
        connect: &(dyn Fn() -> Result<Session, ServerError> + Sync),
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let failed = LoadError::during("The toy's table cannot be loaded");
        let mut session = connect().map_err(&failed)?;
        for rows in [self.rows / 2, self.rows] {
            if cancel() {
                return Err(LoadError::Cancelled {
                    rows,
                    rows_total: self.rows,
                });
            }
            let insert = session.execute(&format!("INSERT INTO {TABLE} VALUES ({rows})"));
            insert.map_err(&failed)?;
            progress(Progress {
                table: TABLE.into(),
                rows,
                rows_total: self.rows,
                unit: Unit::Rows,
                elapsed_s: 0.001,
                idle_s: 0.0,
                has_tables: false,
            });
            if let Some(fails) = self.fails {
                return Err(fails());
            }
        }
        self.loaded.store(true, SeqCst);
        Ok(Loaded {
            rows: self.rows,
            bytes: self.rows,
            elapsed_s: 0.001,
            index_s: BTreeMap::new(),
            finish_s: 0.0,
            method: "toy".into(),
            connections: 1,
            tables: BTreeMap::from([(TABLE.to_string(), (self.rows, 0.001))]),
            events: Vec::new(),
        })
    }

    /// A cell in the reply is the number of rows.
    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        let failed = LoadError::during("The toy's rows cannot be counted");
        let reply = session.query(&format!("SELECT COUNT(*) FROM {TABLE}"));
        let expected = self.rows.to_string();
        match reply.map_err(failed)?.first_text() {
            Some(counted) if counted != expected => Err(LoadError::Wrong {
                table: TABLE.into(),
                says: format!("it has {counted} rows but should have {expected}"),
            }),
            _ => Ok(()),
        }
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        session.query(&format!("SHOW TABLE STATUS FROM {SCHEMA}"))?;
        Ok(self.rows)
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        session.query(&sql("all"))?;
        Ok(Preloaded {
            indexes: 1,
            pages_read_again: None,
            held: None,
        })
    }
}

/// The hot side: it sleeps, writes a byte if it has a folder, and ends as the script says.
struct ToyDriver {
    operations: Vec<&'static str>,
    takes: Duration,
    outcome: fn(&Request) -> Outcome,
    opens: fn(u32) -> Result<(), Failure>,
    folder: Option<PathBuf>,
}

struct ToySession {
    io: Io,
    file: Option<File>,
}

impl load::Workload for ToyDriver {
    type Session = ToySession;

    fn placement(&self) -> Placement {
        match self.folder {
            Some(_) => Placement::Threads,
            None => Placement::Reactors,
        }
    }

    fn operations(&self) -> Vec<String> {
        self.operations.iter().map(ToString::to_string).collect()
    }

    fn pick(&self, number: u64) -> u16 {
        (number % self.operations.len() as u64) as u16
    }

    async fn open(&self, io: &Io, client: u32) -> Result<ToySession, Failure> {
        (self.opens)(client)?;
        let append = |folder: &PathBuf| {
            let path = folder.join(format!("{FILE}{client}"));
            let file = File::options().append(true).create(true).open(&path);
            file.map_err(|error| failure(&path, &error))
        };
        Ok(ToySession {
            io: io.clone(),
            file: self.folder.as_ref().map(append).transpose()?,
        })
    }

    async fn operate(&self, session: &mut ToySession, request: &Request) -> Outcome {
        if !self.takes.is_zero() {
            let until_ns = session.io.now_ns() + self.takes.as_nanos() as u64;
            session.io.sleep_until(until_ns).await;
        }
        let outcome = (self.outcome)(request);
        match (&mut session.file, outcome) {
            (Some(file), Outcome::Done) => match file.write_all(b".") {
                Ok(()) => Outcome::Done,
                Err(_) => Outcome::Failed(CANNOT_WRITE),
            },
            _ => outcome,
        }
    }

    async fn close(&self, _: ToySession) {}
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure {
        code: CANNOT_WRITE,
        text: format!("cannot write {}: {error}", path.display()),
        transient: false,
    }
}
