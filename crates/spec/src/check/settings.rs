//! Checks settings against the server and the memory of the machine.
//!
//! Purpose: find mistakes that would keep a server from starting before anything is loaded, and show them in the file.
//! Boundaries: the caller queries the server.

use super::known::{Known, SettingKind, Wanted};
use crate::experiment::place::{Late, Path, answer, path};
use crate::experiment::{Experiment, LevelSpec, ServerSpec, served};
use crate::file::mistake::{SUGGESTED_MAX, SpecError};
use crate::text::setting::{Pairs, Setting, listed};
use crate::text::switches;
use crate::text::unit::size_text;

/// Settings for memory that a server allocates at start.
pub(crate) const POOLS: [&str; 3] = [
    "innodb_buffer_pool_size",
    "key_buffer_size",
    "aria_pagecache_buffer_size",
];

/// Checks every setting of the file against its servers. It is not a mistake if only some servers know a setting of a
/// level: the others skip it (see [`Known::lacks`]).
///
/// # Errors
/// Lists every setting, session variable and optimizer switch that none of its servers knows, and those that apply to
/// every trial of a server that does not know them. `known` may omit servers that do not run yet; settings that only they
/// may know are accepted.
pub fn unknown(experiment: &Experiment, known: &[Known]) -> Result<(), SpecError> {
    let mut late = Vec::new();
    for group in groups(experiment) {
        unknown_in(&group, known, &mut late);
    }
    answer(experiment, late)
}

fn unknown_in(group: &Group, known: &[Known], late: &mut Vec<Late>) {
    let of_target = |target: &String| known.iter().find(|known| known.server == *target);
    let all_asked = (group.targets.iter()).all(|target| of_target(target).is_some());
    let asked = group.targets.iter().filter_map(of_target);
    let asked: Vec<&Known> = asked.filter(|known| known.takes(group.kind)).collect();
    for (name, setting) in group.pairs {
        let wrong = switches::wrong_values(name, setting).into_iter();
        late.extend(wrong.map(|wrong| Late {
            path: step(&group.path, name),
            says: format!("\"{wrong}\" is not a valid optimizer switch"),
            label: "not a switch",
            help: "write FLAG=on, FLAG=off or FLAG=default, with commas between them".to_string(),
        }));
        for wanted in Wanted::of(name, setting) {
            let lacking: Vec<&Known> = asked
                .iter()
                .copied()
                .filter(|known| !known.knows(&wanted, group.kind))
                .collect();
            let nowhere = all_asked && !asked.is_empty() && lacking.len() == asked.len();
            if nowhere || (!group.is_level && !lacking.is_empty()) {
                let near = (late.len() < SUGGESTED_MAX)
                    .then(|| lacking.iter().find_map(|known| known.nearest(&wanted)));
                late.push(mistake(group, name, &wanted, &lacking, near.flatten()));
            }
        }
    }
}

fn mistake(
    group: &Group,
    name: &str,
    wanted: &Wanted,
    lacking: &[&Known],
    near: Option<&str>,
) -> Late {
    let servers: Vec<String> = lacking
        .iter()
        .map(|known| format!("\"{}\"", known.server))
        .collect();
    let (who, label) = match servers.as_slice() {
        [one] => (
            format!("the server {one} does not know"),
            "unknown to this server",
        ),
        several => (
            format!("none of the servers {} knows", several.join(", ")),
            "unknown to all of them",
        ),
    };
    Late {
        path: step(&group.path, name),
        says: format!("{who} {wanted}"),
        label,
        help: help(group, wanted, lacking[0], near),
    }
}

fn help(group: &Group, wanted: &Wanted, first: &Known, near: Option<&str>) -> String {
    let server = &first.server;
    if group.is_level {
        return match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "a level may set what only some of its servers know and skips the others; here it would skip every server".to_string(),
        };
    }
    let elsewhere = format!(
        "if only some servers know it, set it in a level with only = {{ server = [...] }} or replace it by on.\"{server}\".{}",
        group.kind.key()
    );
    match (near, wanted) {
        (Some(near), _) => format!("did you mean \"{near}\"? Or {elsewhere}"),
        (None, Wanted::Variable(name)) if name.starts_with("loose") => {
            "loose_ and a name that the server knows".to_string()
        }
        _ => elsewhere,
    }
}

/// # Errors
/// Lists every pool larger than the memory of the machine. `data_bytes` is the estimate that relative sizes refer to.
pub fn impossible(
    experiment: &Experiment,
    server: &str,
    data_bytes: u64,
    memory_bytes: u64,
) -> Result<(), SpecError> {
    let mut late = Vec::new();
    for (path, pairs) in settings_of(experiment, server) {
        let pools = pairs
            .iter()
            .filter(|(name, _)| POOLS.contains(&listed(name).as_str()));
        late.extend(pools.filter_map(|(name, setting)| {
            let bytes = setting.bytes(data_bytes)?;
            (bytes > memory_bytes).then(|| Late {
                path: step(&path, name),
                says: format!(
                    "{name} = {} exceeds the machine's memory of {}",
                    rough(bytes),
                    rough(memory_bytes)
                ),
                label: "does not fit",
                help: impossible_help(setting, data_bytes, memory_bytes),
            })
        }));
    }
    answer(experiment, late)
}

fn impossible_help(setting: &Setting, data_bytes: u64, memory_bytes: u64) -> String {
    match setting {
        Setting::OfData(_) => {
            let most = memory_bytes as f64 * 0.75 / data_bytes as f64;
            format!(
                "the loaded data is about {}: use a smaller --scale, or at most data * {most:.2}",
                rough(data_bytes)
            )
        }
        Setting::Literal(_) => format!(
            "use at most {}, which leaves memory for the rest",
            rough(memory_bytes / 4 * 3)
        ),
    }
}

/// Formats whole mebibytes.
pub(crate) fn rough(bytes: u64) -> String {
    size_text((bytes >> 20 << 20).max(1 << 20))
}

/// The settings of one section of the file.
struct Group<'e> {
    path: Path,
    kind: SettingKind,
    pairs: &'e Pairs<Setting>,
    /// The servers that they apply to.
    targets: Vec<String>,
    is_level: bool,
}

/// Every group of settings of the file.
fn groups(experiment: &Experiment) -> Vec<Group<'_>> {
    let names = |server: &ServerSpec, fixed| -> Vec<String> {
        let servers = served::variants(experiment, server, fixed).into_iter();
        servers.map(|server| server.name).collect()
    };
    let servers: Vec<String> = experiment
        .servers
        .iter()
        .flat_map(|server| names(server, None))
        .collect();
    let mut found = Vec::new();
    for kind in SettingKind::ALL {
        found.extend(kind.of(&experiment.base).map(|pairs| Group {
            path: path(&[kind.key()]),
            kind,
            pairs,
            targets: servers.clone(),
            is_level: false,
        }));
    }
    found.extend(experiment.servers.iter().map(|spec| Group {
        path: path(&["server", &spec.name, "settings"]),
        kind: SettingKind::Settings,
        pairs: &spec.settings,
        targets: names(spec, None),
        is_level: false,
    }));
    for factor in &experiment.factors {
        for level in &factor.levels {
            let at = path(&["factor", &factor.name, &level.name]);
            let own: Vec<(&str, Vec<String>)> = experiment
                .servers
                .iter()
                .filter(|server| served::is_for(level, &server.name))
                .map(|server| {
                    let fixed = Some((factor.name.as_str(), level));
                    (server.name.as_str(), names(server, fixed))
                })
                .collect();
            for kind in SettingKind::ALL {
                found.extend(of_level(level, &at, kind, &own));
            }
        }
    }
    found
}

/// The section of the level, and those that replace it for one server. `servers` are those of the file, each with its
/// variants.
fn of_level<'e>(
    level: &'e LevelSpec,
    at: &Path,
    kind: SettingKind,
    servers: &[(&'e str, Vec<String>)],
) -> Vec<Group<'e>> {
    let replaced = |server: &str| served::replaced(level, server).and_then(|patch| kind.of(patch));
    let common = kind.of(&level.patch).map(|pairs| Group {
        path: step(at, kind.key()),
        kind,
        pairs,
        targets: servers
            .iter()
            .filter(|(server, _)| replaced(server).is_none())
            .flat_map(|(_, targets)| targets.clone())
            .collect(),
        is_level: true,
    });
    let on = servers.iter().filter_map(|(server, targets)| {
        Some(Group {
            path: [at.clone(), path(&["on", server, kind.key()])].concat(),
            kind,
            pairs: replaced(server)?,
            targets: targets.clone(),
            is_level: true,
        })
    });
    common.into_iter().chain(on).collect()
}

/// Every group of settings that can apply to this server.
fn settings_of<'e>(experiment: &'e Experiment, server: &str) -> Vec<(Path, &'e Pairs<Setting>)> {
    let comes = |group: &Group| {
        group.kind == SettingKind::Settings && group.targets.iter().any(|target| target == server)
    };
    let groups = groups(experiment).into_iter().filter(comes);
    groups.map(|group| (group.path, group.pairs)).collect()
}

fn step(path: &Path, key: &str) -> Path {
    [path.as_slice(), &[key.to_string()]].concat()
}
