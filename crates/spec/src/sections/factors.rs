//! `[server.X]`, `[variant.X]` and `[factor.F.L]`: servers, factors and levels.
//!
//! Purpose: read them in file order. Boundaries: `names` checks their references to each other, `plan` crosses them.

use super::patch::patch;
use super::settings::settings;
use super::texts::Texts;
use super::workload::WorkloadBase;
use crate::experiment::{FactorSpec, LevelSpec, Patch, ServerSpec, TargetKind};
use crate::file::lists::only;
use crate::file::read::{Node, Section};
use crate::server::build::{self, BuildSpec};
use crate::server::cluster;
use crate::text::setting::{Pairs, Setting};
use record::LoadFactor;
use std::collections::HashSet;

/// Names that the cell of a claim uses for something else, apart from factors of the load.
const RESERVED: [&str; 4] = ["server", "round", "query", "block"];

/// The servers; none for a workload that runs on a folder.
pub(crate) fn servers(file: &Section, workload: &WorkloadBase) -> Vec<ServerSpec> {
    let example = "[server.\"5.6\"] with build = \"mysql@5.6.14\" below it";
    if workload.target() == TargetKind::Folder {
        if let Some(node) = file.get("server") {
            without_server(&node, &workload.name);
        }
        return Vec::new();
    }
    let Some(section) = file
        .require("the file", "server", example)
        .and_then(|node| node.section(example))
    else {
        return Vec::new();
    };
    let servers = section.sections(example);
    if servers.is_empty() {
        file.notes.note(
            section.at.clone(),
            "the file defines no server: there is nothing to measure",
            "empty",
            format!("write {example}"),
        );
    }
    servers
        .iter()
        .map(|(node, section)| server(node, section, &workload.texts))
        .collect()
}

fn server(node: &Node, section: &Section, texts: &Texts) -> ServerSpec {
    let name = format!("[server.\"{}\"]", node.key);
    let keys = ["build", "dataset_from", "settings", "settings_file"];
    section.allow(&name, &[keys.as_slice(), &cluster::KEYS].concat());
    let build = section
        .require(&name, "build", "build = \"mariadb\"")
        .and_then(|node| build::read(&node));
    // The mistake is noted, so this placeholder is never used.
    let build = build.unwrap_or(BuildSpec::Sqlite);
    let (cluster, routing) = cluster::of_server(section, &name, &build);
    let settings = settings_of(section, texts, &build).unwrap_or_default();
    ServerSpec {
        name: node.key.to_string(),
        cluster,
        routing,
        build,
        dataset_from: section.read("dataset_from", |node| node.name("dataset_from = \"5.5\"")),
        settings,
    }
}

/// From the file itself, or from a server's own option file.
fn settings_of(section: &Section, texts: &Texts, build: &BuildSpec) -> Option<Pairs<Setting>> {
    match (section.get("settings"), section.get("settings_file")) {
        (Some(_), Some(node)) => {
            let says = "both settings and settings_file are set";
            let help = "keep one of the two; what a variant sets has priority over both";
            node.note(says, "a second one", help);
            None
        }
        (Some(node), None) => settings(&node),
        (None, Some(node)) => texts.settings(&node, build),
        (None, None) => None,
    }
}

/// Notes a key that requires a server.
pub(crate) fn without_server(node: &Node, workload: &str) {
    let says = format!(
        "the workload \"{workload}\" runs on a folder, without a server: nothing uses \"{}\"",
        node.key
    );
    node.notes
        .note(node.key_at.clone(), says, "no server", "remove it");
}

/// Reads the factors, except servers and those of the load, in the file order of their first levels.
pub(crate) fn factors<'s>(file: &Section<'s>, workload: &WorkloadBase<'s, '_>) -> Vec<FactorSpec> {
    let mut found: Vec<(usize, FactorSpec)> = Vec::new();
    if let Some(node) = file.get("variant") {
        add(
            &mut found,
            &node,
            "variant",
            "[variant.\"small pool\"]",
            workload,
        );
    }
    let example = "[factor.instances.1]";
    let factors = file.get("factor").and_then(|node| node.section(example));
    for (node, _) in factors.iter().flat_map(|section| section.sections(example)) {
        if RESERVED.contains(&node.key) || LoadFactor::named(node.key).is_some() {
            let help = "servers belong in [server.NAME], and clients, rate and workers in [load]; rename the factor";
            node.note(
                format!("a factor cannot be called \"{}\"", node.key),
                "reserved name",
                help,
            );
        } else {
            add(
                &mut found,
                &node,
                node.key,
                "[factor.instances.1]",
                workload,
            );
        }
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, factor)| factor).collect()
}

fn add<'s>(
    found: &mut Vec<(usize, FactorSpec)>,
    node: &Node<'s>,
    name: &str,
    example: &str,
    workload: &WorkloadBase<'s, '_>,
) {
    let Some(section) = node.section(example) else {
        return;
    };
    let levels = section.sections(example);
    let Some((first, _)) = levels.first() else {
        node.note(
            format!("the factor \"{name}\" has no levels: the matrix is empty"),
            "no levels",
            format!("write {example}"),
        );
        return;
    };
    let place = first.key_at.start;
    let index = found
        .iter()
        .position(|(_, factor)| factor.name == name)
        .unwrap_or_else(|| {
            found.push((
                place,
                FactorSpec {
                    name: name.to_string(),
                    levels: Vec::new(),
                },
            ));
            found.len() - 1
        });
    let earlier = found[index].1.levels.iter();
    let mut names: HashSet<String> = earlier.map(|level| level.name.clone()).collect();
    for (node, section) in levels {
        let level = level(name, &node, &section, workload);
        if !names.insert(level.name.clone()) {
            let says = format!("the variant \"{}\" is defined twice", level.name);
            node.note(
                says,
                "again",
                "[variant.X] is short for [factor.variant.X]: keep one of the two",
            );
        }
        found[index].1.levels.push(level);
    }
}

fn level<'s>(
    factor: &str,
    node: &Node<'s>,
    section: &Section<'s>,
    workload: &WorkloadBase<'s, '_>,
) -> LevelSpec {
    let name = match factor {
        "variant" => format!("[variant.\"{}\"]", node.key),
        _ => format!("[factor.{factor}.\"{}\"]", node.key),
    };
    LevelSpec {
        name: node.key.to_string(),
        patch: patch(section, &name, &["only", "on"], workload),
        only: section.get("only").map_or(Vec::new(), |node| only(&node)),
        on: on(section, &name, workload),
    }
}

/// `on."8.0".settings = { ... }`
fn on<'s>(section: &Section<'s>, name: &str, workload: &WorkloadBase<'s, '_>) -> Pairs<Patch> {
    let example = "on.\"8.0\".settings = { innodb_redo_log_capacity = \"8G\" }";
    let Some(on) = section.get("on").and_then(|node| node.section(example)) else {
        return Vec::new();
    };
    let replaced = |(node, section): (Node<'s>, Section<'s>)| {
        let name = format!("on.\"{}\" of {name}", node.key);
        (node.key.to_string(), patch(&section, &name, &[], workload))
    };
    on.sections(example).into_iter().map(replaced).collect()
}
