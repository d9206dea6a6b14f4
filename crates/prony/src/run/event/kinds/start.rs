//! `start = {}`: starts a server that a `kill` or `stop` event with `restart = false` left down.

use crate::run::event::Action;
use crate::run::event::recovery::{self, Plan};
use record::event::START;
use spec::{EventKind, Needs, Node, Outage};
use std::sync::Arc;

pub(super) const KIND: EventKind<Action> = EventKind {
    name: START,
    in_rounds: false,
    needs: Needs::Process,
    outage: Some(Outage::Starts),
    read,
};

const EXAMPLE: &str = "start = {}";

fn read(node: &Node) -> Option<Action> {
    let plan = Plan::read(START, node, EXAMPLE, &[])?;
    if let Some(restart) = node.section(EXAMPLE)?.get("restart") {
        restart.note(
            "\"restart\" belongs to \"kill\" and \"stop\" events",
            "does not belong here",
            "remove it",
        );
        return None;
    }
    Some(Arc::new(move |happening| recovery::start(happening, &plan)))
}
