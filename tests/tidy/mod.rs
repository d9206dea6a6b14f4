//! Holds the tree tidy: imports without cycles, sizes, words, and facts in one place. Each list of exceptions says why, and an exception
//! that is not needed any more fails its test.
//!
//! Tier: default.

mod docs;
mod imports;
mod sizes;
mod twice;

use crate::support::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The crates by name, each with the folder of its sources.
fn crates() -> Vec<(String, PathBuf)> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap().flatten();
    let named = folders.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, entry.path().join("src"))
    });
    let mut crates: Vec<_> = named.filter(|(_, src)| src.is_dir()).collect();
    crates.sort();
    crates
}

/// The files below a folder whose names end like this.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The path below the repository, for messages.
fn shown(path: &Path) -> String {
    let below = path.strip_prefix(root()).unwrap_or(path);
    below.display().to_string()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Whether a file holds nothing but tests.
fn is_for_tests(file: &Path) -> bool {
    file.iter()
        .any(|part| part == "tests" || part == "tests.rs" || part == "fixture.rs")
}

/// A file without its comments and its module of tests, which others may see.
fn production(file: &Path) -> String {
    let text = text(file);
    let code = text.split("mod tests {").next().unwrap();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Compares what was found with the exceptions. `remedy` says what to do about a finding.
fn only_exceptions(found: BTreeSet<String>, exceptions: &[(&str, &str)], remedy: &str) {
    let known: BTreeSet<String> = exceptions.iter().map(|(it, _)| it.to_string()).collect();
    let new: Vec<_> = found.difference(&known).collect();
    let stale: Vec<_> = known.difference(&found).collect();
    assert!(new.is_empty(), "{remedy}: {new:#?}");
    assert!(stale.is_empty(), "remove these exceptions: {stale:#?}");
}
