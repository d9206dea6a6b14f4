//! `[[event]]`: what happens beside the load.
//!
//! Goal: the kinds of events and their times. Non-goals: the levels that `only` names (see `names`); doing them.

use super::experiment::{EventKind, EventSpec, EventTime, Experiment};
use super::factors::only;
use super::mistake::{Notes, SpecError};
use super::place::{Late, answer, path};
use super::read::Section;
use super::sections::tables;

/// The kinds of events of the design that come later, with what they come with.
const LATER: [(&str, &str); 6] = [
    ("kill", "crash and recovery"),
    ("stop", "crash and recovery"),
    ("start", "crash and recovery"),
    ("set", "settings that change during a round"),
    ("cut", "clusters"),
    ("heal", "clusters"),
];
const KINDS: [&str; 3] = ["sql", "dump", "pause"];
const SQL: &str = "sql = \"select count(*) from part\"";
const PAUSE: &str = "pause = { for = \"1s\" }";

pub fn events(file: &Section) -> Vec<EventSpec> {
    tables(file, "event")
        .iter()
        .filter_map(|section| event(section, file.notes))
        .collect()
}

/// The statements of events, as far as they can be told without a server. `split` gives what is wrong with a text.
///
/// # Errors
/// Every event whose text is wrong.
pub fn check(
    experiment: &Experiment,
    split: &dyn Fn(&str) -> Result<(), String>,
) -> Result<(), SpecError> {
    let wrong = experiment
        .events
        .iter()
        .enumerate()
        .filter_map(|(index, event)| {
            let EventKind::Sql(sql) = &event.kind else {
                return None;
            };
            let says = split(sql).err()?;
            Some(Late {
                path: path(&["event", &index.to_string(), "sql"]),
                says,
                label: "here",
                help: format!("statements are separated by semicolons: {SQL}"),
            })
        });
    answer(experiment, wrong.collect())
}

fn event(section: &Section, notes: &Notes) -> Option<EventSpec> {
    let mut later = false;
    for (kind, with) in LATER {
        if let Some(node) = section.get(kind) {
            notes.not_built(node.at(), &format!("events of the kind \"{kind}\""), with);
            later = true;
        }
    }
    if let Some(node) = section.get("when") {
        notes.not_built(
            node.at(),
            "events with a condition (\"when\")",
            "conditions on the server's counters",
        );
        later = true;
    }
    let noted: Vec<&str> = LATER
        .iter()
        .map(|(kind, _)| *kind)
        .chain(["when"])
        .collect();
    let keys = [KINDS.as_slice(), &["at", "every", "only"]].concat();
    section.allow_besides("[[event]]", &keys, &noted);
    if later {
        return None;
    }
    let kind = kind(section);
    let when = time(section);
    Some(EventSpec {
        kind: kind?,
        when: when?,
        only: section
            .get("only")
            .map(|node| only(&node))
            .unwrap_or_default(),
    })
}

/// The one key that names the kind.
fn kind(section: &Section) -> Option<EventKind> {
    let mut kinds = KINDS.iter().filter_map(|kind| section.get(kind));
    let Some(node) = kinds.next() else {
        return section.require("[[event]]", "sql", SQL).and(None);
    };
    if let Some(second) = kinds.next() {
        second.note("an event has one kind", "a second one", "write two events");
        return None;
    }
    match node.key {
        "dump" => {
            node.section("dump = {}")?.allow("dump", &[]);
            Some(EventKind::Dump)
        }
        "pause" => {
            let pause = node.section(PAUSE)?;
            pause.allow("pause", &["for"]);
            let length = pause.require("pause", "for", PAUSE)?;
            length.duration(PAUSE).map(EventKind::Pause)
        }
        _ => node.words(SQL).map(EventKind::Sql),
    }
}

fn time(section: &Section) -> Option<EventTime> {
    match (section.get("at"), section.get("every")) {
        (Some(node), None) => node.time("at = \"30s\"").map(EventTime::At),
        (None, Some(node)) => node.duration("every = \"10s\"").map(EventTime::Every),
        (Some(_), Some(node)) => {
            node.note(
                "an event has either \"at\" or \"every\"",
                "a second time",
                "write two events",
            );
            None
        }
        (None, None) => section
            .require("[[event]]", "at", "at = \"30s\" or every = \"10s\"")
            .and(None),
    }
}
