//! `[workload.X]`: the one workload of a file, and what levels change of it.
//!
//! Purpose: exactly one section, with the texts of its external files. Boundaries: the workload reads its own keys (`CheckWorkload`).

use super::texts::Texts;
use crate::experiment::TargetKind;
use crate::file::mistake::{Mistake, Notes, Span};
use crate::file::read::{Section, to_table};
use std::path::Path;
use toml::de::DeTable;

/// Lets a workload read its own section: it notes every mistake, and returns its target if there is none.
pub type CheckWorkload<'c> = &'c dyn Fn(&str, &Section) -> Option<TargetKind>;

/// The workload of the file: its section and the patches of levels.
pub(crate) struct WorkloadBase<'s, 'c> {
    pub name: String,
    /// None: the section is missing or invalid, which is noted.
    section: Option<(Span, DeTable<'s>)>,
    pub texts: Texts,
    check: CheckWorkload<'c>,
}

impl<'s, 'c> WorkloadBase<'s, 'c> {
    /// The section's keys without spans.
    pub(crate) fn table(&self) -> Option<toml::Table> {
        let (_, table) = self.section.as_ref()?;
        Some(to_table(table))
    }

    /// Lets the workload read its section, merged with the keys of a level, and notes mistakes.
    pub(crate) fn check(&self, patch: Option<(&Section<'s>, &DeTable<'s>)>, notes: &Notes) {
        let Some((at, base)) = &self.section else {
            return;
        };
        let of_base = self.mistakes(base, at);
        let Some((level, over)) = patch else {
            of_base.into_iter().for_each(|mistake| notes.add(mistake));
            return;
        };
        let merged = self.mistakes(&laid_over(base, over), at);
        // A mistake in the base is reported once, not for every level.
        for mistake in merged.into_iter().filter(|one| !of_base.contains(one)) {
            notes.add(if holds(over, &mistake.at()) {
                mistake
            } else {
                // The keys of the level contradict those of the base.
                mistake.moved(level.at.clone())
            });
        }
    }

    fn mistakes(&self, table: &DeTable, at: &Span) -> Vec<Mistake> {
        let notes = Notes::default();
        (self.check)(&self.name, &Section::new(&notes, table, at.clone()));
        notes.into_vec()
    }

    /// The target of the workload; a server if its section is invalid.
    pub(crate) fn target(&self) -> TargetKind {
        let notes = Notes::default();
        let target = self.section.as_ref().and_then(|(at, table)| {
            (self.check)(&self.name, &Section::new(&notes, table, at.clone()))
        });
        target.unwrap_or(TargetKind::Server)
    }
}

/// Whether a span is within one of the keys of the table, including `[a.b]` headings.
fn holds(table: &DeTable, place: &Span) -> bool {
    table.iter().any(|(key, value)| {
        let is_in = |at: Span| at.start <= place.start && place.end <= at.end;
        let inner = value.get_ref().as_table();
        is_in(key.span())
            || is_in(key.span().start..value.span().end)
            || inner.is_some_and(|inner| holds(inner, place))
    })
}

/// Like `merge`, but keeps the spans.
fn laid_over<'s>(base: &DeTable<'s>, over: &DeTable<'s>) -> DeTable<'s> {
    let own = base.iter().map(|(key, value)| {
        let (key, value) = over.get_key_value(key).unwrap_or((key, value));
        (key.clone(), value.clone())
    });
    let mut merged: DeTable = own.collect();
    merged.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

/// Merges two tables key by key; the second one wins.
pub fn merge(base: &toml::Table, over: &toml::Table) -> toml::Table {
    let mut merged = base.clone();
    merged.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

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
    let found = found.first();
    let base = WorkloadBase {
        name: found.map_or(String::new(), |(node, _)| node.key.to_string()),
        section: found
            .and_then(|(node, section)| Some((node.key_at.clone(), texts.table(section)?))),
        texts,
        check,
    };
    base.check(None, file.notes);
    base
}
