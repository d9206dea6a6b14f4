//! `pause = { node = 1, for = "1s" }`: the process of a node is stopped by SIGSTOP for a while.
//!
//! Its clients wait. Those of other nodes may wait too, until these go on without it.

use crate::run::event::{Action, recovery};
use host::Paused;
use record::event::PAUSE;
use spec::{EventKind, Needs, Node};
use std::sync::Arc;
use std::time::Instant;

pub(super) const KIND: EventKind<Action> = EventKind {
    name: PAUSE,
    in_rounds: false,
    needs: Needs::Process,
    outage: None,
    read,
};

const EXAMPLE: &str = "pause = { for = \"1s\" }";

fn read(node: &Node) -> Option<Action> {
    let section = node.section(EXAMPLE)?;
    section.allow(PAUSE, &[spec::NODE, "for"]);
    let number = recovery::number(&section)?;
    let length = section.require(PAUSE, "for", EXAMPLE)?;
    let length = length.duration(EXAMPLE)?;
    Some(Arc::new(move |happening| {
        if !happening.is_up(number) {
            return;
        }
        happening.disregard_earlier_outages();
        let mut first = None;
        happening.note(PAUSE, |own| {
            own.node = Some(number);
            let node = own.server()?.node(number as usize).cloned();
            let running = node.and_then(|node| Some((node.pid()?, node)));
            let (pid, node) = running.ok_or("prony pauses only servers that it started itself")?;
            let paused = Paused::stop(pid)
                .map_err(|error| format!("the server cannot be paused: {error}"))?;
            let began = Instant::now();
            let of_others = own.first_commit_without(number, began);
            first = of_others.or_else(|| Some(own.first_commit_on(vec![node], began)));
            own.wait(length);
            own.numbers
                .insert("paused_s".into(), began.elapsed().as_secs_f64());
            drop(paused);
            Ok("the server was stopped for".to_string())
        });
        if let Some(first) = first {
            happening.add_first_commit(first);
        }
    }))
}
