//! `kill = { restart = true }`: SIGKILL, and the recovery from it.

use crate::run::event::Action;
use crate::run::event::recovery::{Plan, outage};
use record::event::KILL;
use spec::{EventKind, Needs, Node, Outage};
use std::sync::Arc;

pub(super) const KIND: EventKind<Action> = EventKind {
    name: KILL,
    in_rounds: false,
    needs: Needs::Process,
    outage: Some(Outage::Ends),
    read,
};

fn read(node: &Node) -> Option<Action> {
    let plan = Plan::read(KILL, node, "kill = { restart = true }", &[])?;
    Some(Arc::new(move |happening| {
        outage(happening, &plan, |_, node| {
            let killed = node.kill().map_err(|error| error.to_string());
            killed.map(|()| "killed".to_string())
        });
    }))
}
