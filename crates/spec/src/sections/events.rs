//! `[[event]]`: actions during the load, and their times.
//!
//! Purpose: the time of an event and the key that names its kind. Boundaries: `check::events` has each kind read its own value; `names`
//! checks the levels in `only`.

use super::settings::settings;
use crate::experiment::condition::condition;
use crate::experiment::event::{EventSpec, EventTime, KINDS, SET, SetSpec};
use crate::file::lists::{only, tables};
use crate::file::read::{Node, Section};
use crate::machine::limits::{LimitsPatch, limits};

/// The keys that say when an event happens.
const TIMES: [&str; 3] = ["at", "every", "when"];

/// Reads the events of a file, without the values of their kinds.
pub(crate) fn events(file: &Section) -> Vec<EventSpec> {
    tables(file, "event")
        .iter()
        .enumerate()
        .filter_map(|(index, section)| event(section, index))
        .collect()
}

fn event(section: &Section, index: usize) -> Option<EventSpec> {
    let keys = [KINDS.as_slice(), TIMES.as_slice(), &["only"]].concat();
    section.allow("[[event]]", &keys);
    let kind = kind(section);
    let when = time(section);
    let set = section.get_or(SET, None, |node| set(node).map(Some));
    Some(EventSpec {
        kind: kind?,
        index,
        when: when?,
        only: section.get("only").map_or(Vec::new(), |node| only(&node)),
        set: set?,
    })
}

/// The value of a `set` event.
fn set(node: &Node) -> Option<SetSpec> {
    let example = "set = { limits = { write_iops = 200 } }";
    let section = node.section(example)?;
    let noted = section.notes.count();
    section.allow(SET, &["limits", "settings"]);
    let set = SetSpec {
        limits: section.read("limits", limits),
        settings: section.read("settings", settings).unwrap_or_default(),
    };
    let limits = set.limits.unwrap_or_default();
    let is_empty = limits == LimitsPatch::default() && set.settings.is_empty();
    if is_empty && section.notes.count() == noted {
        let says = "a \"set\" event changes limits or settings, and this one changes nothing";
        node.note(says, "empty", format!("write {example}"));
    }
    Some(set)
}

/// The one key that names the kind.
fn kind(section: &Section) -> Option<String> {
    let mut kinds = KINDS.iter().filter_map(|kind| section.get(kind));
    let Some(node) = kinds.next() else {
        let sql = "sql = \"select count(*) from part\"";
        return section.require("[[event]]", "sql", sql).and(None);
    };
    if let Some(second) = kinds.next() {
        second.note("an event has one kind", "a second one", "write two events");
        return None;
    }
    Some(node.key.to_string())
}

fn time(section: &Section) -> Option<EventTime> {
    let mut times = TIMES.iter().filter_map(|key| section.get(key));
    let Some(node) = times.next() else {
        let example = "at = \"30s\", every = \"10s\" or when = \"checkpoint_age > 80%\"";
        return section.require("[[event]]", "at", example).and(None);
    };
    if let Some(second) = times.next() {
        second.note(
            "an event has one of \"at\", \"every\" and \"when\"",
            "a second time",
            "write two events",
        );
        return None;
    }
    match node.key {
        "at" => node.time("at = \"30s\"").map(EventTime::At),
        "every" => node.duration("every = \"10s\"").map(EventTime::Every),
        _ => condition(&node).map(EventTime::When),
    }
}
