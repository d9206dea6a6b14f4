//! Whether the trial's server is up, as all events of a load see it.
//!
//! Purpose: one outage at a time; the other events wait for its end and know that their connections are gone. Boundaries: `recovery`
//! ends and starts the server.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Shared by the events of a load.
#[derive(Default)]
pub struct Uptime {
    state: Mutex<State>,
    /// Ends the load: set with [`Phase::Lost`], and by an interruption.
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// How many outages have begun.
    outages: u64,
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
    pub(super) fn phase(&self) -> Phase {
        self.state().phase.clone()
    }

    /// How many outages have begun. A connection opened under another number is gone.
    pub(super) fn outages(&self) -> u64 {
        self.state().outages
    }

    /// Ends the load when it is set: by the load's owner, or because the load cannot continue.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Whether an event left the load unable to continue.
    pub fn is_lost(&self) -> bool {
        self.phase() == Phase::Lost
    }

    /// Whether an event is ending or starting the server. That ends within the limits of a shutdown and a recovery.
    pub(super) fn is_changing(&self) -> bool {
        self.phase() == Phase::Changing
    }

    /// Begins an outage. Returns the phase before; if that is `Changing`, another event's outage is under way and nothing has changed.
    pub(super) fn begin(&self) -> Phase {
        let mut state = self.state();
        let before = state.phase.clone();
        if before != Phase::Changing {
            state.phase = Phase::Changing;
            state.outages += 1;
        }
        before
    }

    /// Ends an outage that `begin` began.
    pub(super) fn end(&self, phase: Phase) {
        self.stop.fetch_or(phase == Phase::Lost, Relaxed);
        self.state().phase = phase;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_outage_does_not_begin_during_the_first() {
        let uptime = Uptime::default();
        assert_eq!(uptime.begin(), Phase::Up);
        assert_eq!((uptime.begin(), uptime.outages()), (Phase::Changing, 1));
        let down = Phase::Down("kill", Instant::now());
        uptime.end(down.clone());
        assert_eq!((uptime.begin(), uptime.outages()), (down, 2));
        assert!(!uptime.is_lost() && !uptime.stop().load(Relaxed));
        uptime.end(Phase::Lost);
        assert!(uptime.is_lost() && uptime.stop().load(Relaxed));
    }
}
