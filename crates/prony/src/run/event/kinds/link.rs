//! `cut = { node = 2 }` and `heal = { node = 2 }`: the link of a node goes down, and up again.
//!
//! The node runs, but neither clients nor the other nodes reach it. What is still cut at the end of the load is healed before the audit.

use crate::run::event::{Action, Happening, recovery};
use host::network::{Network, NetworkError};
use record::event::{CUT as CUT_WORD, HEAL as HEAL_WORD};
use spec::{EventKind, Needs, Node};
use std::sync::Arc;
use std::time::Instant;

pub(super) const CUT: EventKind<Action> = EventKind {
    name: CUT_WORD,
    in_rounds: false,
    needs: Needs::Link,
    outage: None,
    read: |node| read(node, CUT_WORD, Network::cut),
};

pub(super) const HEAL: EventKind<Action> = EventKind {
    name: HEAL_WORD,
    in_rounds: false,
    needs: Needs::Link,
    outage: None,
    read: |node| read(node, HEAL_WORD, Network::heal),
};

/// Takes a link down or up.
type Change = fn(&Network, u32) -> Result<(), NetworkError>;

fn read(node: &Node, name: &'static str, change: Change) -> Option<Action> {
    let section = node.section(&format!("{name} = {{ node = 2 }}"))?;
    section.allow(name, &[spec::NODE]);
    section.require(name, spec::NODE, "node = 2")?;
    let number = recovery::number(&section)?;
    Some(Arc::new(move |happening| {
        happening.disregard_earlier_outages();
        let began = Instant::now();
        let mut first = None;
        happening.note(name, |own| {
            let text = act(own, number, change)?;
            first = own.first_commit_without(number, began);
            Ok(text)
        });
        if let Some(first) = first.filter(|_| name == CUT_WORD) {
            happening.add_first_commit(first);
        }
    }))
}

fn act(own: &mut Happening, number: u32, change: Change) -> Result<String, String> {
    own.node = Some(number);
    let formation = own.server()?.formation();
    let network = formation.and_then(|formation| formation.network());
    let network = network.ok_or("the nodes of this server have no links")?;
    change(network, number).map_err(|error| error.to_string())?;
    Ok(format!("the link of node {number} changed in"))
}
