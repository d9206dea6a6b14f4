//! The trait `Provider`: creates the servers of trials, and describes them before the first start.
//!
//! Implementations: `Build` (a build in the cache), `ByDsn` (an external server), `InProcess` (SQLite) and `FakeProvider`
//! (for fast tests). Datasets and trials belong to `prony::run`.

use crate::cluster::{self, Member};
use crate::fake::reply;
use crate::managed::adjusted;
use crate::{
    Abilities, Cache, Distribution, External, Fake, Managed, Node, Reply, Server, ServerError,
    Session, SettingTable, Sqlite, StartRequest,
};
use host::{Home, Leases};
use record::ServerIdentity;
use spec::known::Known;
use spec::plain;
use spec::{BuildSpec, ClusterSpec, Dsn, Topology, switches};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Creates servers of one build, ready to start.
pub trait Provider: Send + Sync {
    /// The server's identity as known before its first start.
    fn identity(&self) -> &ServerIdentity;
    /// The features that its servers support.
    fn abilities(&self) -> Abilities {
        self.server(Path::new("")).first().abilities()
    }
    /// Creates a server that is not started; `folder` is for its sockets, logs and temporary files.
    fn server(&self, folder: &Path) -> Server;
    /// Creates a server of several nodes that is not started.
    ///
    /// # Errors
    /// This kind of server cannot form the topology, or this machine cannot make its network.
    fn cluster(&self, spec: &ClusterSpec, _folder: &Path) -> Result<Server, ServerError> {
        Err(ServerError::Unusable(format!(
            "{}: prony does not start it, so it cannot form topology = \"{}\"",
            self.identity().build,
            spec.topology
        )))
    }
    /// The settings that prony can start it with; None if prony does not configure it.
    fn settings(&self) -> Result<Option<SettingTable>, ServerError> {
        Ok(None)
    }
    /// Initialises an empty data folder with these settings. Does nothing if the server creates its own.
    fn initialise(
        &self,
        _data_folder: &Path,
        _layout: &[(String, String)],
    ) -> Result<(), ServerError> {
        Ok(())
    }
    /// The settings, session variables, switches and hints that a trial can use. `Known::server` stays empty.
    fn known(&self) -> Result<Known, ServerError>;
    /// The default of `max_connections`; None if connections are not limited.
    fn max_connections(&self) -> Result<Option<u32>, ServerError> {
        Ok(None)
    }
    /// Whether it refuses to start if its redo log files differ in size from its settings: MySQL before 5.6.8 and MariaDB
    /// 5.5.
    fn keeps_redo_log_size(&self) -> bool {
        false
    }
}

/// Returns the provider of a build, and downloads the build if the cache lacks it. An external server is queried for its
/// identity.
///
/// # Errors
/// The build is not available, or the external server does not answer.
pub fn provider(
    build: &BuildSpec,
    home: &Home,
    leases: &Leases,
    say: &dyn Fn(&str),
) -> Result<Box<dyn Provider>, ServerError> {
    Ok(match build {
        BuildSpec::External(dsn) => Box::new(ByDsn::connect(dsn)?),
        BuildSpec::Sqlite => Box::new(InProcess::new()),
        build => {
            let cache = Cache::new(home);
            let distribution = cache.get(build, leases, say)?;
            Box::new(Build::new(distribution, cache, leases))
        }
    })
}

/// A build in the cache.
struct Build {
    distribution: Distribution,
    leases: Leases,
    identity: ServerIdentity,
    /// Read from the cache, or from the server, when it is first needed.
    table: OnceLock<SettingTable>,
    cache: Cache,
    /// Downloaded when a cluster first needs it.
    galera: OnceLock<Result<PathBuf, String>>,
}

impl Build {
    fn new(distribution: Distribution, cache: Cache, leases: &Leases) -> Build {
        let (major, minor, patch) = distribution.version;
        Build {
            identity: ServerIdentity {
                build: distribution.build.clone(),
                version: format!("{major}.{minor}.{patch}"),
                comment: distribution.version_text.clone(),
                binary_sha256: distribution.binary_sha256.clone(),
            },
            leases: leases.clone(),
            distribution,
            table: OnceLock::new(),
            cache,
            galera: OnceLock::new(),
        }
    }

    fn table(&self) -> Result<&SettingTable, ServerError> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let table = self.distribution.known_settings(&self.leases)?;
        Ok(self.table.get_or_init(|| table))
    }

    /// The library of Galera, from the machine or from the cache.
    fn galera(&self) -> Result<PathBuf, ServerError> {
        let known = self.galera.get_or_init(|| {
            let found = (self.cache).galera(&self.distribution.build, &self.leases, &|_| ());
            found.map_err(|error| error.to_string())
        });
        known.clone().map_err(ServerError::Unusable)
    }

    fn node(&self, folder: &Path) -> Managed {
        let (build, leases) = (self.distribution.clone(), self.leases.clone());
        Managed::new(build, leases, folder.to_path_buf())
    }
}

impl Provider for Build {
    fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn server(&self, folder: &Path) -> Server {
        Server::of(self.node(folder))
    }

    fn cluster(&self, spec: &ClusterSpec, folder: &Path) -> Result<Server, ServerError> {
        let library = match spec.topology {
            Topology::Galera => Some(self.galera()?),
            Topology::Replica | Topology::Group => None,
        };
        let node = |member: &Member, folder| {
            let (build, leases) = (self.distribution.clone(), self.leases.clone());
            Arc::new(Managed::member(build, leases, folder, member.clone())) as Arc<dyn Node>
        };
        cluster::server(
            &self.distribution,
            spec,
            library,
            folder,
            &self.leases,
            node,
        )
    }

    fn settings(&self) -> Result<Option<SettingTable>, ServerError> {
        self.table().cloned().map(Some)
    }

    fn initialise(
        &self,
        data_folder: &Path,
        layout: &[(String, String)],
    ) -> Result<(), ServerError> {
        self.distribution
            .initialise(&self.leases, data_folder, layout)
    }

    fn known(&self) -> Result<Known, ServerError> {
        let table = self.table()?;
        Ok(Known {
            server: String::new(),
            switches: table.switches().map(str::to_string).collect(),
            variables: table.names().map(plain).collect(),
            takes_settings: true,
            takes_session: true,
            takes_hints: has_hints(&self.identity),
            in_force: None,
        })
    }

    fn max_connections(&self) -> Result<Option<u32>, ServerError> {
        let default = self.table()?.default_of("max_connections");
        Ok(default.and_then(|value| value.parse().ok()))
    }

    fn keeps_redo_log_size(&self) -> bool {
        self.distribution.version < (5, 6, 8)
    }
}

/// An external server.
struct ByDsn {
    dsn: Dsn,
    identity: ServerIdentity,
    max_connections: Option<u32>,
}

impl ByDsn {
    fn connect(dsn: &Dsn) -> Result<ByDsn, ServerError> {
        let (node, mut session) = ByDsn::session(dsn)?;
        let max_connections = session.query("SELECT @@max_connections")?.first_text();
        let identity = node.identity().ok_or_else(|| {
            ServerError::Unusable(format!("{dsn}: the server reports no version"))
        })?;
        Ok(ByDsn {
            dsn: dsn.clone(),
            identity,
            max_connections: max_connections.and_then(|text| text.parse().ok()),
        })
    }

    fn session(dsn: &Dsn) -> Result<(External, Session), ServerError> {
        let node = External::new(dsn.clone());
        node.start(&StartRequest::default())?;
        let session = node.connect()?.for_control();
        Ok((node, session))
    }
}

impl Provider for ByDsn {
    fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn server(&self, _folder: &Path) -> Server {
        Server::of(External::new(self.dsn.clone()))
    }

    /// prony never reconfigures it, so only session variables are available, and the settings that it has anyway.
    fn known(&self) -> Result<Known, ServerError> {
        let (_, mut session) = ByDsn::session(&self.dsn)?;
        let shown = session.query("SHOW SESSION VARIABLES")?;
        let in_force = adjusted::in_force(&mut session)?;
        Ok(Known {
            takes_hints: has_hints(&self.identity),
            in_force: Some(in_force),
            ..known_of_session(adjusted::variables(&shown))
        })
    }

    fn max_connections(&self) -> Result<Option<u32>, ServerError> {
        Ok(self.max_connections)
    }
}

fn known_of_session(variables: impl Iterator<Item = (String, String)>) -> Known {
    let mut known = Known {
        takes_session: true,
        ..Known::default()
    };
    for (name, value) in variables {
        let name = plain(&name);
        if name == switches::NAME {
            let flags = switches::flags(&value).into_iter();
            known.switches = flags.map(|(flag, _)| flag.to_string()).collect();
        }
        known.variables.insert(name);
    }
    known
}

/// Whether the server reads `/*+ ... */` as hints: MySQL since 5.7.7 and MariaDB since 12.0. For others it is a comment.
fn has_hints(identity: &ServerIdentity) -> bool {
    let is_mariadb = [&identity.version, &identity.comment]
        .iter()
        .any(|text| text.contains("MariaDB"));
    let numbers = identity.version.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u32> = numbers
        .map_while(|part| part.parse().ok())
        .take(3)
        .collect();
    if is_mariadb {
        numbers.as_slice() >= &[12]
    } else {
        numbers.as_slice() >= &[5, 7, 7]
    }
}

/// SQLite, compiled into prony.
struct InProcess {
    identity: ServerIdentity,
}

impl InProcess {
    fn new() -> InProcess {
        InProcess {
            identity: ServerIdentity {
                build: "sqlite".into(),
                version: rusqlite::version().into(),
                comment: "in process".into(),
                binary_sha256: String::new(),
            },
        }
    }
}

impl Provider for InProcess {
    fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn server(&self, _folder: &Path) -> Server {
        Server::of(Sqlite::new())
    }

    fn known(&self) -> Result<Known, ServerError> {
        Ok(Known::default())
    }
}

/// A provider for tests. It returns the same fake node each time, so that a test can inspect it.
pub struct FakeProvider {
    node: Arc<Fake>,
    identity: ServerIdentity,
}

impl FakeProvider {
    /// A provider of this fake node.
    pub fn of(node: Arc<Fake>) -> FakeProvider {
        FakeProvider {
            identity: ServerIdentity {
                build: "fake".into(),
                version: "0.0-fake".into(),
                comment: "a script".into(),
                binary_sha256: String::new(),
            },
            node,
        }
    }

    /// A provider of a fake node that answers every statement with an empty result.
    pub fn silent() -> FakeProvider {
        let script = |_: &str| -> Result<Reply, ServerError> { Ok(reply("nothing", &[])) };
        FakeProvider::of(Arc::new(Fake::new("fake", script)))
    }
}

impl Provider for FakeProvider {
    fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn server(&self, _folder: &Path) -> Server {
        Server::shared(self.node.clone())
    }

    fn settings(&self) -> Result<Option<SettingTable>, ServerError> {
        Ok(self
            .node
            .abilities()
            .settings
            .then(|| SettingTable::parse("")))
    }

    fn initialise(
        &self,
        data_folder: &Path,
        _layout: &[(String, String)],
    ) -> Result<(), ServerError> {
        std::fs::create_dir_all(data_folder)
            .map_err(|error| ServerError::Unusable(error.to_string()))
    }

    fn known(&self) -> Result<Known, ServerError> {
        Ok(Known {
            takes_settings: self.node.abilities().settings,
            takes_session: self.node.abilities().mysql,
            variables: ["sort_buffer_size".to_string()].into(),
            ..Known::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_support_depends_on_family_and_version() {
        let takes = |version: &str, comment: &str| {
            has_hints(&ServerIdentity {
                build: String::new(),
                version: version.into(),
                comment: comment.into(),
                binary_sha256: String::new(),
            })
        };
        assert!(!takes("5.5.34", "MySQL") && !takes("5.7.6", "") && !takes("5.6.14", ""));
        assert!(takes("5.7.7", "") && takes("8.0.33", "") && takes("9.7.4", ""));
        assert!(
            !takes("11.8.6", "mariadbd Ver 11.8.6-MariaDB") && !takes("10.11.18-MariaDB-log", "")
        );
        assert!(takes("12.0.2-MariaDB", ""));
    }

    #[test]
    fn session_variables_and_switches_are_read_from_the_server() {
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let variables = [
            pair("sort_buffer_size", "262144"),
            pair("optimizer_switch", "mrr=on,icp=off"),
        ];
        let known = known_of_session(variables.into_iter());
        assert!(known.takes_session && !known.takes_settings);
        assert!(known.variables.contains("sort_buffer_size"));
        assert_eq!(known.switches, ["mrr", "icp"]);
    }

    #[test]
    fn a_fake_provider_returns_the_same_node_each_time() {
        let provider = FakeProvider::silent();
        let server = provider.server(Path::new("a"));
        server.first().start(&StartRequest::default()).unwrap();
        assert!(provider.server(Path::new("b")).first().connect().is_ok());
    }
}
