//! `[workload.X]`, lists of names and lists of tables.
//!
//! Purpose: their keys, defaults and ranges. Boundaries: `names` and `queries` check references.

use super::patch::{CheckWorkload, WorkloadBase};
use super::read::{Node, Section};
use super::texts::Texts;
use std::path::Path;

/// Reads the workload. Paths of its texts are relative to `folder`.
pub(crate) fn workload<'s, 'c>(
    file: &Section<'s>,
    folder: &Path,
    check: CheckWorkload<'c>,
) -> WorkloadBase<'s, 'c> {
    let example = "[workload.ssb] with scale = 1 below it";
    let sections = file
        .require("the file", "workload", example)
        .and_then(|node| node.section(example));
    let found = sections
        .as_ref()
        .map(|section| section.sections(example))
        .unwrap_or_default();
    for (node, _) in found.iter().skip(1) {
        node.note(
            "a file can have only one workload",
            "a second one",
            "write a second file for it",
        );
    }
    if let (Some(section), true) = (&sections, found.is_empty()) {
        file.notes.note(
            section.at.clone(),
            "the workload is not named",
            "empty",
            format!("write {example}"),
        );
    }
    let texts = Texts::new(folder);
    let found = found.into_iter().next().map(|(node, section)| {
        let table = texts.table(&section);
        (node, table)
    });
    let base = WorkloadBase::new(found, texts, check);
    base.check(None, file.notes);
    base
}

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
