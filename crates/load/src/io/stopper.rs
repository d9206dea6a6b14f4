//! Ending every wait of a reactor from another thread.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends every pending and every later await of one [`crate::Io`] with [`io::ErrorKind::Interrupted`], soon, and for good.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Stop>);

#[derive(Debug)]
struct Stop {
    asked: AtomicBool,
    bell: OwnedFd,
}

impl Stopper {
    pub(super) fn new() -> io::Result<Stopper> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Stopper(Arc::new(Stop {
            asked: AtomicBool::new(false),
            bell,
        })))
    }

    /// Can be called from any thread, any number of times.
    pub fn interrupt(&self) {
        self.0.asked.store(true, Ordering::Release);
        // It fails only where the counter is full: the bell has rung then.
        let _ = rustix::io::write(&self.0.bell, &1u64.to_ne_bytes());
    }

    pub fn is_interrupted(&self) -> bool {
        self.0.asked.load(Ordering::Acquire)
    }

    /// Readable from the interrupt on; nobody ever reads it.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.0.bell.as_fd()
    }
}
