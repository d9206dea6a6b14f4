//! The start barrier: a drive starts when all sessions are open.
//!
//! There are no wake-ups across threads. One client per thread polls the gate and wakes the others of its thread. Time zero is far
//! enough in the future for every thread to see it in time.

use super::driven::DriveError;
use super::turns::Waiting;
use crate::io::Io;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const CHECK_INTERVAL_NS: u64 = 10_000_000;
const AHEAD_NS: u64 = 25_000_000;
const CLOSED: u64 = u64::MAX;
const REFUSED: u64 = u64::MAX - 1;

/// The barrier of one drive.
#[derive(Debug)]
pub(super) struct Gate {
    /// Number of sessions that are not open yet.
    missing: AtomicU32,
    /// Whether others must agree on the start when all sessions are open.
    meets: bool,
    /// When the last session was open, on the reactors' clock.
    opened_ns: AtomicU64,
    /// Time zero on the reactors' clock, or `CLOSED`, or `REFUSED`. It is set once.
    zero_ns: AtomicU64,
    why: Mutex<Option<DriveError>>,
}

impl Gate {
    pub(super) fn new(clients: u32) -> Gate {
        Gate {
            missing: AtomicU32::new(clients),
            meets: false,
            opened_ns: AtomicU64::new(CLOSED),
            zero_ns: AtomicU64::new(CLOSED),
            why: Mutex::new(None),
        }
    }

    /// Whether the start is agreed on with others ([`Gate::start`]) once all sessions are open.
    pub(super) fn meets(&mut self, meets: bool) {
        self.meets = meets;
    }

    /// Counts an open session. The last one sets time zero, or leaves that to [`Gate::start`].
    pub(super) fn opened(&self, now_ns: u64) {
        if self.missing.fetch_sub(1, AcqRel) == 1 {
            self.opened_ns.store(now_ns, Release);
            if !self.meets {
                self.decide(now_ns + AHEAD_NS);
            }
        }
    }

    /// Whether all sessions are open and the start has not been decided.
    pub(super) fn awaits_start(&self) -> bool {
        self.meets && self.opened_ns.load(Acquire) != CLOSED && !self.is_decided()
    }

    /// Time to open all sessions; 0 before they are open.
    pub(super) fn opened_ns(&self) -> u64 {
        match self.opened_ns.load(Acquire) {
            CLOSED => 0,
            opened_ns => opened_ns,
        }
    }

    /// Starts the drive at `zero_ns`, the moment that was agreed on.
    ///
    /// # Errors
    /// How late it is: not every thread would see the start in time.
    pub(super) fn start(&self, zero_ns: u64, now_ns: u64) -> Result<(), Duration> {
        let seen_ns = now_ns + AHEAD_NS;
        if zero_ns < seen_ns {
            return Err(Duration::from_nanos(seen_ns - zero_ns));
        }
        self.decide(zero_ns);
        Ok(())
    }

    /// Refuses the start; the first cause is kept. False if the drive has already started.
    pub(super) fn refuse(&self, why: DriveError) -> bool {
        let mut kept = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if self.decide(REFUSED) {
            *kept = Some(why);
        }
        self.is_refused()
    }

    pub(super) fn is_refused(&self) -> bool {
        self.zero_ns.load(Acquire) == REFUSED
    }

    pub(super) fn take_refusal(&self) -> Option<DriveError> {
        let mut kept = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }

    /// Time zero on the reactors' clock. None before it is set.
    pub(super) fn zero_ns(&self) -> Option<u64> {
        match self.zero_ns.load(Acquire) {
            CLOSED | REFUSED => None,
            zero_ns => Some(zero_ns),
        }
    }

    /// Waits for time zero. None if the drive does not start.
    pub(super) async fn pass(&self, io: &Io, waiting: &Waiting) -> Option<u64> {
        let is_decided = || self.is_decided();
        waiting.until(io, CHECK_INTERVAL_NS, is_decided).await;
        let zero_ns = self.zero_ns()?;
        while io.now_ns() < zero_ns {
            io.sleep_until(zero_ns).await;
        }
        Some(zero_ns)
    }

    fn is_decided(&self) -> bool {
        self.zero_ns.load(Acquire) != CLOSED
    }

    fn decide(&self, zero_ns: u64) -> bool {
        self.zero_ns
            .compare_exchange(CLOSED, zero_ns, AcqRel, Acquire)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{self, Task};
    use crate::io::Backend;
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::Instant;

    /// What three waiting clients of one thread get when `decide` runs.
    fn passed(decide: impl FnOnce(&Gate, u64)) -> Vec<Option<u64>> {
        let gate = Gate::new(1);
        let waiting = Rc::new(Waiting::default());
        let passed = Rc::new(RefCell::new(Vec::new()));
        executor::run(Backend::Epoll, Instant::now(), None, 0, |io| {
            let client = |_| -> Task {
                let (io, gate) = (io.clone(), &gate);
                let (waiting, passed) = (waiting.clone(), passed.clone());
                Box::pin(async move {
                    let zero_ns = gate.pass(&io, &waiting).await;
                    passed.borrow_mut().push(zero_ns);
                })
            };
            let mut tasks: Vec<Task> = (0..3).map(client).collect();
            let (io, gate, waiting) = (io.clone(), &gate, waiting.clone());
            tasks.push(Box::pin(async move {
                io.yield_now().await;
                assert_eq!(waiting.tasks(), 2, "one of three clients polls");
                decide(gate, io.now_ns());
            }));
            tasks
        })
        .unwrap();
        passed.take()
    }

    #[test]
    fn one_client_per_thread_polls_the_gate_and_all_pass() {
        assert_eq!(passed(|gate, _| gate.opened(7)), [Some(7 + AHEAD_NS); 3]);
    }

    #[test]
    fn one_client_per_thread_polls_the_gate_and_all_are_refused() {
        let refuse = |gate: &Gate, _| assert!(gate.refuse(DriveError::Interrupted));
        assert_eq!(passed(refuse), [None; 3]);
    }

    #[test]
    fn the_last_session_to_open_sets_the_start() {
        let gate = Gate::new(2);
        gate.opened(5);
        assert_eq!(gate.zero_ns(), None);
        gate.opened(7);
        assert_eq!(gate.zero_ns(), Some(7 + AHEAD_NS));
        assert!(!gate.refuse(DriveError::Interrupted));
    }

    #[test]
    fn a_refused_gate_stays_closed_and_keeps_the_first_cause() {
        let gate = Gate::new(1);
        assert!(gate.refuse(DriveError::Invalid("first".into())));
        assert!(gate.refuse(DriveError::Interrupted));
        gate.opened(7);
        assert_eq!(gate.zero_ns(), None);
        assert!(matches!(gate.take_refusal(), Some(DriveError::Invalid(why)) if why == "first"));
    }
}
