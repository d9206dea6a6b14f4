//! The house stands as docs/ARCHITECTURE.md says: who may import whom.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Rooms of the crate `prony` and the rooms that each may use. `run` and `cli` may use everything below them.
const MAY_USE: [(&str, &[&str]); 8] = [
    ("spec", &[]),
    ("plan", &["spec"]),
    ("host", &[]),
    ("server", &["spec", "host"]),
    ("workload", &["server"]),
    ("observe", &["server", "host"]),
    (
        "run",
        &["spec", "plan", "host", "server", "workload", "observe"],
    ),
    (
        "cli",
        &[
            "spec", "plan", "host", "server", "workload", "observe", "run",
        ],
    ),
];

/// Crates of ours and the crates of ours that each may depend on.
const CRATES: [(&str, &[&str]); 6] = [
    ("datagen", &[]),
    ("load", &[]),
    ("wire", &["load"]),
    ("record", &[]),
    ("report", &["record"]),
    ("prony", &["datagen", "load", "wire", "record", "report"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Every `crate::ROOM::NEXT` in a file, braces opened: (room, next segment).
fn uses(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let path = &text[at + "crate::".len()..];
        let Some((room, rest)) = path.split_once("::") else {
            continue;
        };
        if !room.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            continue;
        }
        let listed = rest
            .strip_prefix('{')
            .and_then(|inside| inside.split_once('}'))
            .map(|(inside, _)| inside);
        for next in
            listed
                .unwrap_or(rest)
                .split(',')
                .take(if listed.is_some() { usize::MAX } else { 1 })
        {
            let next: String = next
                .trim()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            // Behind the last comma of a list stands nothing.
            if !next.is_empty() {
                found.push((room.to_string(), next));
            }
        }
    }
    found
}

#[test]
fn each_room_uses_only_the_rooms_it_may_and_only_by_their_top() {
    let source = root().join("crates/prony/src");
    let mut wrong = Vec::new();
    for (room, allowed) in MAY_USE {
        for file in sources(&source.join(room)) {
            for (used, next) in uses(&std::fs::read_to_string(&file).unwrap()) {
                let is_module = source.join(&used).join(format!("{next}.rs")).exists()
                    || source.join(&used).join(&next).is_dir();
                let composes = room == "run" || room == "cli";
                if used == room {
                    continue;
                }
                if !allowed.contains(&used.as_str()) {
                    wrong.push(format!("{} uses {used}", file.display()));
                } else if is_module && !composes {
                    wrong.push(format!("{} uses the inside {used}::{next}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_crate_depends_only_on_the_crates_it_may() {
    let ours: Vec<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in CRATES {
        let manifest =
            std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let used: BTreeMap<_, _> = manifest["dependencies"]
            .as_table()
            .unwrap()
            .iter()
            .filter(|(dependency, _)| ours.contains(&dependency.as_str()))
            .collect();
        for dependency in used.keys() {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} depends on {dependency}"
            );
        }
    }
}

#[test]
fn the_page_about_the_architecture_names_every_room() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    for (room, _) in MAY_USE {
        assert!(
            page.contains(&format!("`prony::{room}`")),
            "{room} is not in docs/ARCHITECTURE.md"
        );
    }
    for (name, _) in CRATES {
        assert!(
            page.contains(&format!("`crates/{name}`")),
            "{name} is not in docs/ARCHITECTURE.md"
        );
    }
}
