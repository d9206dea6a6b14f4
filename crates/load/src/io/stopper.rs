//! Ends every wait of a reactor from another thread.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends all current and later waits of one [`crate::Io`] with [`io::ErrorKind::Interrupted`].
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Stop>);

#[derive(Debug)]
struct Stop {
    asked: AtomicBool,
    wake_fd: OwnedFd,
}

impl Stopper {
    pub(super) fn new() -> io::Result<Stopper> {
        let wake_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Stopper(Arc::new(Stop {
            asked: AtomicBool::new(false),
            wake_fd,
        })))
    }

    /// Interrupts the reactor. Can be called from any thread, any number of times.
    pub fn interrupt(&self) {
        self.0.asked.store(true, Ordering::Release);
        // It fails only if the counter is full, and then the reactor is already woken.
        let _ = rustix::io::write(&self.0.wake_fd, &1u64.to_ne_bytes());
    }

    /// Whether it was used.
    pub fn is_interrupted(&self) -> bool {
        self.0.asked.load(Ordering::Acquire)
    }

    /// A file descriptor that is readable from the interrupt on. It is never read.
    pub(super) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.0.wake_fd.as_fd()
    }
}
