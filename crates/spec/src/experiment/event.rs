//! Actions during the load: their kinds, their times and what they need.
//!
//! Boundaries: `sections::events` reads them, `check::events` checks them against the servers, and `prony::run::event` acts.

use super::condition::Condition;
use crate::file::read::Node;
use crate::machine::limits::LimitsPatch;
use crate::text::setting::{Pairs, Setting};
use record::event::POWER_CUT;
use std::time::Duration;

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

/// An action during the load.
#[derive(Clone, Debug, PartialEq)]
pub struct EventSpec {
    /// The key that names its kind: `sql`.
    pub kind: String,
    /// Its index among the events of the file, from 0.
    pub index: usize,
    pub when: EventTime,
    /// Restricts the event to trials with these levels; empty: all trials.
    pub only: Pairs<Vec<String>>,
    /// What a `set` event changes; None for other kinds.
    pub set: Option<SetSpec>,
}

/// What changes during a load, until its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetSpec {
    /// Over those of the trial.
    pub limits: Option<LimitsPatch>,
    /// SET GLOBAL.
    pub settings: Pairs<Setting>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventTime {
    /// Once, this long after the start of each round or timed load.
    At(Duration),
    /// Repeatedly, with this interval.
    Every(Duration),
    /// Once, in the first second of a timed load in which this holds.
    When(Condition),
}

impl EventTime {
    /// The one time of the event, if it is known and not repeated.
    pub(crate) fn once(&self) -> Option<Duration> {
        match self {
            EventTime::At(at) => Some(*at),
            EventTime::Every(_) | EventTime::When(_) => None,
        }
    }
}
