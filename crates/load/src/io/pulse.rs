//! Notices when a thread did not run although it had something to do.
//!
//! Goal: a stopped process, a CPU quota, a paused machine, or a core that others used is not taken for a slow server. A timer ends
//! every wait after at most [`BEAT`], so a turn that begins long after the wait of the one before should have ended shows that the
//! thread did not run. It costs one reading of the clock per turn. Non-goal: which seconds that spoils (crate `record`).

use std::cell::{Cell, RefCell};
use std::time::Duration;

/// The longest wait of a reactor with streams, and the interval of its check for stalled operations.
pub(super) const BEAT: Duration = Duration::from_millis(10);
/// A shorter gap is the wake-up latency of a busy machine.
const GAP_NS: u64 = 20_000_000;

/// A time in which a thread did not run, on its reactor's clock. It is up to [`BEAT`] too short: when the thread stopped during a
/// wait is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub from_ns: u64,
    pub until_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Pulse {
    /// When the next turn begins at the latest.
    due_ns: Cell<u64>,
    gaps: RefCell<Vec<Gap>>,
    /// False where calls block the thread for as long as a file takes.
    is_known: Cell<bool>,
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse {
            due_ns: Cell::new(u64::MAX),
            gaps: RefCell::default(),
            is_known: Cell::new(true),
        }
    }
}

impl Pulse {
    /// A turn begins that waits for at most `wait_ns`.
    #[inline]
    pub(crate) fn beat(&self, now_ns: u64, wait_ns: u64) {
        let due_ns = self.due_ns.replace(now_ns + wait_ns);
        if now_ns.saturating_sub(due_ns) > GAP_NS {
            self.note(due_ns, now_ns);
        }
    }

    /// Whatever was until now, a turn begins at `due_ns` at the latest.
    pub(crate) fn expect(&self, due_ns: u64) {
        self.due_ns.set(due_ns);
    }

    #[cold]
    fn note(&self, from_ns: u64, until_ns: u64) {
        self.gaps.borrow_mut().push(Gap { from_ns, until_ns });
    }

    /// The thread does calls that block, so its gaps say nothing about it.
    pub(crate) fn mute(&self) {
        self.is_known.set(false);
    }

    /// The gaps so far; none if they are unknown.
    pub(crate) fn gaps(&self) -> Option<Vec<Gap>> {
        self.is_known.get().then(|| self.gaps.borrow().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The gaps of turns that begin at these times and wait for so long (ms).
    fn gaps(turns: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let pulse = Pulse::default();
        for (at_ms, wait_ms) in turns {
            pulse.beat(at_ms * MS, wait_ms * MS);
        }
        let gaps = pulse.gaps().unwrap();
        let in_ms = |gap: Gap| (gap.from_ns / MS, gap.until_ns / MS);
        gaps.into_iter().map(in_ms).collect()
    }

    #[test]
    fn a_thread_that_waits_and_runs_has_no_gaps() {
        assert_eq!(gaps(&[(500, 10), (510, 0), (525, 10), (555, 10)]), []);
    }

    #[test]
    fn a_turn_that_begins_long_after_the_wait_shows_that_the_thread_did_not_run() {
        // It stopped in a wait until 510 ms, and between two turns at 2,011 ms.
        let turns = [(500, 10), (2_010, 0), (2_011, 0), (2_042, 10)];
        assert_eq!(gaps(&turns), [(510, 2_010), (2_011, 2_042)]);
    }

    #[test]
    fn a_thread_that_blocks_in_calls_knows_no_gaps() {
        let pulse = Pulse::default();
        pulse.mute();
        pulse.beat(0, 0);
        pulse.beat(900 * MS, 0);
        assert_eq!(pulse.gaps(), None);
    }
}
