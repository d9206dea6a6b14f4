//! Where clients wait for each other: time zero is when all sessions are open.
//!
//! Nobody is woken across threads for it: who waits looks again, and time zero lies far enough ahead for all to see it.

use super::driven::DriveError;
use crate::io::Io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire};
use std::sync::{Mutex, PoisonError};

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
    pub async fn pass(&self, io: &Io) -> Option<u64> {
        while !self.is_refused() {
            if let Some(zero_ns) = self.zero_ns() {
                while io.now_ns() < zero_ns {
                    io.sleep_until(zero_ns).await;
                }
                return Some(zero_ns);
            }
            io.sleep_until(io.now_ns() + LOOK_EVERY_NS).await;
        }
        None
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
