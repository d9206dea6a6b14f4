//! The servers of an experiment: each got and ready to be started.
//!
//! Goal: from a build's name to something that implements `Server`, with what is known of it before any data is loaded.

use super::{Progress, RunError, settings};
use host::{Home, Leases};
use record::ServerIdentity;
use server::{Cache, Distribution, External, Managed, Server, Sqlite, StartRequest};
use spec::{BuildSpec, ServerSpec};
use std::path::Path;

/// A server of the experiment. A new instance is made for each start-up of a trial.
pub struct Provided {
    pub spec: ServerSpec,
    pub identity: ServerIdentity,
    /// None for an external server and for SQLite.
    pub distribution: Option<Distribution>,
    /// What the protocol sets in every trial, as far as this server knows it.
    pub baseline: Vec<(String, String)>,
    /// Of an external server, as it runs.
    pub max_connections: Option<u32>,
    leases: Leases,
}

impl Provided {
    /// Gets the build, from the cache or from where it comes from.
    pub fn get(
        spec: &ServerSpec,
        home: &Home,
        leases: &Leases,
        progress: &Progress,
    ) -> Result<Provided, RunError> {
        let distribution = match &spec.build {
            BuildSpec::External(_) | BuildSpec::Sqlite => None,
            build => Some(Cache::new(home).get(build, leases, &|line| progress.say(line))?),
        };
        let (identity, max_connections) = match (&distribution, &spec.build) {
            (Some(distribution), _) => (identity(distribution), None),
            (None, BuildSpec::External(dsn)) => ask(&spec.name, External::new(dsn.clone()))?,
            (None, _) => (in_process(), None),
        };
        let baseline = distribution
            .as_ref()
            .map_or(Ok(Vec::new()), |distribution| {
                baseline(distribution, leases)
            })?;
        Ok(Provided {
            spec: spec.clone(),
            identity,
            distribution,
            baseline,
            max_connections,
            leases: leases.clone(),
        })
    }

    /// A new instance with the folder for its socket, log and temporary files.
    pub fn instance(&self, folder: &Path) -> Box<dyn Server> {
        match (&self.distribution, &self.spec.build) {
            (Some(distribution), _) => Box::new(Managed::new(
                distribution.clone(),
                self.leases.clone(),
                folder.to_path_buf(),
            )),
            (None, BuildSpec::External(dsn)) => Box::new(External::new(dsn.clone())),
            (None, _) => Box::new(Sqlite::new()),
        }
    }

    /// MySQL before 5.6.8 and MariaDB 5.5 do not start with redo log files of another size than they are told.
    pub fn keeps_redo_log_size(&self) -> bool {
        self.distribution
            .as_ref()
            .is_some_and(|build| build.version < (5, 6, 8))
    }

    /// What a snapshot's name depends on: the same binary, the same data files.
    pub fn key(&self) -> String {
        let binary = self.identity.binary_sha256.get(..12).unwrap_or("");
        let name = format!("{}-{}-{binary}", self.identity.build, self.identity.version);
        name.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || ".-_@".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect()
    }
}

fn baseline(
    distribution: &Distribution,
    leases: &Leases,
) -> Result<Vec<(String, String)>, RunError> {
    let known = distribution.known_settings(leases)?;
    let all = settings::BASELINE
        .iter()
        .filter(|(name, _)| known.knows(name));
    Ok(all
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect())
}

fn identity(distribution: &Distribution) -> ServerIdentity {
    let (major, minor, patch) = distribution.version;
    ServerIdentity {
        build: distribution.build.clone(),
        version: format!("{major}.{minor}.{patch}"),
        comment: distribution.version_text.clone(),
        binary_sha256: distribution.binary_sha256.clone(),
    }
}

/// A server that prony does not start can be asked at once: who it is, and how many connections it takes.
fn ask(name: &str, mut server: External) -> Result<(ServerIdentity, Option<u32>), RunError> {
    server.start(&StartRequest::default())?;
    let most = server
        .connect()?
        .query("SELECT @@max_connections")?
        .first_text();
    let identity = server
        .identity()
        .cloned()
        .ok_or_else(|| RunError::Failed(format!("server {name}: it does not say what it is")))?;
    Ok((identity, most.and_then(|most| most.parse().ok())))
}

fn in_process() -> ServerIdentity {
    ServerIdentity {
        build: "sqlite".into(),
        version: rusqlite::version().into(),
        comment: "in process".into(),
        binary_sha256: String::new(),
    }
}
