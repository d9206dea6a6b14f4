//! Whether the nodes of the trial's server are up, as all events of a load see it.
//!
//! Purpose: one outage at a time; the other events wait for its end and know that their connections are gone. Those lead to the first
//! node. Boundaries: `recovery` ends and starts the nodes.

use crate::lock;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// The number of the first node.
const FIRST: u32 = 1;

/// Shared by the events of a load.
#[derive(Default)]
pub struct Uptime {
    state: Mutex<UptimeState>,
    /// Ends the load: set with [`Phase::Lost`], and by an interruption.
    stop: AtomicBool,
}

#[derive(Default)]
struct UptimeState {
    /// Of the nodes that are not up, by number from 1.
    phases: BTreeMap<u32, Phase>,
    /// How many outages of the first node have begun.
    outages: u64,
}

impl UptimeState {
    fn of(&self, node: u32) -> Phase {
        self.phases.get(&node).cloned().unwrap_or_default()
    }

    fn is_any(&self, phase: &Phase) -> bool {
        self.phases.values().any(|one| one == phase)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Phase {
    #[default]
    Up,
    /// An event ends the server or starts it again.
    Changing,
    /// Left down by this kind of event, since this moment.
    Down(&'static str, Instant),
    /// It did not recover, or the files of the load are gone. The load cannot continue.
    Lost,
}

impl Uptime {
    /// That of the first node.
    pub(super) fn phase(&self) -> Phase {
        self.phase_of(FIRST)
    }

    pub(super) fn phase_of(&self, node: u32) -> Phase {
        lock(&self.state).of(node)
    }

    /// How many outages of the first node have begun. A connection opened under another number is gone.
    pub(super) fn outages(&self) -> u64 {
        lock(&self.state).outages
    }

    /// Ends the load when it is set: by the load's owner, or because the load cannot continue.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Whether an event left the load unable to continue.
    pub fn is_lost(&self) -> bool {
        lock(&self.state).is_any(&Phase::Lost)
    }

    /// Whether an event is ending or starting the server. That ends within the limits of a shutdown and a recovery.
    pub(super) fn is_changing(&self) -> bool {
        lock(&self.state).is_any(&Phase::Changing)
    }

    /// Whether any node is not up.
    pub(super) fn is_out(&self) -> bool {
        lock(&self.state)
            .phases
            .values()
            .any(|one| *one != Phase::Up)
    }

    /// Begins an outage of a node. Returns its phase before; if that is `Changing`, another event's outage is under way and nothing has
    /// changed.
    pub(super) fn begin(&self, node: u32) -> Phase {
        let mut state = lock(&self.state);
        if state.is_any(&Phase::Changing) {
            return Phase::Changing;
        }
        state.outages += u64::from(node == FIRST);
        let before = state.phases.insert(node, Phase::Changing);
        before.unwrap_or_default()
    }

    /// Ends an outage that `begin` began.
    pub(super) fn end(&self, node: u32, phase: Phase) {
        self.stop.fetch_or(phase == Phase::Lost, Relaxed);
        lock(&self.state).phases.insert(node, phase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connections_of_events_survive_an_outage_of_another_node() {
        let uptime = Uptime::default();
        assert_eq!(uptime.begin(2), Phase::Up);
        uptime.end(2, Phase::Down("kill", Instant::now()));
        assert_eq!((uptime.phase(), uptime.outages()), (Phase::Up, 0));
        assert!(!uptime.is_changing() && !uptime.is_lost());
        assert_eq!(uptime.begin(1), Phase::Up);
    }

    #[test]
    fn a_second_outage_does_not_begin_during_the_first() {
        let uptime = Uptime::default();
        assert_eq!(uptime.begin(1), Phase::Up);
        assert_eq!((uptime.begin(2), uptime.outages()), (Phase::Changing, 1));
        let down = Phase::Down("kill", Instant::now());
        uptime.end(1, down.clone());
        assert_eq!((uptime.begin(1), uptime.outages()), (down, 2));
        assert!(!uptime.is_lost() && !uptime.stop().load(Relaxed));
        uptime.end(1, Phase::Lost);
        assert!(uptime.is_lost() && uptime.stop().load(Relaxed));
    }
}
