//! Counts the statements that this process sends, over all connections, so that those of other clients of a server can be distinguished.
//!
//! Goal: the hot path only writes to memory of its own connection.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The connections that are open, and the statements of those that are closed.
struct All {
    closed: u64,
    open: Vec<Arc<AtomicU64>>,
}

static ALL: Mutex<All> = Mutex::new(All {
    closed: 0,
    open: Vec::new(),
});

/// The statements of one connection.
pub(crate) struct Sent(Arc<AtomicU64>);

impl Sent {
    pub(crate) fn new() -> Sent {
        let sent = Arc::new(AtomicU64::new(0));
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        // Connections that nobody counts must not pile up.
        if all.open.len().is_power_of_two() {
            all.sweep();
        }
        all.open.push(sent.clone());
        Sent(sent)
    }

    /// Only its connection counts, so it needs no read-modify-write.
    #[inline]
    pub(crate) fn count(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
    }
}

impl All {
    /// Moves the statements of closed connections to their sum.
    fn sweep(&mut self) {
        let closed = &mut self.closed;
        self.open.retain(|sent| {
            let is_open = Arc::strong_count(sent) > 1;
            if !is_open {
                *closed += sent.load(Relaxed);
            }
            is_open
        });
    }
}

/// The number of statements that this process has sent since it began, without PREPARE and the login.
pub fn statements_sent() -> u64 {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.sweep();
    let open: u64 = all.open.iter().map(|sent| sent.load(Relaxed)).sum();
    all.closed + open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_open_and_closed_connections_are_counted() {
        // Other tests of this process send statements, too.
        let before = statements_sent();
        let (one, other) = (Sent::new(), Sent::new());
        (0..5).for_each(|_| one.count());
        (0..7).for_each(|_| other.count());
        assert!(statements_sent() >= before + 12);
        drop(one);
        assert!(statements_sent() >= before + 12);
    }
}
