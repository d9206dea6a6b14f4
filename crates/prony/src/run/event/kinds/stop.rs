//! `stop = { restart = true }`: an orderly shutdown, and the start after it.

use crate::run::event::Action;
use crate::run::event::recovery::{Plan, outage};
use record::event::STOP;
use spec::{EventKind, Needs, Node, Outage};
use std::sync::Arc;
use std::time::Instant;

pub(super) const KIND: EventKind<Action> = EventKind {
    name: STOP,
    in_rounds: false,
    needs: Needs::Process,
    outage: Some(Outage::Ends),
    read,
};

fn read(node: &Node) -> Option<Action> {
    let plan = Plan::read(STOP, node, "stop = { restart = true }", &[])?;
    Some(Arc::new(move |happening| {
        outage(happening, &plan, |own, node| {
            let began = Instant::now();
            node.stop().map_err(|error| error.to_string())?;
            let stop_s = began.elapsed().as_secs_f64();
            own.numbers.insert("stop_s".into(), stop_s);
            Ok(format!("shut down in {stop_s:.3} s"))
        });
    }))
}
