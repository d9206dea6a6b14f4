//! The servers of trials: those of the file, with builds replaced by levels.
//!
//! A level with a `build` creates another server with a name such as `5.6 with mariadb@11.4.5`. The key of a trial names
//! the server of the file and the level.

use super::{Experiment, LevelSpec, Patch, ServerSpec};
use crate::server::build::BuildSpec;
use crate::server::cluster::ClusterPatch;

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
pub(crate) fn variants(
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
pub(crate) fn nodes<'e>(level: &'e LevelSpec, server: &str) -> &'e ClusterPatch {
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
