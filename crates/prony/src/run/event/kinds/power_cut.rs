//! `power_cut = { survive = "none", seed = 1 }`: the machine below the server, or below a workload's files, loses its power.
//!
//! Purpose: the order that makes a cut honest. The server is stopped first, or it would acknowledge commits after the cut; then the
//! disk is frozen, and only then the server is killed, to recover from the cut. A load of files cannot outlive its machine, so it ends
//! with the power. Boundaries: what survives is the volume's affair (`host::volume`).

use crate::run::event::Action;
use crate::run::event::happening::Happening;
use crate::run::event::recovery::{Plan, outage};
use crate::run::event::uptime::Phase;
use crate::run::machine::volume::{Cut, Power};
use host::volume::Survive;
use host::{Paused, interrupt, now_ns};
use record::event::POWER_CUT;
use server::Node;
use spec::{EventKind, Needs, Outage};
use std::sync::Arc;
use std::time::Duration;

pub(super) const KIND: EventKind<Action> = EventKind {
    name: POWER_CUT,
    in_rounds: false,
    needs: Needs::Process,
    outage: Some(Outage::Ends),
    read,
};

const EXAMPLE: &str = "power_cut = { survive = \"none\", seed = 1 }";

/// Time limit for all threads of the server to stop: one that waits for the disk stops after it.
const STOPPED_WITHIN: Duration = Duration::from_secs(30);

/// What the file says about a power cut.
#[derive(Clone, Copy)]
struct Planned {
    survive: Survive,
    /// Of the first block; each block adds one, so that no two are cut alike.
    seed: u64,
}

fn read(node: &spec::Node) -> Option<Action> {
    let plan = Plan::read(POWER_CUT, node, EXAMPLE, &["survive", "seed"])?;
    let section = node.section(EXAMPLE)?;
    let survive = section.get_or("survive", Survive::None, survive)?;
    let seeds = 0..=i64::from(u32::MAX);
    let seed = section.get_or("seed", 1, |node| node.whole(seeds, "seed = 1"))? as u64;
    let cut = Planned { survive, seed };
    Some(Arc::new(move |happening| match happening.server {
        Some(_) => outage(happening, &plan, |own, node| cut.make(own, node)),
        None => cut.end_load(happening),
    }))
}

fn survive(node: &spec::Node) -> Option<Survive> {
    node.one_of("what survives", "survive = \"none\"", &Survive::NAMED)
}

impl Planned {
    fn of_block(self, block: u32) -> Cut {
        Cut {
            survive: self.survive,
            seed: self.seed + u64::from(block),
        }
    }

    /// Cuts the power of a server, and kills it.
    fn make(self, own: &mut Happening, node: &Arc<dyn Node>) -> Result<String, String> {
        let Power { volume, block } = power(own)?;
        let pid = node.pid().ok_or("the server has no process")?;
        let stopped = Paused::stop(pid)
            .and_then(|paused| paused.until_stopped(STOPPED_WITHIN, &interrupt::asked));
        let stopped = stopped.map_err(|error| format!("the server cannot be stopped: {error}"))?;
        volume.freeze().map_err(|error| error.to_string())?;
        node.kill().map_err(|error| error.to_string())?;
        drop(stopped);
        let lost = volume.cut(self.of_block(block));
        let lost = lost.map_err(|error| error.to_string())?;
        own.numbers.extend(lost.numbers);
        Ok(lost.says)
    }

    /// Cuts the power of files. Their load ends with it; the place brings the power back when the files are closed.
    fn end_load(self, own: &mut Happening) {
        if own.begin_outage(1).is_none() {
            return;
        }
        let at_ns = now_ns();
        // The load ends first, so that few operations fail because the power is gone.
        own.uptime.end(1, Phase::Lost);
        let ended = power(own).and_then(|Power { volume, block }| {
            let frozen = volume.end_with(self.of_block(block));
            frozen.map_err(|error| error.to_string())
        });
        let says = ended.map(|()| "the load ended with the power".to_string());
        own.note_outage(POWER_CUT, at_ns, says);
    }
}

fn power(own: &Happening) -> Result<Power, String> {
    let power = own.power.clone();
    power.ok_or_else(|| "the data does not lie on a volatile volume".to_string())
}
