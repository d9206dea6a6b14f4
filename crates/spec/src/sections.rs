//! `[workload.X]`, and how lists of names and of tables are read.
//!
//! Goal: their keys, defaults and ranges. Non-goal: names of servers, levels and queries in them (see `names`, `queries`).

use super::patch::{CheckWorkload, WorkloadBase};
use super::read::{Node, Section};
use super::texts::Texts;
use std::path::Path;

/// The file's one workload. `folder` is where the paths of its texts begin.
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
            "a file has one workload",
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

/// The place of a table in a list is all of it; what is underlined is its first key.
fn heading<'s>(mut section: Section<'s>, key: &str) -> Section<'s> {
    section.at = section
        .entries()
        .next()
        .map_or(section.at.start..section.at.start + key.len(), |node| {
            node.key_at
        });
    section
}
