//! Lists of values, of names and of tables, which several sections have.
//!
//! Boundaries: `read` reads one key; the sections give the names a meaning.

use super::read::{Node, Section};
use crate::text::setting::Pairs;
use std::collections::HashSet;

/// The values of a list, or a single one, without duplicates. `twice` says what is listed again, and the way out.
pub(crate) fn distinct<'s, T: ToString>(
    node: &Node<'s>,
    example: &str,
    read: impl Fn(&Node<'s>) -> Option<T>,
    twice: impl Fn(&T) -> (String, &'static str),
) -> Vec<(Node<'s>, T)> {
    let mut values = Vec::new();
    let mut seen = HashSet::new();
    for element in node.one_or_more(example) {
        let Some(value) = read(&element) else {
            continue;
        };
        if seen.insert(value.to_string()) {
            values.push((element, value));
        } else {
            let (says, help) = twice(&value);
            element.note(says, "again", help);
        }
    }
    values
}

/// Names without duplicates, each with its place.
pub(crate) fn placed_names<'s>(node: &Node<'s>, example: &str) -> Vec<(Node<'s>, String)> {
    let twice = |name: &String| {
        let says = format!("\"{name}\" is listed twice in \"{}\"", node.key);
        (says, "list it once")
    };
    distinct(node, example, |node| node.name(example), twice)
}

/// Names without duplicates.
pub(crate) fn names(node: &Node, example: &str) -> Vec<String> {
    let names = placed_names(node, example).into_iter();
    names.map(|(_, name)| name).collect()
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
