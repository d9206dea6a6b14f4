//! Lists of names and lists of tables, which several sections have.
//!
//! Boundaries: `read` reads one key; the sections give the names a meaning.

use super::read::{Node, Section};
use crate::text::setting::Pairs;

/// Names without duplicates.
pub(crate) fn names(node: &Node, example: &str) -> Vec<String> {
    node.names(example)
        .into_iter()
        .map(|(_, name)| name)
        .collect()
}

/// The tables of `[[event]]` or `[[claim]]`.
pub(crate) fn tables<'s>(file: &Section<'s>, key: &str) -> Vec<Section<'s>> {
    let example = format!("[[{key}]], with two brackets");
    let nodes = file
        .get(key)
        .and_then(|node| node.list(&example))
        .unwrap_or_default();
    nodes
        .iter()
        .filter_map(|node| node.section(&example))
        .map(|section| heading(section, key))
        .collect()
}

/// The span of a table in a list is the whole table, so its first key is underlined instead.
fn heading<'s>(mut section: Section<'s>, key: &str) -> Section<'s> {
    section.at = section
        .entries()
        .next()
        .map_or(section.at.start..section.at.start + key.len(), |node| {
            node.key_at
        });
    section
}

/// `only = { server = ["5.6"] }`; `sections::names` checks the names later.
pub(crate) fn only(node: &Node) -> Pairs<Vec<String>> {
    let example = "only = { server = [\"5.6\"] }";
    let Some(section) = node.section(example) else {
        return Vec::new();
    };
    let of_factor = |node: Node| (node.key.to_string(), names(&node, example));
    section.entries().map(of_factor).collect()
}
