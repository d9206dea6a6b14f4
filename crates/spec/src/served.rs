//! The servers of trials: those of the file, with builds replaced by levels.
//!
//! A level with a `build` creates another server with a name such as `5.6 with mariadb@11.4.5`. The key of a trial names
//! the server of the file and the level.

use super::cluster::{ClusterPatch, Routing, Topology};
use super::experiment::{BuildSpec, Experiment, LevelSpec, Patch, ServerSpec};
use super::place::{Late, path};

/// The server of a trial with these levels.
pub(crate) fn with_levels<'e>(
    server: &ServerSpec,
    levels: impl Iterator<Item = &'e LevelSpec>,
) -> ServerSpec {
    let levels: Vec<&LevelSpec> = levels.collect();
    let latest_first = levels.iter().rev();
    let mut builds = latest_first.filter_map(|level| build(level, &server.name));
    let mut served = with_build(server, builds.next().unwrap_or(&server.build));
    for level in levels {
        let nodes = nodes(level, &server.name);
        served.cluster = served.cluster.map(|cluster| nodes.over(cluster));
        served.routing = served.routing.patched(nodes);
    }
    served
}

/// Every variant of this server that trials use, without duplicates; only those with a given level, if there is one.
pub(crate) fn of(
    experiment: &Experiment,
    server: &ServerSpec,
    fixed: Option<(&str, &LevelSpec)>,
) -> Vec<ServerSpec> {
    let mut found = vec![server.clone()];
    for factor in &experiment.factors {
        // The fixed level alone, whatever the number of levels beside it.
        let levels = match fixed.filter(|(name, _)| *name == factor.name) {
            Some((_, one)) => std::slice::from_ref(one),
            None => factor.levels.as_slice(),
        };
        let levels = (levels.iter()).filter(|level| is_for(level, &server.name));
        let mut next: Vec<ServerSpec> = Vec::new();
        for level in levels {
            for earlier in &found {
                let one = match build(level, &server.name) {
                    Some(build) => with_build(server, build),
                    None => earlier.clone(),
                };
                if !next.contains(&one) {
                    next.push(one);
                }
            }
        }
        found = next;
    }
    found
}

/// Whether a level may have trials on a server of the file.
pub(crate) fn is_for(level: &LevelSpec, server: &str) -> bool {
    level
        .only
        .iter()
        .all(|(factor, names)| factor != "server" || names.iter().any(|name| name == server))
}

fn build<'e>(level: &'e LevelSpec, server: &str) -> Option<&'e BuildSpec> {
    section_for(level, server, |patch| patch.build.as_ref())
}

/// What the level changes of the server's nodes.
fn nodes<'e>(level: &'e LevelSpec, server: &str) -> &'e ClusterPatch {
    let own = replaced(level, server).map(|patch| &patch.cluster);
    let own = own.filter(|own| **own != ClusterPatch::default());
    own.unwrap_or(&level.patch.cluster)
}

/// The sections that the level has for this server alone.
pub(crate) fn replaced<'e>(level: &'e LevelSpec, server: &str) -> Option<&'e Patch> {
    let own = level.on.iter().find(|(name, _)| name == server);
    own.map(|(_, patch)| patch)
}

/// A section of a level: the one for this server alone, or that for all servers.
pub(crate) fn section_for<'e, T>(
    level: &'e LevelSpec,
    server: &str,
    section: impl Fn(&'e Patch) -> Option<T>,
) -> Option<T> {
    let own = replaced(level, server).and_then(&section);
    own.or_else(|| section(&level.patch))
}

fn with_build(server: &ServerSpec, build: &BuildSpec) -> ServerSpec {
    if *build == server.build {
        return server.clone();
    }
    ServerSpec {
        name: format!("{} with {build}", server.name),
        build: build.clone(),
        ..server.clone()
    }
}

/// Keys about nodes that a server does not have. With and without them its cells would be the same.
pub(crate) fn without_effect(experiment: &Experiment) -> Vec<Late> {
    let mut found: Vec<Late> = Vec::new();
    found.extend(experiment.servers.iter().filter_map(needless_routing));
    for factor in &experiment.factors {
        for level in &factor.levels {
            let servers = experiment.servers.iter();
            let own = servers.filter(|server| is_for(level, &server.name));
            found.extend(own.filter_map(|server| without_nodes(server, &factor.name, level)));
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
