//! A file's settings against what a server knows and what the machine has.
//!
//! Goal: mistakes that would stop a server are found before anything is loaded, and shown in the file.
//! Non-goal: asking the server; the caller hands over what it knows.

use super::experiment::{Experiment, LevelSpec, Pairs, Setting};
use super::mistake::{SpecError, nearest};
use super::place::{Late, Path, answer, path};
use super::unit::size_text;

/// What a server takes before an option's name.
const PREFIXES: [&str; 5] = ["loose_", "skip_", "enable_", "disable_", "maximum_"];
/// Settings that a server takes from memory at its start.
pub const POOLS: [&str; 3] = [
    "innodb_buffer_pool_size",
    "key_buffer_size",
    "aria_pagecache_buffer_size",
];

/// `known` says whether the server knows a setting (with underscores), `names` are all that it knows, for the nearest.
///
/// # Errors
/// Every setting that the file gives this server and that it does not know.
pub fn unknown_settings(
    experiment: &Experiment,
    server: &str,
    known: &dyn Fn(&str) -> bool,
    names: &[String],
) -> Result<(), SpecError> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let knows = |name: &str| {
        known(name)
            || PREFIXES.iter().any(|prefix| {
                name.strip_prefix(prefix).is_some_and(known) || name.starts_with("loose_")
            })
    };
    let found = settings_of(experiment, server)
        .into_iter()
        .flat_map(|(path, pairs)| {
            pairs
                .iter()
                .filter(|(name, _)| !knows(name))
                .map(move |(name, _)| (step(&path, name), name))
        });
    let late = found.map(|(path, name)| Late {
        path,
        says: format!("the server \"{server}\" does not know the setting \"{name}\""),
        label: "not known to this server",
        help: unknown_help(server, name, nearest(name, &names)),
    });
    answer(experiment, late.collect())
}

fn unknown_help(server: &str, name: &str, near: Option<&str>) -> String {
    let elsewhere = format!(
        "where only some servers know it, write it in a level with only = {{ server = [...] }} or replace it by on.\"{server}\".settings"
    );
    match near {
        Some(near) => format!("did you mean \"{near}\"? Or {elsewhere}"),
        None if name.starts_with("loose") => "loose_ and a name that the server knows".to_string(),
        None => elsewhere,
    }
}

/// # Errors
/// Every pool that is larger than the machine's memory. `data_bytes` is the estimate that relative sizes refer to.
pub fn impossible(
    experiment: &Experiment,
    server: &str,
    data_bytes: u64,
    memory_bytes: u64,
) -> Result<(), SpecError> {
    let mut late = Vec::new();
    for (path, pairs) in settings_of(experiment, server) {
        for (name, setting) in pairs
            .iter()
            .filter(|(name, _)| POOLS.contains(&name.as_str()))
        {
            let Some(bytes) = setting
                .bytes(data_bytes)
                .filter(|bytes| *bytes > memory_bytes)
            else {
                continue;
            };
            late.push(Late {
                path: step(&path, name),
                says: format!(
                    "{name} = {} is beyond the machine's memory of {}",
                    rough(bytes),
                    rough(memory_bytes)
                ),
                label: "does not fit",
                help: impossible_help(setting, data_bytes, memory_bytes),
            });
        }
    }
    answer(experiment, late)
}

fn impossible_help(setting: &Setting, data_bytes: u64, memory_bytes: u64) -> String {
    match setting {
        Setting::OfData(_) => {
            let most = memory_bytes as f64 * 0.75 / data_bytes as f64;
            format!(
                "the loaded data is about {}: a smaller --scale, or at most data * {most:.2}",
                rough(data_bytes)
            )
        }
        Setting::Literal(_) => format!(
            "at most {} leaves room for the rest",
            rough(memory_bytes / 4 * 3)
        ),
    }
}

/// Whole mebibytes, for reading.
fn rough(bytes: u64) -> String {
    size_text((bytes >> 20 << 20).max(1 << 20))
}

/// Every group of settings that can come to this server, with its place.
fn settings_of<'e>(experiment: &'e Experiment, server: &str) -> Vec<(Path, &'e Pairs<Setting>)> {
    let mut found: Vec<(Path, &Pairs<Setting>)> = Vec::new();
    found.extend(
        experiment
            .base
            .settings
            .iter()
            .map(|pairs| (path(&["settings"]), pairs)),
    );
    let own = experiment.servers.iter().find(|spec| spec.name == server);
    found.extend(own.map(|spec| (path(&["server", server, "settings"]), &spec.settings)));
    for factor in &experiment.factors {
        for level in factor.levels.iter().filter(|level| is_for(level, server)) {
            let at = path(&["factor", &factor.name, &level.name]);
            let replaced = level
                .on
                .iter()
                .find(|(name, _)| name == server)
                .and_then(|(_, patch)| patch.settings.as_ref());
            found.extend(match replaced {
                Some(pairs) => Some(([at, path(&["on", server, "settings"])].concat(), pairs)),
                None => level
                    .patch
                    .settings
                    .as_ref()
                    .map(|pairs| (step(&at, "settings"), pairs)),
            });
        }
    }
    found
}

fn is_for(level: &LevelSpec, server: &str) -> bool {
    level
        .only
        .iter()
        .all(|(factor, names)| factor != "server" || names.iter().any(|name| name == server))
}

fn step(path: &Path, key: &str) -> Path {
    [path.as_slice(), &[key.to_string()]].concat()
}
