//! Where clients wait for each other: time zero is when all sessions are open.
//!
//! Nobody is woken across threads for it: one client of each thread looks again and again and wakes the others of its own, and
//! time zero lies far enough ahead for all to see it.

use super::driven::DriveError;
use crate::io::Io;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

const LOOK_EVERY_NS: u64 = 10_000_000;
const AHEAD_NS: u64 = 25_000_000;
const CLOSED: u64 = u64::MAX;
const REFUSED: u64 = u64::MAX - 1;

#[derive(Debug)]
pub struct Gate {
    /// Sessions that are not open yet.
    missing: AtomicU32,
    /// Time zero on the reactors' clock, or `CLOSED`, or `REFUSED`; it is decided once.
    zero_ns: AtomicU64,
    why: Mutex<Option<DriveError>>,
}

/// The clients of one thread that stand before the gate.
#[derive(Debug, Default)]
pub struct Waiting {
    /// By the first of them.
    is_watched: Cell<bool>,
    /// The tasks of the others.
    tasks: RefCell<Vec<u32>>,
}

impl Gate {
    pub fn new(clients: u32) -> Gate {
        Gate {
            missing: AtomicU32::new(clients),
            zero_ns: AtomicU64::new(CLOSED),
            why: Mutex::new(None),
        }
    }

    /// One more session is open; the last one sets time zero.
    pub fn opened(&self, now_ns: u64) {
        if self.missing.fetch_sub(1, AcqRel) == 1 {
            self.decide(now_ns + AHEAD_NS);
        }
    }

    /// The drive shall not begin; the first cause is kept. False: it has begun.
    pub fn refuse(&self, why: DriveError) -> bool {
        let mut kept = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if self.decide(REFUSED) {
            *kept = Some(why);
        }
        self.is_refused()
    }

    pub fn is_refused(&self) -> bool {
        self.zero_ns.load(Acquire) == REFUSED
    }

    pub fn take_refusal(&self) -> Option<DriveError> {
        let mut kept = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }

    /// Time zero on the reactors' clock, once it is known.
    pub fn zero_ns(&self) -> Option<u64> {
        match self.zero_ns.load(Acquire) {
            CLOSED | REFUSED => None,
            zero_ns => Some(zero_ns),
        }
    }

    /// Waits for time zero. None: the drive does not begin.
    pub async fn pass(&self, io: &Io, waiting: &Waiting) -> Option<u64> {
        match waiting.is_watched.replace(true) {
            false => {
                self.watch(io).await;
                waiting.wake_all(io);
            }
            true => self.wait(io, waiting).await,
        }
        let zero_ns = self.zero_ns()?;
        while io.now_ns() < zero_ns {
            io.sleep_until(zero_ns).await;
        }
        Some(zero_ns)
    }

    async fn watch(&self, io: &Io) {
        while !self.is_decided() {
            io.sleep_until(io.now_ns() + LOOK_EVERY_NS).await;
        }
    }

    async fn wait(&self, io: &Io, waiting: &Waiting) {
        poll_fn(|_| match self.is_decided() {
            true => Poll::Ready(()),
            false => {
                waiting.tasks.borrow_mut().push(io.schedule().current());
                Poll::Pending
            }
        })
        .await;
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

impl Waiting {
    fn wake_all(&self, io: &Io) {
        for task in self.tasks.take() {
            io.schedule().wake(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{self, Task};
    use crate::io::Backend;
    use std::rc::Rc;
    use std::time::Instant;

    /// What three clients of a thread are told when all of them stand before the gate and `decide` is done.
    fn told(decide: impl FnOnce(&Gate, u64)) -> Vec<Option<u64>> {
        let gate = Gate::new(1);
        let waiting = Rc::new(Waiting::default());
        let told = Rc::new(RefCell::new(Vec::new()));
        executor::run(Backend::Epoll, Instant::now(), None, 0, |io| {
            let client = |_| -> Task {
                let (io, gate) = (io.clone(), &gate);
                let (waiting, told) = (waiting.clone(), told.clone());
                Box::pin(async move {
                    let zero_ns = gate.pass(&io, &waiting).await;
                    told.borrow_mut().push(zero_ns);
                })
            };
            let mut tasks: Vec<Task> = (0..3).map(client).collect();
            let (io, gate, waiting) = (io.clone(), &gate, waiting.clone());
            tasks.push(Box::pin(async move {
                io.yield_now().await;
                assert_eq!(waiting.tasks.borrow().len(), 2, "one of three looks");
                decide(gate, io.now_ns());
            }));
            tasks
        })
        .unwrap();
        told.take()
    }

    #[test]
    fn one_client_of_a_thread_looks_at_the_gate_and_all_of_them_pass() {
        assert_eq!(told(|gate, _| gate.opened(7)), [Some(7 + AHEAD_NS); 3]);
    }

    #[test]
    fn one_client_of_a_thread_looks_at_the_gate_and_all_of_them_are_refused() {
        let refuse = |gate: &Gate, _| assert!(gate.refuse(DriveError::Interrupted));
        assert_eq!(told(refuse), [None; 3]);
    }

    #[test]
    fn the_last_session_to_open_decides_when_the_drive_begins() {
        let gate = Gate::new(2);
        gate.opened(5);
        assert_eq!(gate.zero_ns(), None);
        gate.opened(7);
        assert_eq!(gate.zero_ns(), Some(7 + AHEAD_NS));
        assert!(!gate.refuse(DriveError::Interrupted));
    }

    #[test]
    fn a_gate_that_was_refused_stays_closed_and_keeps_the_first_cause() {
        let gate = Gate::new(1);
        assert!(gate.refuse(DriveError::Asked("first".into())));
        assert!(gate.refuse(DriveError::Interrupted));
        gate.opened(7);
        assert_eq!(gate.zero_ns(), None);
        assert!(matches!(gate.take_refusal(), Some(DriveError::Asked(why)) if why == "first"));
    }
}
