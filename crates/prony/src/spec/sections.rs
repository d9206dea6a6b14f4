//! `[workload.X]`, `[load]`, `[protocol]`, `[observe]` and `[[event]]`.
//!
//! Goal: their keys, defaults and ranges. Non-goal: names of servers, levels and queries in them (see `names`, `queries`).

use super::experiment::{
    EventKind, EventSpec, EventTime, LoadSpec, Observe, Protocol, RoundKind, Unit,
};
use super::factors::only;
use super::mistake::Notes;
use super::patch::{CheckWorkload, WorkloadBase};
use super::read::{Node, Section};
use std::time::Duration;

const LOAD_ENGINE: &str = "the load engine";

/// The kinds of events of the design that come later, with what they come with.
const LATER_EVENTS: [(&str, &str); 8] = [
    ("kill", "crash and recovery"),
    ("stop", "crash and recovery"),
    ("start", "crash and recovery"),
    ("pause", "crash and recovery"),
    ("dump", "side loads of the load engine"),
    ("set", "settings that change during a round"),
    ("cut", "clusters"),
    ("heal", "clusters"),
];

/// The file's one workload.
pub fn workload<'s, 'c>(file: &Section<'s>, check: CheckWorkload<'c>) -> WorkloadBase<'s, 'c> {
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
    let (name, section) = match found.into_iter().next() {
        Some((node, section)) => (node.key.to_string(), Some(section)),
        None => (String::new(), None),
    };
    let base = WorkloadBase {
        name,
        section,
        check,
    };
    base.check(None, file.notes);
    base
}

/// One client where the file says nothing.
pub fn load(file: &Section) -> LoadSpec {
    LoadSpec::Closed {
        clients: closed_clients(file)
            .filter(|clients| !clients.is_empty())
            .unwrap_or(vec![1]),
    }
}

fn closed_clients(file: &Section) -> Option<Vec<u32>> {
    let example = "clients = [1, 8]";
    let load = file.get("load")?.section("[load.closed]")?;
    if let Some(node) = load.get("open") {
        node.notes.not_built(node.at(), "[load.open]", LOAD_ENGINE);
    }
    load.allow_besides("[load]", &["closed"], &["open"]);
    let closed = load.get("closed")?.section("[load.closed]")?;
    closed.allow("[load.closed]", &["clients"]);
    let mut clients = Vec::new();
    for node in closed.get("clients")?.one_or_more(example) {
        let Some(count) = node.count(example) else {
            continue;
        };
        if clients.contains(&count) {
            node.note(
                format!("{count} clients stand twice in the list"),
                "again",
                "name each number once",
            );
        } else {
            clients.push(count);
        }
    }
    Some(clients)
}

/// One cold and two hot rounds over the whole workload, one block, where the file says nothing.
pub fn protocol(file: &Section) -> Protocol {
    let mut protocol = Protocol {
        rounds: vec![RoundKind::Cold, RoundKind::Hot, RoundKind::Hot],
        unit: Unit::Round,
        blocks: 1,
        query_timeout: None,
        queries: Vec::new(),
    };
    let Some(section) = file
        .get("protocol")
        .and_then(|node| node.section("[protocol]"))
    else {
        return protocol;
    };
    for key in ["time", "warmup"] {
        if let Some(node) = section.get(key) {
            node.notes
                .not_built(node.at(), &format!("\"{key}\" in [protocol]"), LOAD_ENGINE);
        }
    }
    section.allow_besides(
        "[protocol]",
        &["rounds", "unit", "blocks", "query_timeout", "queries"],
        &["time", "warmup"],
    );
    if let Some(rounds) = section
        .get("rounds")
        .and_then(|node| node.list("rounds = [\"cold\", \"hot\", \"hot\"]"))
    {
        protocol.rounds = rounds.iter().filter_map(round).collect();
    }
    if let Some(unit) = section.get("unit").and_then(|node| unit(&node)) {
        protocol.unit = unit;
    }
    if let Some(blocks) = section
        .get("blocks")
        .and_then(|node| node.count("blocks = 3"))
    {
        protocol.blocks = blocks;
    }
    protocol.query_timeout = section
        .get("query_timeout")
        .and_then(|node| node.duration("query_timeout = \"10m\""));
    protocol.queries = section
        .get("queries")
        .map(|node| names(&node, "queries = [\"Q1.1\"]"))
        .unwrap_or_default();
    protocol
}

fn round(node: &Node) -> Option<RoundKind> {
    match node.text("rounds = [\"cold\", \"hot\", \"hot\"]")? {
        "cold" => Some(RoundKind::Cold),
        "hot" => Some(RoundKind::Hot),
        other => {
            node.notes
                .unknown(node.at(), "the round", other, &["cold", "hot"]);
            None
        }
    }
}

fn unit(node: &Node) -> Option<Unit> {
    match node.text("unit = \"round\"")? {
        "round" => Some(Unit::Round),
        "query" => Some(Unit::Query),
        other => {
            node.notes
                .unknown(node.at(), "the unit", other, &["round", "query"]);
            None
        }
    }
}

fn names(node: &Node, example: &str) -> Vec<String> {
    node.names(example)
        .into_iter()
        .map(|(_, name)| name)
        .collect()
}

/// Plans are taken, nothing is profiled, where the file says nothing.
pub fn observe(file: &Section) -> Observe {
    let section = file
        .get("observe")
        .and_then(|node| node.section("[observe]"));
    let get = |key: &str| section.as_ref().and_then(|section| section.get(key));
    if let Some(section) = &section {
        section.allow("[observe]", &["interval", "plans", "profile"]);
    }
    Observe {
        interval: get("interval")
            .and_then(|node| node.duration("interval = \"1s\""))
            .unwrap_or(Duration::from_secs(1)),
        plans: get("plans")
            .and_then(|node| node.truth("plans = true"))
            .unwrap_or(true),
        profile: get("profile")
            .map(|node| names(&node, "profile = [\"Q1.1\"]"))
            .unwrap_or_default(),
    }
}

/// The tables of `[[event]]` or `[[claim]]`.
pub fn tables<'s>(file: &Section<'s>, key: &str) -> Vec<Section<'s>> {
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

pub fn events(file: &Section) -> Vec<EventSpec> {
    tables(file, "event")
        .iter()
        .filter_map(|section| event(section, file.notes))
        .collect()
}

fn event(section: &Section, notes: &Notes) -> Option<EventSpec> {
    let mut later = false;
    for (kind, with) in LATER_EVENTS {
        if let Some(node) = section.get(kind) {
            notes.not_built(node.at(), &format!("events of the kind \"{kind}\""), with);
            later = true;
        }
    }
    if let Some(node) = section.get("when") {
        notes.not_built(node.at(), "events with a condition (\"when\")", LOAD_ENGINE);
        later = true;
    }
    let noted: Vec<&str> = LATER_EVENTS
        .iter()
        .map(|(kind, _)| *kind)
        .chain(["when"])
        .collect();
    section.allow_besides("[[event]]", &["sql", "at", "every", "only"], &noted);
    if later {
        return None;
    }
    let sql = section.require("[[event]]", "sql", "sql = \"select count(*) from part\"")?;
    Some(EventSpec {
        kind: EventKind::Sql(sql.words("sql = \"select count(*) from part\"")?),
        when: event_time(section)?,
        only: section
            .get("only")
            .map(|node| only(&node))
            .unwrap_or_default(),
    })
}

fn event_time(section: &Section) -> Option<EventTime> {
    match (section.get("at"), section.get("every")) {
        (Some(node), None) => node.duration("at = \"30s\"").map(EventTime::At),
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
