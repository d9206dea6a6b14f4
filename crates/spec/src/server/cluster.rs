//! The keys of `[server.NAME]` for servers of several nodes: what they form, how they are linked, and which of them clients use.
//!
//! Purpose: the keys and what goes together. Boundaries: `check::nodes` checks the rest of the file against them; crate `server` forms the nodes, `host` makes their network.

use super::build::BuildSpec;
use crate::file::read::{Node, Section};
use crate::text::unit;
use std::fmt;

/// The keys, all in `[server.NAME]`; all but the topology also in a level's `server = { ... }`.
pub(crate) const KEYS: [&str; 7] = [
    "topology",
    "nodes",
    "semi_sync",
    "link",
    "client_link",
    "reads",
    "writes",
];
/// The largest number of nodes on one machine.
const NODES_MAX: i64 = 9;

/// What the nodes of a server that prony starts form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// MariaDB with Galera: every node takes writes.
    Galera,
    /// The first node writes its binary log, which the others apply.
    Replica,
    /// MySQL Group Replication with one primary node.
    Group,
}

impl Topology {
    const NAMES: [(&'static str, Topology); 3] = [
        ("galera", Topology::Galera),
        ("replica", Topology::Replica),
        ("group", Topology::Group),
    ];
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(record::name_of(self, &Topology::NAMES))
    }
}

/// A server of several nodes, which prony starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterSpec {
    pub topology: Topology,
    pub nodes: u32,
    /// Whether the first node of `Replica` waits for a replica's acknowledgement of each commit.
    pub semi_sync: bool,
    /// Bits per second of each node's link, in each direction; None: the nodes use the loopback interface.
    pub link_bits_per_s: Option<u64>,
    /// Bits per second of the clients' link to all nodes together, in each direction.
    pub client_link_bits_per_s: Option<u64>,
}

/// Which nodes the clients of a timed load use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// None: where the others go.
    pub reads: Option<Reads>,
    /// None: by the topology.
    pub writes: Option<Writes>,
}

/// Where operations go that only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// To one node for each client, spread over all nodes.
    Any,
    /// To the first node.
    First,
    /// To the next node with each operation.
    RoundRobin,
}

/// Where all other operations go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// To one node for each client, spread over the first so many nodes, or over all if there are fewer.
    First(u32),
    /// To one node for each client, spread over all nodes.
    All,
}

const READS: [(&str, Reads); 3] = [
    ("any", Reads::Any),
    ("first", Reads::First),
    ("round-robin", Reads::RoundRobin),
];
const WRITES: [(&str, Writes); 2] = [("one", Writes::First(1)), ("all", Writes::All)];

impl Routing {
    /// Where operations that write go. All nodes of an external server are taken to be equal, as those of Galera are.
    pub fn writes(&self, topology: Option<Topology>) -> Writes {
        self.writes.unwrap_or(match topology {
            Some(Topology::Replica | Topology::Group) => Writes::First(1),
            Some(Topology::Galera) | None => Writes::All,
        })
    }

    /// Applies the keys that a level gives.
    pub(crate) fn patched(self, patch: &ClusterPatch) -> Routing {
        Routing {
            reads: patch.routing.reads.or(self.reads),
            writes: patch.routing.writes.or(self.writes),
        }
    }
}

/// What a level changes. The outer None means "unchanged".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterPatch {
    pub nodes: Option<u32>,
    pub semi_sync: Option<bool>,
    pub link_bits_per_s: Option<Option<u64>>,
    pub client_link_bits_per_s: Option<Option<u64>>,
    pub routing: Routing,
}

impl ClusterPatch {
    /// The keys of a level's `server` that are there.
    pub(crate) fn read(section: &Section) -> ClusterPatch {
        ClusterPatch {
            nodes: section.read("nodes", nodes),
            semi_sync: section.read("semi_sync", |node| node.truth("semi_sync = true")),
            link_bits_per_s: section.read_or_none("link", link),
            client_link_bits_per_s: section.read_or_none("client_link", link),
            routing: Routing {
                reads: section.read("reads", |node| node.choice(&READS)),
                writes: section.read("writes", writes),
            },
        }
    }

    /// Applies it to a server's cluster.
    pub(crate) fn over(&self, base: ClusterSpec) -> ClusterSpec {
        ClusterSpec {
            topology: base.topology,
            nodes: self.nodes.unwrap_or(base.nodes),
            semi_sync: self.semi_sync.unwrap_or(base.semi_sync),
            link_bits_per_s: self.link_bits_per_s.unwrap_or(base.link_bits_per_s),
            client_link_bits_per_s: (self.client_link_bits_per_s)
                .unwrap_or(base.client_link_bits_per_s),
        }
    }
}

/// Reads the keys of `[server.NAME]`, called `name`. No cluster: a server of one node, or a mistake, which is noted.
pub(crate) fn of_server(
    section: &Section,
    name: &str,
    build: &BuildSpec,
) -> (Option<ClusterSpec>, Routing) {
    let given = ClusterPatch::read(section);
    (cluster(section, name, build, &given), given.routing)
}

fn cluster(
    section: &Section,
    name: &str,
    build: &BuildSpec,
    given: &ClusterPatch,
) -> Option<ClusterSpec> {
    let Some(topology) = section.get("topology") else {
        refuse_without_a_topology(section);
        return None;
    };
    let kind = topology.choice(&Topology::NAMES)?;
    if let Some((says, help)) = unsuitable(kind, build) {
        topology.note(says, "another build", help);
    }
    if let Some(node) = section.get("semi_sync")
        && kind != Topology::Replica
    {
        node.note(
            format!("a server with topology = \"{kind}\" has no semi-synchronous replication"),
            "of replicas only",
            "remove it",
        );
    }
    section.require(name, "nodes", "nodes = 3")?;
    Some(given.over(ClusterSpec {
        topology: kind,
        nodes: 1,
        semi_sync: false,
        link_bits_per_s: None,
        client_link_bits_per_s: None,
    }))
}

/// The keys of nodes that prony starts have no meaning without a topology.
fn refuse_without_a_topology(section: &Section) {
    for key in ["nodes", "semi_sync", "link", "client_link"] {
        if let Some(node) = section.get(key) {
            node.note(
                format!("\"{key}\" belongs to a server with a topology"),
                "no topology",
                "write topology = \"galera\", \"replica\" or \"group\" beside it",
            );
        }
    }
}

/// Why a build cannot form the topology, as far as its name tells, and what to write.
pub(crate) fn unsuitable(
    topology: Topology,
    build: &BuildSpec,
) -> Option<(&'static str, &'static str)> {
    match (topology, build) {
        (_, build) if !build.is_managed() => Some((
            "prony forms a topology only of servers that it starts",
            "name a build, or remove topology and name all nodes in the DSN: mysql://user@host1,host2/schema",
        )),
        (Topology::Galera, BuildSpec::Mysql(_)) => Some((
            "MySQL has no Galera",
            "write build = \"mariadb\", or topology = \"group\"",
        )),
        (Topology::Group, BuildSpec::MariaDb(_)) => Some((
            "MariaDB has no Group Replication",
            "write build = \"mysql@8.0.33\", or topology = \"galera\"",
        )),
        (Topology::Group, BuildSpec::Mysql(version)) if version.starts_with('5') => Some((
            "this MySQL has no Group Replication",
            "write build = \"mysql@8.0.33\"",
        )),
        _ => None,
    }
}

fn nodes(node: &Node) -> Option<u32> {
    Some(node.whole(1..=NODES_MAX, "nodes = 3")? as u32)
}

/// `"one"`, `"all"`, or a number of nodes.
fn writes(node: &Node) -> Option<Writes> {
    if node.value.as_integer().is_some() {
        let nodes = node.whole(1..=NODES_MAX, "writes = 2")?;
        return Some(Writes::First(nodes as u32));
    }
    node.choice(&WRITES)
}

/// `"100mbit"`
fn link(node: &Node) -> Option<u64> {
    let example = "link = \"100mbit\"";
    let bits = unit::bits_per_s(node.text(example)?);
    node.noted(bits, "wrong unit", format!("write {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::mistake::Notes;
    use toml::de::DeTable;

    const GALERA: &str = "topology = 'galera'\nnodes = 3\n";

    /// The cluster and the routing of a server with these keys, and the mistakes in them.
    fn read_all(keys: &str, build: &str) -> (Option<ClusterSpec>, Routing, Vec<String>) {
        let tree = DeTable::parse(keys).unwrap();
        let notes = Notes::default();
        let section = Section::file(&notes, tree.get_ref());
        let (found, routing) = of_server(&section, "[server.a]", &build.parse().unwrap());
        let mistakes = notes.into_vec();
        let mistakes = mistakes.iter().map(ToString::to_string).collect();
        (found, routing, mistakes)
    }

    fn read(keys: &str, build: &str) -> (Option<ClusterSpec>, Vec<String>) {
        let (found, _, mistakes) = read_all(keys, build);
        (found, mistakes)
    }

    #[test]
    fn a_cluster_has_a_topology_nodes_and_links() {
        let keys = "topology = 'galera'\nnodes = 3\nlink = '100mbit'\nclient_link = '1gbit'";
        let (found, mistakes) = read(keys, "mariadb");
        assert_eq!(mistakes, [""; 0]);
        let found = found.unwrap();
        assert_eq!((found.topology, found.nodes), (Topology::Galera, 3));
        assert_eq!(found.link_bits_per_s, Some(100_000_000));
        assert_eq!(found.client_link_bits_per_s, Some(1_000_000_000));
    }

    #[test]
    fn each_mistake_names_its_place_and_the_way_out() {
        for (keys, build, says) in [
            (
                "nodes = 3",
                "mariadb",
                "belongs to a server with a topology",
            ),
            (
                "topology = 'galera'\nnodes = 3",
                "mysql@8.0.33",
                "MySQL has no Galera",
            ),
            (
                "topology = 'group'\nnodes = 3",
                "mysql@5.6.14",
                "no Group Replication",
            ),
            (
                "topology = 'ring'\nnodes = 3",
                "mariadb",
                "cannot be \"ring\"",
            ),
            ("topology = 'galera'\nnodes = 0", "mariadb", "1"),
            ("topology = 'galera'", "mariadb", "nodes"),
            (
                "topology = 'galera'\nnodes = 3\nlink = '100M'",
                "mariadb",
                "100mbit",
            ),
            (
                "topology = 'galera'\nnodes = 3\nsemi_sync = true",
                "mariadb",
                "semi-synchronous",
            ),
            (
                "topology = 'replica'\nnodes = 2",
                "mysql://u@h/s",
                "only of servers that it starts",
            ),
        ] {
            let (_, mistakes) = read(keys, build);
            assert!(
                mistakes.iter().any(|mistake| mistake.contains(says)),
                "{keys}: {mistakes:?}"
            );
        }
    }

    #[test]
    fn writes_go_where_the_topology_takes_them() {
        let by_topology = Routing::default();
        assert_eq!(by_topology.writes(Some(Topology::Galera)), Writes::All);
        assert_eq!(by_topology.writes(Some(Topology::Group)), Writes::First(1));
        assert_eq!(by_topology.writes(None), Writes::All);
    }

    #[test]
    fn writes_go_to_one_node_some_or_all() {
        for (key, writes) in [
            ("writes = 'one'", Writes::First(1)),
            ("writes = 2", Writes::First(2)),
            ("writes = 'all'", Writes::All),
        ] {
            let (_, routing, mistakes) = read_all(&format!("{GALERA}{key}"), "mariadb");
            assert_eq!(
                (routing.writes, mistakes),
                (Some(writes), Vec::new()),
                "{key}"
            );
        }
        for (key, says) in [("writes = 0", "from 1 to 9"), ("writes = 'two'", "\"two\"")] {
            let (_, _, mistakes) = read_all(&format!("{GALERA}{key}"), "mariadb");
            assert!(mistakes[0].contains(says), "{key}: {mistakes:?}");
        }
    }

    #[test]
    fn a_level_changes_what_it_names() {
        let (base, _) = read(
            "topology = 'galera'\nnodes = 3\nlink = '100mbit'",
            "mariadb",
        );
        let patch = ClusterPatch {
            nodes: Some(2),
            link_bits_per_s: Some(None),
            ..ClusterPatch::default()
        };
        let changed = patch.over(base.unwrap());
        assert_eq!((changed.nodes, changed.link_bits_per_s), (2, None));
    }
}
