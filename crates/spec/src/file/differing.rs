//! Which keys of several experiment files differ.
//!
//! Purpose: what a comparison of runs shows first. Boundary: texts of records, which were checked when they were run.

use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Keys that describe an experiment and do not change what it measures.
const DESCRIBE: [&str; 4] = ["title", "question", "published", "claim"];

/// A key as in `protocol.time`, with its value in each file; none where a file lacks it.
type Differing = (String, Vec<Option<String>>);

/// The keys whose values are not the same in all files, without the builds of servers. A file that cannot be read has no keys.
pub fn differing_keys(sources: &[&str]) -> Vec<Differing> {
    let files: Vec<BTreeMap<String, String>> = sources.iter().map(|file| keys(file)).collect();
    let names: BTreeSet<&String> = files.iter().flat_map(BTreeMap::keys).collect();
    let values = |name: &String| files.iter().map(|file| file.get(name).cloned()).collect();
    names
        .into_iter()
        .map(|name| (name.clone(), values(name)))
        .filter(|(_, values): &Differing| values.iter().any(|value| *value != values[0]))
        .collect()
}

fn keys(source: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let file: Table = source.parse().unwrap_or_default();
    let kept = file
        .iter()
        .filter(|(key, _)| !DESCRIBE.contains(&key.as_str()));
    kept.for_each(|(key, value)| flatten(key.clone(), value, &mut found));
    found.retain(|key, _| !(key.starts_with("server.") && key.ends_with(".build")));
    found
}

fn flatten(path: String, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                flatten(format!("{path}.{key}"), value, found);
            }
        }
        Value::String(text) => {
            found.insert(path, text.clone());
        }
        other => {
            found.insert(path, other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_are_listed_with_their_values() {
        let old = "title = \"a\"\n[protocol]\ntime = \"10s\"\nblocks = 3\n[server.old]\nbuild = \"mariadb\"";
        let new = "title = \"b\"\n[protocol]\ntime = \"30s\"\nblocks = 3\n[settings]\nx = 1\n[server.new]\nbuild = \"mysql@9.7\"";
        let value = |text: &str| Some(text.to_string());
        assert_eq!(
            differing_keys(&[old, new]),
            [
                (
                    "protocol.time".to_string(),
                    vec![value("10s"), value("30s")]
                ),
                ("settings.x".to_string(), vec![None, value("1")]),
            ]
        );
    }
}
