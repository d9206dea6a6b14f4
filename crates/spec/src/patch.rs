//! The sections that a server, a level or the file's top level changes: settings, session, workload, load, limits, observe,
//! protocol.
//!
//! Goal: one reader for them wherever they stand. Non-goal: laying them over each other (see `plan`).

use super::experiment::{Pairs, Patch, Setting};
use super::limits;
use super::load;
use super::mistake::Notes;
use super::observe;
use super::protocol;
use super::read::{Node, Section};
use super::texts::{self, Texts};
use toml::de::DeValue;

/// Where a patch's workload keys are handed to: the workload's own check.
pub type CheckWorkload<'c> = &'c dyn Fn(&str, &toml::Table) -> Result<(), super::KeyMistake>;

/// The key of a patch that the design knows and that comes later, and what to do until then.
const LATER: (&str, &str) = (
    "server",
    "levels that change the server itself; write a [server.NAME] for each instead",
);

/// What the patch needs to know of the file's workload.
pub struct WorkloadBase<'s, 'c> {
    pub name: String,
    pub section: Option<Section<'s>>,
    /// The section as the workload sees it; without it nothing is asked of the workload.
    pub table: toml::Table,
    pub texts: Texts,
    pub check: CheckWorkload<'c>,
}

impl<'s> WorkloadBase<'s, '_> {
    /// Asks the workload about its section with these keys laid over it, and gives its answer a place.
    pub fn check(&self, patch: Option<(&Section<'s>, &toml::Table)>, notes: &Notes) {
        let Some(base) = &self.section else { return };
        let merged = match patch {
            Some((_, over)) => merge(&self.table, over),
            None => self.table.clone(),
        };
        let Err(mistake) = (self.check)(&self.name, &merged) else {
            return;
        };
        let path: Vec<String> = mistake.key.split('.').map(String::from).collect();
        let in_patch = patch.and_then(|(section, _)| texts::follow(section, &path));
        let at = match (patch, in_patch) {
            (_, Some(node)) => node.at(),
            (None, None) => texts::follow(base, &path).map_or(base.at.clone(), |node| node.at()),
            // A mistake of the base is reported once, not again for every level.
            (Some(_), None) if (self.check)(&self.name, &self.table).is_err() => return,
            // The level's keys do not go with those of the base.
            (Some((patch, _)), None) => patch.at.clone(),
        };
        notes.note(at, mistake.says, "here", mistake.help);
    }
}

/// The second table laid over the first, key by key.
pub fn merge(base: &toml::Table, over: &toml::Table) -> toml::Table {
    let mut merged = base.clone();
    merged.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

/// The sections of a patch; `others` are keys of the same table that the caller reads.
pub fn patch<'s>(
    section: &Section<'s>,
    name: &str,
    others: &[&str],
    workload: &WorkloadBase<'s, '_>,
) -> Patch {
    let keys = [
        &[
            "settings", "session", "workload", "load", "limits", "observe", "protocol",
        ],
        others,
    ]
    .concat();
    for node in section.entries().filter(|node| !keys.contains(&node.key)) {
        match node.key {
            key if key == LATER.0 => {
                let what = format!("\"{key}\" in {name}");
                node.notes.not_built(node.at(), &what, LATER.1);
            }
            "clients" => node.note(
                "clients belong to the load",
                "not here",
                "write load = { clients = 8 }",
            ),
            _ => section.unknown_key(name, &node, &keys),
        }
    }
    Patch {
        settings: section.get("settings").and_then(|node| settings(&node)),
        session: section.get("session").and_then(|node| settings(&node)),
        workload: section
            .get("workload")
            .and_then(|node| workload_patch(&node, workload)),
        load: section.get("load").and_then(|node| load::level(&node)),
        limits: section.get("limits").and_then(|node| limits::limits(&node)),
        observe: section
            .get("observe")
            .and_then(|node| observe::level(&node)),
        rounds: section
            .get("protocol")
            .and_then(|node| protocol::level(&node)),
    }
}

fn workload_patch<'s>(node: &Node<'s>, workload: &WorkloadBase<'s, '_>) -> Option<toml::Table> {
    let section = node.section("workload = { joins = \"ansi\" }")?;
    let table = workload.texts.table(&section)?;
    workload.check(Some((&section, &table)), node.notes);
    Some(table)
}

/// `settings` or `session`: names with their values.
pub fn settings(node: &Node) -> Option<Pairs<Setting>> {
    let section = node.section(&format!(
        "{} = {{ innodb_buffer_pool_size = \"1G\" }}",
        node.key
    ))?;
    let mut pairs: Pairs<Setting> = Vec::new();
    for node in section.entries() {
        let name = node.key.replace('-', "_");
        if pairs.iter().any(|(earlier, _)| *earlier == name) {
            node.note(
                format!("\"{name}\" is set twice: - and _ are the same in a setting's name"),
                "again",
                "set it once",
            );
        } else if let Some(value) = setting(&node) {
            pairs.push((name, value));
        }
    }
    Some(pairs)
}

fn setting(node: &Node) -> Option<Setting> {
    match node.value {
        DeValue::Boolean(truth) => Some(Setting::Literal(u8::from(*truth).to_string())),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Some(Setting::Literal(number.to_string())),
            Err(_) => {
                node.note(
                    "this number is larger than any server takes",
                    "too large",
                    "write a smaller one",
                );
                None
            }
        },
        DeValue::Float(number) => Some(Setting::Literal(number.to_string())),
        _ => {
            match Setting::from_text(node.text(&format!("{} = \"64M\"", node.key))?) {
                Ok(setting) => Some(setting),
                Err(error) => {
                    node.note(
                    error.to_string(),
                    "not a value that a server takes",
                    format!("write {0} = \"64M\", or {0} = \"data / 8\" for a part of the loaded data", node.key),
                );
                    None
                }
            }
        }
    }
}
