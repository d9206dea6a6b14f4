//! Checks what an experiment says about the nodes of its servers.
//!
//! Purpose: no key about nodes without effect, and nothing that a server with a topology cannot have. Boundaries: `server::cluster` reads
//! the keys.

use crate::experiment::place::{Late, changes, path};
use crate::experiment::served::{is_for, nodes, with_levels};
use crate::experiment::{Experiment, LevelSpec, Patch, ServerSpec};
use crate::server::cluster::{ClusterPatch, Routing, Topology, unsuitable};

/// What an experiment with a topology cannot have.
pub(crate) fn unfit(experiment: &Experiment) -> Vec<Late> {
    let formed = experiment
        .servers
        .iter()
        .find(|server| server.cluster.is_some());
    let Some(server) = formed else {
        return Vec::new();
    };
    let changes = experiment.factors.iter().flat_map(changes);
    let patches = changes.map(|(_, patch)| patch);
    let all: Vec<&Patch> = std::iter::once(&experiment.base).chain(patches).collect();
    let wrong = [
        (
            !experiment.protocol.is_timed(),
            "rounds of queries run on one node",
            "write time = \"60s\" in [protocol] for a timed load, or remove topology",
        ),
        (
            all.iter().any(|patch| patch.limits.is_some()),
            "limits hold for one process, and a server with a topology has several",
            "remove the limits, or use link and client_link",
        ),
        (
            all.iter().any(|patch| patch.host.is_some()),
            "a volume holds one data directory, and a server with a topology has several",
            "remove volume and redo_volume",
        ),
    ];
    let wrong = wrong.into_iter().filter(|(is_there, ..)| *is_there);
    let late = wrong.map(|(_, says, help)| Late {
        path: path(&["server", &server.name, "topology"]),
        says: says.to_string(),
        label: "not together with a topology",
        help: help.to_string(),
    });
    late.collect()
}

/// Keys about nodes that a server does not have, with and without which its cells would be the same, and builds without its topology.
pub(crate) fn without_effect(experiment: &Experiment) -> Vec<Late> {
    let mut found: Vec<Late> = Vec::new();
    found.extend(experiment.servers.iter().filter_map(needless_routing));
    for factor in &experiment.factors {
        for level in &factor.levels {
            let servers = experiment.servers.iter();
            let own = servers.filter(|server| is_for(level, &server.name));
            for server in own {
                found.extend(without_nodes(server, &factor.name, level));
                found.extend(another_build(server, &factor.name, level));
            }
        }
    }
    found
}

/// A server that has one node, whatever a level says.
fn has_one_node(server: &ServerSpec) -> bool {
    server.cluster.is_none() && server.nodes() == 1
}

/// `reads` and `writes` of a server with one node.
fn needless_routing(server: &ServerSpec) -> Option<Late> {
    let key = match server.routing {
        _ if !has_one_node(server) => return None,
        Routing { reads: Some(_), .. } => "reads",
        Routing {
            writes: Some(_), ..
        } => "writes",
        _ => return None,
    };
    Some(Late {
        path: path(&["server", &server.name, key]),
        says: format!("\"{key}\" chooses among nodes, and this server has one"),
        label: "no effect",
        help: "remove it, write topology = \"galera\", \"replica\" or \"group\" beside it, or name several hosts in the DSN".to_string(),
    })
}

/// Keys of a level's `server` that change nothing on this server.
fn without_nodes(server: &ServerSpec, factor: &str, level: &LevelSpec) -> Option<Late> {
    let patch = nodes(level, &server.name);
    let of_nodes = ClusterPatch {
        routing: Routing::default(),
        ..*patch
    };
    let served = with_levels(server, std::iter::once(level));
    let why = if served.cluster.is_none() && of_nodes != ClusterPatch::default() {
        "which has no topology".to_string()
    } else if has_one_node(&served) && patch.routing != Routing::default() {
        "which has one node".to_string()
    } else {
        let topology = served.topology().filter(|kind| *kind != Topology::Replica);
        let topology = topology.filter(|_| patch.semi_sync.is_some())?;
        format!("whose topology \"{topology}\" has no semi-synchronous replication")
    };
    let name = &server.name;
    Some(Late {
        path: path(&["factor", factor, &level.name, "server"]),
        says: format!(
            "the level \"{}\" changes the nodes of the server \"{name}\", {why}",
            level.name
        ),
        label: "no effect",
        help: format!(
            "write topology and nodes in [server.\"{name}\"], or name the other servers with only = {{ server = [...] }}"
        ),
    })
}

/// A level's build that cannot form the topology of this server.
fn another_build(server: &ServerSpec, factor: &str, level: &LevelSpec) -> Option<Late> {
    let served = with_levels(server, std::iter::once(level));
    let (says, help) = unsuitable(served.topology()?, &served.build)?;
    let name = &server.name;
    Some(Late {
        path: path(&["factor", factor, &level.name, "server"]),
        says: format!("the server \"{name}\" has a topology: {says}"),
        label: "another build",
        help: format!("{help}; or name the other servers with only = {{ server = [...] }}"),
    })
}

#[cfg(test)]
mod tests {
    use crate::tests::{mistakes_in, read_on_server};

    const GALERA: &str = "topology = 'galera'\nnodes = 3\n";

    /// The mistakes in a file with a server of three nodes and one of a single node.
    fn mistakes_of(level: &str) -> Vec<String> {
        mistakes_in(&format!(
            "title = 't'\n[server.three]\nbuild = 'mariadb'\n{GALERA}[server.one]\nbuild = 'mariadb'\n\
             [workload.oltp]\n[protocol]\ntime = '60s'\n{level}"
        ))
    }

    #[test]
    fn a_level_that_changes_nodes_which_a_server_does_not_have_is_a_mistake() {
        for (keys, says) in [
            ("nodes = 2", "\"one\", which has no topology"),
            ("link = '100mbit'", "\"one\", which has no topology"),
            ("reads = 'any'", "\"one\", which has one node"),
        ] {
            let level = format!("[factor.f.x]\nserver = {{ {keys} }}\n");
            let found = mistakes_of(&level);
            assert!(
                found.len() == 1 && found[0].contains(says),
                "{keys}: {found:?}"
            );
            let three = format!("{level}only = {{ server = 'three' }}\n[factor.f.y]\n");
            assert_eq!(mistakes_of(&three), [""; 0], "{keys}");
        }
        let found = mistakes_of("[factor.f.x]\non.three.server = { semi_sync = true }\n");
        assert!(found[0].contains("no semi-synchronous"), "{found:?}");
    }

    #[test]
    fn a_build_without_the_topology_of_its_server_is_a_mistake() {
        for (build, says) in [
            ("mysql://u@h/s", "only of servers that it starts"),
            ("mysql@8.0.33", "MySQL has no Galera"),
        ] {
            let level = format!("[factor.f.x]\non.three.server = {{ build = '{build}' }}\n");
            let found = mistakes_of(&level);
            assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
            let source = format!(
                "title = 't'\n[server.three]\nbuild = 'mariadb'\n{GALERA}[workload.oltp]\n[protocol]\ntime = '60s'\n"
            );
            let experiment = read_on_server(&source).unwrap();
            let error = experiment.with_server(&format!("three={build}"));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_routing_of_one_node_is_a_mistake() {
        let with = |build: &str| {
            let source = format!(
                "title = 't'\n[server.a]\nbuild = '{build}'\nreads = 'any'\n[workload.oltp]\n[protocol]\ntime = '60s'\n"
            );
            read_on_server(&source).is_ok()
        };
        assert!(!with("mariadb") && !with("mysql://u@h"));
        assert!(with("mysql://u@h1,h2"));
    }

    #[test]
    fn a_section_for_one_server_leaves_the_nodes_of_its_level() {
        let source = format!(
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n{GALERA}[workload.oltp]\n[protocol]\ntime = '60s'\n\
             [factor.nodes.2]\nserver = {{ nodes = 2 }}\non.a.settings = {{ sync_binlog = 1 }}\n"
        );
        let experiment = read_on_server(&source).unwrap();
        let trials = crate::plan::expand(&experiment, 1).unwrap();
        assert_eq!(trials[0].server.as_ref().unwrap().nodes(), 2);
    }
}
