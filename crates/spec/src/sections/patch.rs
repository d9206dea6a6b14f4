//! Reads the sections that a level or the file's top level changes: settings, session, limits, host, server, workload,
//! load, observe, protocol.
//!
//! Purpose: one reader for them wherever they occur. Boundaries: `plan` merges them.

use super::texts::Texts;
use super::{observe, protocol};
use crate::experiment::{Patch, TargetKind};
use crate::file::mistake::{Mistake, Notes, Span};
use crate::file::read::{Node, Section, to_table};
use crate::load;
use crate::machine::{host, limits};
use crate::server::build::{self, BuildSpec};
use crate::server::cluster::{self, ClusterPatch};
use crate::server::confined::Unconfined;
use crate::text::setting::{Pairs, Setting, plain};
use std::collections::HashSet;
use toml::de::{DeTable, DeValue};

/// Lets a workload read its own section: it notes every mistake, and returns its target if there is none.
pub type CheckWorkload<'c> = &'c dyn Fn(&str, &Section) -> Option<TargetKind>;

/// The workload of the file: its section and the patches of levels.
pub(crate) struct WorkloadBase<'s, 'c> {
    pub name: String,
    /// None: the section is missing or invalid, which is noted.
    section: Option<(Span, DeTable<'s>)>,
    pub texts: Texts,
    check: CheckWorkload<'c>,
}

impl<'s, 'c> WorkloadBase<'s, 'c> {
    /// `found` is the key of the section, and the section itself if its texts could be read.
    pub(crate) fn new(
        found: Option<(Node<'s>, Option<DeTable<'s>>)>,
        texts: Texts,
        check: CheckWorkload<'c>,
    ) -> WorkloadBase<'s, 'c> {
        let name = found.as_ref().map(|(node, _)| node.key.to_string());
        WorkloadBase {
            name: name.unwrap_or_default(),
            section: found.and_then(|(node, table)| Some((node.key_at, table?))),
            texts,
            check,
        }
    }

    /// The section's keys without spans.
    pub(crate) fn table(&self) -> Option<toml::Table> {
        let (_, table) = self.section.as_ref()?;
        Some(to_table(table))
    }

    /// Lets the workload read its section, merged with the keys of a level, and notes mistakes.
    pub(crate) fn check(&self, patch: Option<(&Section<'s>, &DeTable<'s>)>, notes: &Notes) {
        let Some((at, base)) = &self.section else {
            return;
        };
        let of_base = self.mistakes(base, at);
        let Some((level, over)) = patch else {
            of_base.into_iter().for_each(|mistake| notes.add(mistake));
            return;
        };
        let merged = self.mistakes(&laid_over(base, over), at);
        // A mistake in the base is reported once, not for every level.
        for mistake in merged.into_iter().filter(|one| !of_base.contains(one)) {
            notes.add(if holds(over, &mistake.at()) {
                mistake
            } else {
                // The keys of the level contradict those of the base.
                mistake.moved(level.at.clone())
            });
        }
    }

    fn mistakes(&self, table: &DeTable, at: &Span) -> Vec<Mistake> {
        let notes = Notes::default();
        (self.check)(&self.name, &Section::new(&notes, table, at.clone()));
        notes.into_vec()
    }

    /// The target of the workload; a server if its section is invalid.
    pub(crate) fn target(&self) -> TargetKind {
        let notes = Notes::default();
        let target = self.section.as_ref().and_then(|(at, table)| {
            (self.check)(&self.name, &Section::new(&notes, table, at.clone()))
        });
        target.unwrap_or(TargetKind::Server)
    }
}

/// Whether a span is within one of the keys of the table, including `[a.b]` headings.
fn holds(table: &DeTable, place: &Span) -> bool {
    table.iter().any(|(key, value)| {
        let is_in = |at: Span| at.start <= place.start && place.end <= at.end;
        let inner = value.get_ref().as_table();
        is_in(key.span())
            || is_in(key.span().start..value.span().end)
            || inner.is_some_and(|inner| holds(inner, place))
    })
}

/// Like `merge`, but keeps the spans.
fn laid_over<'s>(base: &DeTable<'s>, over: &DeTable<'s>) -> DeTable<'s> {
    let own = base.iter().map(|(key, value)| {
        let (key, value) = over.get_key_value(key).unwrap_or((key, value));
        (key.clone(), value.clone())
    });
    let mut merged: DeTable = own.collect();
    merged.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

/// Merges two tables key by key; the second one wins.
pub fn merge(base: &toml::Table, over: &toml::Table) -> toml::Table {
    let mut merged = base.clone();
    merged.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

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
    let of_server = section.get("server");
    let of_server = of_server.and_then(|node| server_patch(&node, name));
    Patch {
        settings: section.get("settings").and_then(|node| settings(&node)),
        session: section.get("session").and_then(|node| settings(&node)),
        build: of_server.as_ref().and_then(|(build, _)| build.clone()),
        cluster: of_server.map(|(_, cluster)| cluster).unwrap_or_default(),
        workload: section
            .get("workload")
            .and_then(|node| workload_patch(&node, workload)),
        load: section.get("load").and_then(|node| load::level(&node)),
        limits: section.get("limits").and_then(|node| limits::limits(&node)),
        host: section.get("host").and_then(|node| host::host(&node)),
        observe: section
            .get("observe")
            .and_then(|node| observe::level(&node)),
        rounds: section
            .get("protocol")
            .and_then(|node| protocol::level(&node)),
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

/// The key of a server's configuration; `session` is SET on a connection.
const SETTINGS: &str = "settings";

/// Reads `settings` or `session`: names and values.
pub(crate) fn settings(node: &Node) -> Option<Pairs<Setting>> {
    let is_of_server = node.key == SETTINGS;
    let section = node.section(&format!(
        "{} = {{ innodb_buffer_pool_size = \"1G\" }}",
        node.key
    ))?;
    let mut pairs: Pairs<Setting> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for node in section.entries() {
        let name = plain(node.key);
        if !seen.insert(name.clone()) {
            node.note(
                format!("\"{name}\" is set twice: - and _ are equivalent in the name of a setting"),
                "again",
                "set it once",
            );
        } else if let Some(value) = setting(&node) {
            match is_of_server {
                true => note_unconfined(&node, &value),
                false => note_uncommitted(&node, &name, &value),
            }
            pairs.push((name, value));
        }
    }
    Some(pairs)
}

fn note_unconfined(node: &Node, value: &Setting) {
    if let Some(refused) = Unconfined::of(node.key, &value.to_string()) {
        let (says, label, help) = refused.texts(node.key);
        node.note(says, label, help);
    }
}

/// Without autocommit, nothing of what the server acknowledges is kept.
fn note_uncommitted(node: &Node, name: &str, value: &Setting) {
    let commits = ["1", "on", "true"].map(|on| Setting::Literal(on.into()));
    let lower = Setting::Literal(value.to_string().to_ascii_lowercase());
    if name == "autocommit" && !commits.contains(&lower) {
        node.note(
            format!("autocommit = {value} would leave every operation uncommitted"),
            "must be 1",
            "remove it: every session sets autocommit = 1; for a transaction of several statements write begin; ...; commit",
        );
    }
}

fn setting(node: &Node) -> Option<Setting> {
    match node.value {
        DeValue::Boolean(truth) => Some(Setting::Literal(u8::from(*truth).to_string())),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Some(Setting::Literal(number.to_string())),
            Err(_) => {
                node.note(
                    "this number exceeds the maximum of every server",
                    "too large",
                    "write a smaller number",
                );
                None
            }
        },
        DeValue::Float(number) => Some(Setting::Literal(number.to_string())),
        _ => match Setting::from_text(node.text(&format!("{} = \"64M\"", node.key))?) {
            Ok(setting) => Some(setting),
            Err(error) => {
                node.note(
                    error.to_string(),
                    "not a valid value",
                    format!("write {0} = \"64M\", or {0} = \"data / 8\" for a fraction of the loaded data", node.key),
                );
                None
            }
        },
    }
}
