//! `pause = { node = 1, for = "1s" }`: the process of a node is stopped by SIGSTOP for a while.

use super::{Action, recovery};
use host::Paused;
use spec::{EventKind, Needs, Node};
use std::sync::Arc;
use std::time::Instant;

pub(super) const KIND: EventKind<Action> = EventKind {
    name: "pause",
    in_rounds: false,
    needs: Needs::Process,
    outage: None,
    read,
};

const EXAMPLE: &str = "pause = { for = \"1s\" }";

fn read(node: &Node) -> Option<Action> {
    let section = node.section(EXAMPLE)?;
    section.allow("pause", &[spec::NODE, "for"]);
    let number = recovery::number(&section)?;
    let length = section.require("pause", "for", EXAMPLE)?;
    let length = length.duration(EXAMPLE)?;
    Some(Arc::new(move |happening| {
        if !happening.is_connected() {
            return;
        }
        happening.note("pause", |own| {
            own.node = Some(number);
            let node = own.server()?.node(number as usize);
            let pid = node.and_then(|node| node.pid());
            let pid = pid.ok_or("prony pauses only servers that it started itself")?;
            let paused = Paused::stop(pid)
                .map_err(|error| format!("the server cannot be paused: {error}"))?;
            let began = Instant::now();
            own.wait(length);
            own.numbers
                .insert("paused_s".into(), began.elapsed().as_secs_f64());
            drop(paused);
            Ok("the server was stopped for".to_string())
        });
    }))
}
