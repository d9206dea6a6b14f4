//! The kinds of events.
//!
//! Purpose: each kind is a file with its `KIND`: how its value is read, and what it does.

mod dump;
mod kill;
mod link;
mod pause;
mod power_cut;
mod set;
mod sql;
mod start;
mod stop;

use super::Action;
use record::event::{CUT, PAUSE};
use spec::{EventKind, EventSpec};

/// The kinds of events.
pub const KINDS: [EventKind<Action>; 10] = [
    sql::KIND,
    dump::KIND,
    pause::KIND,
    kill::KIND,
    stop::KIND,
    start::KIND,
    power_cut::KIND,
    set::KIND,
    link::CUT,
    link::HEAL,
];

/// Whether one of these events ends or starts the server's process.
pub(crate) fn has_outage(events: &[EventSpec]) -> bool {
    let is_outage = |event: &EventSpec| {
        KINDS
            .iter()
            .any(|kind| kind.name == event.kind && kind.outage.is_some())
    };
    events.iter().any(is_outage)
}

/// Whether one of these events keeps clients from a node, so that the time to the first commit is measured.
pub(crate) fn keeps_from_a_node(events: &[EventSpec]) -> bool {
    let keeps = |event: &EventSpec| [CUT, PAUSE].contains(&event.kind.as_str());
    has_outage(events) || events.iter().any(keeps)
}
