//! Reads the sections that a level or the file's top level changes: settings, session, limits, host, server, workload,
//! load, observe, protocol.
//!
//! Purpose: one reader for them wherever they occur. Boundaries: `workload` and `settings` read what is in two of them, `plan` merges them.

use super::settings::settings;
use super::workload::WorkloadBase;
use super::{observe, protocol};
use crate::experiment::Patch;
use crate::file::read::{Node, Section, to_table};
use crate::load;
use crate::machine::{host, limits};
use crate::server::build::{self, BuildSpec};
use crate::server::cluster::{self, ClusterPatch};

/// Reads the sections of a patch; `others` are keys of the same table that the caller reads.
pub(crate) fn patch<'s>(
    section: &Section<'s>,
    name: &str,
    others: &[&str],
    workload: &WorkloadBase<'s, '_>,
) -> Patch {
    let keys = [
        &[
            "settings", "session", "limits", "host", "server", "workload", "load", "observe",
            "protocol",
        ],
        others,
    ]
    .concat();
    for node in section.entries().filter(|node| !keys.contains(&node.key)) {
        match node.key {
            "clients" => node.note(
                "clients must be set in the load",
                "not here",
                "write load = { clients = 8 }",
            ),
            _ => section.unknown_key(name, &node, &keys),
        }
    }
    let of_server = section.read("server", |node| server_patch(node, name));
    Patch {
        settings: section.read("settings", settings),
        session: section.read("session", settings),
        build: of_server.as_ref().and_then(|(build, _)| build.clone()),
        cluster: of_server.map(|(_, cluster)| cluster).unwrap_or_default(),
        workload: section.read("workload", |node| workload_patch(node, workload)),
        load: section.read("load", load::level),
        limits: section.read("limits", limits::limits),
        host: section.read("host", host::host),
        observe: section.read("observe", observe::level),
        rounds: section.read("protocol", protocol::level),
    }
}

/// `server = { build = "mariadb@11.4.5" }` or `server = { nodes = 2 }`: a level may change the build of a server, and its nodes.
fn server_patch(node: &Node, level: &str) -> Option<(Option<BuildSpec>, ClusterPatch)> {
    let section = node.section("server = { build = \"mariadb@11.4.5\" }")?;
    let elsewhere = [
        (
            "topology",
            "write it in [server.NAME], and a second [server.NAME] for another one".to_string(),
        ),
        (
            "settings",
            format!("write settings = {{ ... }} in {level} itself"),
        ),
        (
            "dataset_from",
            "write it in [server.NAME]; it holds for every build of that server".to_string(),
        ),
    ];
    for (key, help) in &elsewhere {
        if let Some(node) = section.get(key) {
            let says = format!("\"{key}\" of a server cannot be changed in a level");
            node.note(says, "not here", help);
        }
    }
    let noted = elsewhere.each_ref().map(|(key, _)| *key);
    let name = format!("\"server\" of {level}");
    section.allow_besides(
        &name,
        &[["build"].as_slice(), &cluster::KEYS].concat(),
        &noted,
    );
    let cluster = ClusterPatch::read(&section);
    match section.get("build") {
        Some(node) => Some((Some(build::read(&node)?), cluster)),
        None if cluster != ClusterPatch::default() => Some((None, cluster)),
        None => {
            section.require(&name, "build", "build = \"mariadb@11.4.5\"");
            None
        }
    }
}

fn workload_patch<'s>(node: &Node<'s>, workload: &WorkloadBase<'s, '_>) -> Option<toml::Table> {
    let section = node.section("workload = { joins = \"ansi\" }")?;
    let table = workload.texts.table(&section)?;
    workload.check(Some((&section, &table)), node.notes);
    Some(to_table(&table))
}
