//! `[[event]]`: actions during the load, and their times.
//!
//! Purpose: the time of an event and the key that names its kind. Boundaries: each kind reads its own value and acts on it
//! (see [`read`]); `names` checks the levels in `only`.

use super::condition::condition;
use super::experiment::{EventSpec, EventTime, Experiment, ServerSpec, SetSpec};
use super::factors::only;
use super::limits::limits;
use super::mistake::{Notes, SpecError};
use super::patch::settings;
use super::place::{Late, answer, path};
use super::read::{Node, Section};
use super::sections::tables;
use super::{outages, served, unit};
use record::event::POWER_CUT;
use toml::de::DeTable;

/// The key of a kind's value that names a node, counted from 1.
pub const NODE: &str = "node";
/// The key of the kind that changes limits and settings.
pub const SET: &str = "set";
/// The kinds of events. Each has its row in `run::event::kinds`.
pub const KINDS: [&str; 10] = [
    "sql", "dump", "pause", "kill", "stop", "start", POWER_CUT, SET, "cut", "heal",
];
/// The kinds that also happen to a workload without a server.
const OF_FOLDERS: [&str; 2] = [POWER_CUT, SET];

/// The keys of events that require a server: the other kinds, and the time that depends on the server's state.
pub(crate) fn of_servers() -> Vec<&'static str> {
    let kinds = KINDS.into_iter().filter(|kind| !OF_FOLDERS.contains(kind));
    kinds.chain(["when"]).collect()
}

/// The keys that say when an event happens.
const TIMES: [&str; 3] = ["at", "every", "when"];

/// A kind of event, with the reader of its value.
pub struct EventKind<A> {
    /// The key that names it.
    pub name: &'static str,
    /// Whether rounds of queries allow it too, not only a timed load.
    pub in_rounds: bool,
    /// What it acts on.
    pub needs: Needs,
    /// What it does to that process. None: the server keeps running.
    pub outage: Option<Outage>,
    /// Reads the action, or notes a mistake and returns None.
    pub read: fn(&Node) -> Option<A>,
}

/// What an event needs, apart from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// A process that prony started.
    Process,
    /// The link of a node.
    Link,
}

/// What an event does to the process of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// It ends the process, and starts it again unless the file says `restart = false`.
    Ends,
    /// It starts a process that was left down.
    Starts,
}

/// Reads the action of each event of a checked experiment, in file order.
///
/// # Errors
/// Lists every event that has a wrong value, that this experiment does not allow, or that is never due.
pub fn read<A>(experiment: &Experiment, kinds: &[EventKind<A>]) -> Result<Vec<A>, SpecError> {
    let kind = |event: &EventSpec| kinds.iter().find(|kind| kind.name == event.kind);
    let late = experiment.events.iter().flat_map(|event| {
        let refused = match kind(event) {
            Some(kind) => refused(experiment, event, kind),
            None => Some(without_reader(event)),
        };
        refused.into_iter().chain(too_late(experiment, event))
    });
    answer(experiment, late.collect())?;
    let shown = format!("{}.toml", experiment.name);
    let wrong = |mistakes| SpecError::new(&shown, &experiment.source, mistakes);
    let Ok(tree) = DeTable::parse(&experiment.source) else {
        return Ok(Vec::new());
    };
    let notes = Notes::default();
    let file = Section::file(&notes, tree.get_ref());
    let sections = tables(&file, "event");
    let actions = experiment.events.iter().filter_map(|event| {
        let section = sections.get(event.index)?;
        check_node(experiment, section, event);
        let node = section.get(&event.kind)?;
        (kind(event)?.read)(&node)
    });
    let actions: Vec<A> = actions.collect();
    if notes.count() == 0 {
        outages::check(experiment, &sections, |event| kind(event)?.outage);
    }
    match notes.count() {
        0 => Ok(actions),
        _ => Err(wrong(notes.into_vec())),
    }
}

/// An event of a kind that this run cannot do. Every event needs an action, at its index.
fn without_reader(event: &EventSpec) -> Late {
    Late {
        path: path(&["event", &event.index.to_string(), &event.kind]),
        says: format!("\"{}\" events are not available here", event.kind),
        label: "not available",
        help: "remove the event".to_string(),
    }
}

/// Checks an event against the protocol and the servers.
fn refused<A>(experiment: &Experiment, event: &EventSpec, kind: &EventKind<A>) -> Option<Late> {
    let name = kind.name;
    let path = path(&["event", &event.index.to_string(), name]);
    if !experiment.protocol.is_timed() && matches!(event.when, EventTime::When(_)) {
        return Some(Late {
            path: [&path[..path.len() - 1], &["when".to_string()]].concat(),
            says: "rounds of queries have no samples of each second, which \"when\" needs".into(),
            label: "belongs to a timed load",
            help: "write at = \"30s\" or every = \"10s\"".to_string(),
        });
    }
    if !experiment.protocol.is_timed() && !kind.in_rounds {
        return Some(Late {
            path,
            says: format!(
                "\"{name}\" events require a timed load and are not available in rounds of queries"
            ),
            label: "belongs to a timed load",
            help: "write an event with sql = \"...\"".to_string(),
        });
    }
    let (says, label) = match kind.needs {
        Needs::Nothing => return None,
        Needs::Process => {
            let server = one_that(experiment, event, |server| !server.build.is_managed())?;
            let says = format!(
                "prony did not start the process of the server \"{}\", so \"{name}\" cannot be applied to it",
                server.name
            );
            (says, "not started by prony")
        }
        Needs::Link => {
            let server = one_that(experiment, event, |server| !server.has_links())?;
            let says = format!(
                "the nodes of the server \"{}\" have no links that \"{name}\" could act on",
                server.name
            );
            (says, "no link")
        }
    };
    let help = match kind.needs {
        Needs::Link => {
            "write link = \"1gbit\" in [server.NAME], or name the other servers with only = { server = [...] }"
        }
        _ => "name the other servers with only = { server = [...] }",
    };
    Some(Late {
        path,
        says,
        label,
        help: help.to_string(),
    })
}

/// A server in the event's trials that is such a one.
fn one_that(
    experiment: &Experiment,
    event: &EventSpec,
    is_it: impl Fn(&ServerSpec) -> bool,
) -> Option<ServerSpec> {
    let is_meant = |server: &&ServerSpec| {
        let only = event.only.iter().find(|(factor, _)| factor == "server");
        only.is_none_or(|(_, names)| names.contains(&server.name))
    };
    let meant = experiment.servers.iter().filter(is_meant);
    let mut run = meant.flat_map(|server| served::of(experiment, server, None));
    run.find(is_it)
}

/// The largest number of nodes of a server in the event's trials.
fn nodes_max(experiment: &Experiment) -> u32 {
    let of_levels = experiment.factors.iter().flat_map(|factor| &factor.levels);
    let of_levels = of_levels.filter_map(|level| level.patch.cluster.nodes);
    let of_servers = experiment.servers.iter().map(ServerSpec::nodes);
    of_servers.chain(of_levels).max().unwrap_or(1)
}

/// Notes a node that no server of the file has.
fn check_node(experiment: &Experiment, section: &Section, event: &EventSpec) {
    let value = section.get(&event.kind);
    let value = value.and_then(|node| node.section_if_table());
    let Some(node) = value.and_then(|value| value.get(NODE)) else {
        return;
    };
    let most = nodes_max(experiment);
    let example = format!("node = {most}");
    let _ = node.whole(1..=i64::from(most), &example);
}

/// Checks that the event is due before the timed load ends.
fn too_late(experiment: &Experiment, event: &EventSpec) -> Option<Late> {
    let driven = experiment.protocol.driven();
    let (key, first) = match event.when {
        EventTime::At(at) => ("at", at),
        EventTime::Every(every) => ("every", every),
        EventTime::When(_) => return None,
    };
    (experiment.protocol.is_timed() && first >= driven).then(|| Late {
        path: path(&["event", &event.index.to_string(), key]),
        says: format!(
            "the load ends after {}, before this event is due",
            unit::duration_text(driven)
        ),
        label: "after the end",
        help: "write an earlier time, or increase time in [protocol]; times count from the start of the warm-up"
            .to_string(),
    })
}

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
    let set = section.get(SET).map(|node| set(&node));
    Some(EventSpec {
        kind: kind?,
        index,
        when: when?,
        only: section
            .get("only")
            .map(|node| only(&node))
            .unwrap_or_default(),
        set: match set {
            Some(set) => Some(set?),
            None => None,
        },
    })
}

/// The value of a `set` event.
fn set(node: &Node) -> Option<SetSpec> {
    let example = "set = { limits = { write_iops = 200 } }";
    let section = node.section(example)?;
    section.allow(SET, &["limits", "settings"]);
    let set = SetSpec {
        limits: section.get("limits").and_then(|node| limits(&node)),
        settings: section
            .get("settings")
            .and_then(|node| settings(&node))
            .unwrap_or_default(),
    };
    if section.entries().next().is_none() {
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
