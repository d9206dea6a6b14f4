//! Servers of several nodes: their addresses, their options, and how the nodes become one server.
//!
//! Purpose: what a node of a cluster has that a single server lacks. `galera`, `replica` and `group` know one topology each. Boundaries:
//! `managed` starts the processes, `host::network` makes the links, and the order of the nodes is that of [`crate::Server`].

mod addresses;
mod behind;
mod galera;
mod group;
mod replica;
mod server;
mod transfer;

use crate::access::{self, Port};
use crate::builds::{Distribution, Flavor};
use crate::{Node, ServerError, Session, StartRequest, Started};
use addresses::Addresses;
pub use behind::Behind;
use host::network::{self, Bandwidths, Network, NetworkError};
use host::{Leases, interrupted};
pub use server::Server;
use spec::{ClusterSpec, Dsn, DsnSecurity, ServerKey, TlsMode, Topology};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// The account with which the nodes read from each other.
const MEMBER: &str = "prony_member";
/// Replication refuses longer ones (MySQL, error 3056).
const MEMBER_PASSWORD_CHARS: usize = 32;
/// How long the nodes may take to become one server after their starts.
const FORMED_WITHIN: Duration = Duration::from_secs(300);
/// How long it may be without a quorum: others that are back form it again within seconds.
const QUORUM_WITHIN: Duration = Duration::from_secs(30);
/// How long a node may take to say whether it takes part.
const ASKED_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl From<NetworkError> for ServerError {
    fn from(error: NetworkError) -> ServerError {
        ServerError::Unusable(error.to_string())
    }
}

/// What the nodes of a cluster share.
pub(crate) struct Cluster {
    spec: ClusterSpec,
    flavor: Flavor,
    version: (u32, u32, u32),
    addresses: Vec<Addresses>,
    _ports: Vec<Port>,
    network: Option<Network>,
    /// The administrator's password on every node.
    password: String,
    /// The password of [`MEMBER`].
    member_password: String,
    /// Names the group of Group Replication.
    uuid: String,
    /// The library of Galera.
    library: Option<PathBuf>,
    /// The folder with the program of Galera's state transfers, and where these meet.
    transfers: PathBuf,
}

/// One node's part in a cluster.
#[derive(Clone)]
pub(crate) struct Member {
    cluster: Arc<Cluster>,
    /// The number of the node, from 1.
    number: u32,
    /// Whether its next start is the first one of the whole server.
    forms: Arc<AtomicBool>,
}

/// Whether a node, which answers, takes part in its server.
#[derive(Debug, PartialEq)]
pub(crate) enum Participation {
    Takes,
    /// Not yet, for this reason.
    Waits(String),
    /// It sees too few of the others to continue, which ends by itself only if they come back.
    NoQuorum(String),
}

/// How the nodes of a server become one.
#[derive(Clone)]
pub struct Formation {
    cluster: Arc<Cluster>,
    members: Vec<Member>,
}

/// Creates a server of several nodes of a build, not started. `library` is that of Galera; `node` makes each node in its folder.
pub(crate) fn server(
    build: &Distribution,
    spec: &ClusterSpec,
    library: Option<PathBuf>,
    folder: &Path,
    leases: &Leases,
    node: impl Fn(&Member, PathBuf) -> Arc<dyn Node>,
) -> Result<Server, ServerError> {
    if let Some(why) = unsuitable(spec.topology, build) {
        return Err(ServerError::Unusable(why));
    }
    let bandwidths = Bandwidths {
        link_bits_per_s: spec.link_bits_per_s,
        client_link_bits_per_s: spec.client_link_bits_per_s,
    };
    let network = if bandwidths == Bandwidths::default() {
        None
    } else {
        Some(Network::make(spec.nodes, bandwidths, leases)?)
    };
    let transfers = folder.join("transfers");
    if spec.topology == Topology::Galera {
        transfer::install(&transfers)?;
    }
    let (addresses, ports) = addresses::choose(spec.nodes, network.as_ref())?;
    let cluster = Arc::new(Cluster {
        spec: *spec,
        flavor: build.flavor,
        version: build.version,
        addresses,
        _ports: ports,
        network,
        password: access::password()?,
        member_password: access::password()?[..MEMBER_PASSWORD_CHARS].to_string(),
        uuid: addresses::uuid()?,
        library,
        transfers,
    });
    let members: Vec<Member> = (1..=spec.nodes)
        .map(|number| Member {
            cluster: cluster.clone(),
            number,
            forms: Arc::new(AtomicBool::new(true)),
        })
        .collect();
    let folder_of = |member: &Member| folder.join(format!("node{}", member.number));
    let nodes = members.iter().map(|member| node(member, folder_of(member)));
    let server = Server::of_all(nodes.collect());
    let server = server.ok_or_else(|| ServerError::Unusable("a server has a node".into()))?;
    Ok(server.formed_by(Formation { cluster, members }))
}

/// Why a build cannot form the topology, which its name did not tell.
fn unsuitable(topology: Topology, build: &Distribution) -> Option<String> {
    let lacks = |what: &str| Some(format!("{} has no {what}", build.build));
    match (topology, build.flavor) {
        (Topology::Galera, Flavor::MySql) => lacks("Galera"),
        (Topology::Galera, Flavor::MariaDb) if build.version < (10, 4, 0) => {
            lacks("Galera 4, which MariaDB has since 10.4")
        }
        (Topology::Group, Flavor::MariaDb) => lacks("Group Replication"),
        (Topology::Group, Flavor::MySql) if build.version < (8, 0, 22) => {
            lacks("Group Replication as prony forms it, which MySQL has since 8.0.22")
        }
        _ => None,
    }
}

impl Cluster {
    fn of(&self, number: u32) -> &Addresses {
        &self.addresses[number as usize - 1]
    }

    /// Where the nodes reach each other: `127.0.0.1:20001,127.0.0.1:20004`.
    fn peers(&self) -> String {
        let peers = self.addresses.iter();
        let peers: Vec<String> = peers
            .map(|one| format!("{}:{}", one.host, one.peer))
            .collect();
        peers.join(",")
    }

    /// Whether clients come over the network, and not by a socket.
    fn is_linked(&self) -> bool {
        self.network.is_some()
    }

    /// The host that nodes allow each other, as part of an account's name.
    fn hosts(&self) -> &'static str {
        if self.is_linked() {
            "198.18.%"
        } else {
            "127.0.0.1"
        }
    }
}

impl Member {
    /// The administrator's password, which all nodes share: a joining node takes over the accounts of another one.
    pub(crate) fn password(&self) -> &str {
        &self.cluster.password
    }

    pub(crate) fn port(&self) -> u16 {
        self.cluster.of(self.number).client
    }

    /// Checks that nothing listens on its ports before it starts. The other nodes know them, so it cannot take others.
    pub(crate) fn check_ports(&self) -> Result<(), ServerError> {
        self.cluster.of(self.number).check()
    }

    /// The address that it listens on.
    fn host(&self) -> String {
        self.cluster.of(self.number).host.to_string()
    }

    /// The file of its network namespace.
    fn namespace(&self) -> Option<&Path> {
        self.cluster.network.as_ref()?.namespace(self.number)
    }

    /// Where clients reach it, if not by its socket.
    pub(crate) fn address(&self, by_socket: &Dsn) -> Option<Dsn> {
        self.cluster.is_linked().then(|| Dsn {
            host: self.host(),
            socket: None,
            // Nobody else is on this network.
            open: Default::default(),
            protection: DsnSecurity {
                tls: TlsMode::Off,
                tls_ca: None,
                server_key: ServerKey::Requested,
            },
            ..by_socket.clone()
        })
    }

    /// Adds to the command of its next start, in these control groups, what its part in the cluster needs. `alone` is the command of the same
    /// server without that.
    pub(crate) fn equip(
        &self,
        command: &mut Command,
        data_folder: &Path,
        groups: &[PathBuf],
        alone: impl Fn() -> Command,
    ) -> io::Result<()> {
        if let Some(namespace) = self.namespace() {
            network::enter(command, namespace)?;
        }
        command.envs(self.environment()).args(self.options());
        if self.cluster.spec.topology == Topology::Galera && galera::has_no_position(data_folder) {
            let mut recovers = alone();
            let position = galera::recovered(recovers.args(self.options()), data_folder, groups)?;
            command.args(position.map(|position| format!("--wsrep-start-position={position}")));
        }
        Ok(())
    }

    /// The options that only prony sets, for its next start.
    fn options(&self) -> Vec<String> {
        let forms = self.forms.load(SeqCst);
        let mut options = match self.cluster.spec.topology {
            Topology::Galera => galera::options(&self.cluster, self.number, forms),
            Topology::Replica => replica::options(&self.cluster, self.number),
            Topology::Group => group::options(&self.cluster, self.number, forms),
        };
        // The servers of a network namespace have no names for addresses.
        options.push("--skip-name-resolve".into());
        options.push(format!("--bind-address={}", self.host()));
        options
    }

    /// What its process needs in its environment.
    fn environment(&self) -> Vec<(&'static str, OsString)> {
        match self.cluster.spec.topology {
            Topology::Galera => transfer::environment(&self.cluster.transfers),
            Topology::Replica | Topology::Group => Vec::new(),
        }
    }

    /// The statements before the administrator's password is set, one per line: what it does is its own, and no other node's.
    pub(crate) fn first_statements(&self) -> &'static str {
        match self.cluster.spec.topology {
            Topology::Galera => "SET SESSION wsrep_on = OFF;\n",
            Topology::Replica | Topology::Group => "",
        }
    }

    /// The statements after it, one per line.
    pub(crate) fn last_statements(&self) -> String {
        let Cluster {
            password,
            member_password,
            ..
        } = self.cluster.as_ref();
        let mut statements = String::new();
        if self.cluster.is_linked() {
            statements += &self.account("root", password, "ALL");
        }
        match self.cluster.spec.topology {
            Topology::Galera => {}
            Topology::Replica => {
                statements += &self.account(MEMBER, member_password, "REPLICATION SLAVE");
            }
            Topology::Group => statements += &self.account(MEMBER, member_password, group::RIGHTS),
        }
        statements
    }

    /// Gives an account these rights, whether it exists or not. It logs in from the addresses of the cluster.
    fn account(&self, user: &str, password: &str, rights: &str) -> String {
        let Cluster {
            flavor, version, ..
        } = *self.cluster;
        let name = format!("'{user}'@'{}'", self.cluster.hosts());
        let identified = format!("{name} IDENTIFIED BY '{password}'");
        // Older servers create an account by its first right.
        let (created, granted) = match (flavor, version < (5, 7, 6)) {
            (Flavor::MySql, true) => (String::new(), &identified),
            _ => (format!("CREATE USER IF NOT EXISTS {identified};\n"), &name),
        };
        format!("{created}GRANT {rights} ON *.* TO {granted};\n")
    }

    /// Prepares its data folder for the next start.
    pub(crate) fn prepare(&self, data_folder: &Path) -> Result<(), ServerError> {
        match self.cluster.spec.topology {
            Topology::Galera => galera::prepare(self, data_folder),
            // Copies of one data folder must not have the same identity; the server makes a new one.
            Topology::Replica | Topology::Group if self.forms.load(SeqCst) => {
                let file = data_folder.join("auto.cnf");
                match std::fs::remove_file(&file) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(
                        ServerError::Unusable(format!("cannot remove {}: {error}", file.display())),
                    ),
                    _ => Ok(()),
                }
            }
            Topology::Replica | Topology::Group => Ok(()),
        }
    }

    /// Whether the node, which answers, takes part in the whole server. During the first start of a topology that is formed by statements,
    /// an answer is enough.
    pub(crate) fn takes_part(&self, session: &mut Session) -> Result<Participation, ServerError> {
        if self.forms.load(SeqCst) && self.cluster.spec.topology != Topology::Galera {
            return Ok(Participation::Takes);
        }
        let number = self.number;
        session.control(|session| match self.cluster.spec.topology {
            Topology::Galera => galera::takes_part(&self.cluster, session),
            Topology::Replica => replica::takes_part(&self.cluster, number, session),
            Topology::Group => group::takes_part(&self.cluster, number, session),
        })
    }
}

impl Formation {
    /// What the nodes form.
    pub fn topology(&self) -> Topology {
        self.cluster.spec.topology
    }

    /// The network of the nodes; None: they use the loopback interface.
    pub fn network(&self) -> Option<&Network> {
        self.cluster.network.as_ref()
    }

    /// Whether a node's data folder is a copy of the dataset before the first start. One that is not begins empty, and the node gets the data
    /// from another one.
    pub fn begins_with_data(&self, number: u32) -> bool {
        number == 1 || self.topology() != Topology::Galera
    }

    /// Starts the nodes for the first time and makes them one server. `request` gives each its own.
    ///
    /// # Errors
    /// A node does not start, or does not join.
    pub fn form(
        &self,
        server: &Server,
        request: impl Fn(u32) -> StartRequest,
    ) -> Result<Started, ServerError> {
        let began = Instant::now();
        for (member, node) in self.members.iter().zip(server.nodes()) {
            node.start(&request(member.number))
                .map_err(|error| of_node(member.number, error))?;
        }
        match self.topology() {
            Topology::Galera => {}
            Topology::Replica => replica::form(&self.cluster, server)?,
            Topology::Group => group::form(&self.cluster, server)?,
        }
        for member in &self.members {
            member.forms.store(false, SeqCst);
        }
        for (member, node) in self.members.iter().zip(server.nodes()) {
            await_part(member, node.as_ref())?;
        }
        Ok(Started {
            elapsed_s: began.elapsed().as_secs_f64(),
        })
    }

    /// What a node says that sees no majority, if no node takes part.
    pub fn lost_quorum(&self, server: &Server) -> Option<String> {
        let running = self.members.iter().zip(server.nodes());
        let running = running.filter(|(_, node)| node.pid().is_some());
        let mut lost = None;
        for (member, node) in running {
            let session = node.connect().map(|session| session.limited(ASKED_WITHIN));
            match session.and_then(|mut session| member.takes_part(&mut session)) {
                // The others need not be asked: one that is cut off would take ten seconds.
                Ok(Participation::Takes) => return None,
                Ok(Participation::NoQuorum(why)) => {
                    lost.get_or_insert(format!("node {}: {why}", member.number));
                }
                Ok(Participation::Waits(_)) | Err(_) => {}
            }
        }
        lost
    }

    /// Waits until a node that answers takes part again.
    pub fn rejoined(&self, server: &Server, number: u32) -> Result<(), ServerError> {
        let index = (number as usize).saturating_sub(1);
        match (self.members.get(index), server.node(number as usize)) {
            (Some(member), Some(node)) => await_part(member, node.as_ref()),
            _ => Err(ServerError::Unusable(format!(
                "the server has no node {number}"
            ))),
        }
    }
}

fn await_part(member: &Member, node: &dyn Node) -> Result<(), ServerError> {
    let began = Instant::now();
    // A quorum may return as the others come: only a node that sees none all the while is given up early.
    let mut without_quorum = None;
    let mut session = node.connect()?;
    loop {
        let (since, within, why) = match member.takes_part(&mut session) {
            Ok(Participation::Takes) => return Ok(()),
            Ok(Participation::NoQuorum(why)) => {
                let since = without_quorum.get_or_insert_with(Instant::now);
                (*since, QUORUM_WITHIN, why)
            }
            Ok(Participation::Waits(why)) | Err(ServerError::Refused { message: why, .. }) => {
                without_quorum = None;
                (began, FORMED_WITHIN, why)
            }
            Err(error) => return Err(of_node(member.number, error)),
        };
        if interrupted() {
            return Err(ServerError::Lost("interrupted".into()));
        }
        if since.elapsed() > within {
            let says = format!(
                "did not join the others within {} s: {why}",
                began.elapsed().as_secs()
            );
            return Err(of_node(member.number, ServerError::Lost(says)));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The error with the number of its node.
fn of_node(number: u32, error: ServerError) -> ServerError {
    let named = |text: String| format!("node {number}: {text}");
    match error {
        ServerError::NotStarted { message, log } => ServerError::NotStarted {
            message: named(message),
            log,
        },
        ServerError::Lost(text) => ServerError::Lost(named(text)),
        ServerError::Unusable(text) => ServerError::Unusable(named(text)),
        other => ServerError::Unusable(named(other.to_string())),
    }
}
