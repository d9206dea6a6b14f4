//! `power_cut = { survive = "none", seed = 1 }`: the machine below the server loses its power, and the recovery from it.
//!
//! Purpose: the order that makes a cut honest. The server is stopped first, or it would acknowledge commits after the cut; then the
//! disk is frozen, and only then the server is killed. Boundaries: what survives is the volume's affair (`host::volume`).

use super::Action;
use super::happening::Happening;
use super::recovery::{Plan, outage};
use crate::run::volume::Power;
use host::Paused;
use host::volume::{DiskStats, Survive};
use record::event::POWER_CUT;
use server::Node;
use spec::{EventKind, Outage};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) const KIND: EventKind<Action> = EventKind {
    name: POWER_CUT,
    in_rounds: false,
    needs_process: true,
    outage: Some(Outage::Ends),
    read,
};

const EXAMPLE: &str = "power_cut = { survive = \"none\", seed = 1 }";

/// Time limit for all threads of the server to stop: one that waits for the disk stops after it.
const STOPPED_WITHIN: Duration = Duration::from_secs(30);

/// What the file says about a power cut.
#[derive(Clone, Copy)]
struct Cut {
    survive: Survive,
    /// Of the first block; each block adds one, so that no two are cut alike.
    seed: u64,
}

fn read(node: &spec::Node) -> Option<Action> {
    let plan = Plan::read(POWER_CUT, node, EXAMPLE, &["survive", "seed"])?;
    let section = node.section(EXAMPLE)?;
    let survive = match section.get("survive") {
        Some(node) => survive(&node)?,
        None => Survive::None,
    };
    let seed = match section.get("seed") {
        Some(node) => node.whole(0..=i64::from(u32::MAX), "seed = 1")? as u64,
        None => 1,
    };
    let cut = Cut { survive, seed };
    Some(Arc::new(move |happening| {
        outage(happening, &plan, |own, node| cut.make(own, node));
    }))
}

fn survive(node: &spec::Node) -> Option<Survive> {
    let name = node.text("survive = \"none\"")?;
    let found = Survive::named(name);
    if found.is_none() {
        let names = Survive::NAMED.map(|(known, _)| known);
        node.notes.unknown(node.at(), "what survives", name, &names);
    }
    found
}

impl Cut {
    fn make(self, own: &mut Happening, node: &Arc<dyn Node>) -> Result<String, String> {
        let power = own.power.clone();
        let Power { volume, block } = power.ok_or("the data does not lie on a volatile volume")?;
        let seed = self.seed + u64::from(block);
        let pid = node.pid().ok_or("the server has no process")?;
        let stopped = Paused::stop(pid).and_then(|paused| {
            paused.until_stopped(STOPPED_WITHIN)?;
            Ok(paused)
        });
        let stopped = stopped.map_err(|error| format!("the server cannot be stopped: {error}"))?;
        let mut volume = volume.lock();
        volume.freeze().map_err(|error| error.to_string())?;
        node.kill().map_err(|error| error.to_string())?;
        drop(stopped);
        let began = Instant::now();
        let lost = volume.cut(self.survive, seed);
        let lost = lost.map_err(|error| error.to_string())?;
        let mount_s = began.elapsed().as_secs_f64();
        own.numbers.extend(numbers(&lost, seed, mount_s));
        Ok(format!(
            "power cut with survive = \"{}\" and seed {seed}: {} of {} unsynced bytes survived",
            self.survive.name(),
            lost.survived_bytes,
            lost.unsynced_bytes
        ))
    }
}

fn numbers(lost: &DiskStats, seed: u64, mount_s: f64) -> [(String, f64); 4] {
    [
        ("seed".into(), seed as f64),
        ("unsynced_bytes".into(), lost.unsynced_bytes as f64),
        ("survived_bytes".into(), lost.survived_bytes as f64),
        ("mount_s".into(), mount_s),
    ]
}
