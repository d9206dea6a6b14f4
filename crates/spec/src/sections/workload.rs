//! `[workload.X]`: the one workload of a file.
//!
//! Purpose: exactly one section, with the texts of its external files. Boundaries: `patch` lets the workload read its keys.

use super::patch::{CheckWorkload, WorkloadBase};
use super::texts::Texts;
use crate::file::read::Section;
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
