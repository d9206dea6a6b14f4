//! Waiting without wake-ups across threads: one client per thread polls, and wakes the others of its thread.

use crate::io::Io;
use std::cell::{Cell, RefCell};

/// The clients of one thread that wait for something that another thread decides.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Whether a client of this thread polls for it.
    is_watched: Cell<bool>,
    /// The tasks of the other clients.
    tasks: RefCell<Vec<u32>>,
}

impl Waiting {
    /// Whether the caller is the client that polls for its thread, until it says that it has ended.
    pub(crate) fn begins_to_watch(&self) -> bool {
        !self.is_watched.replace(true)
    }

    /// The client that polled goes on, and so do the others.
    pub(crate) fn ends_to_watch(&self, io: &Io) {
        self.is_watched.set(false);
        self.wake_all(io);
    }

    /// The current task waits for the one that polls.
    pub(crate) fn add(&self, io: &Io) {
        self.tasks.borrow_mut().push(io.schedule().current());
    }

    #[cfg(test)]
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.borrow().len()
    }

    fn wake_all(&self, io: &Io) {
        for task in self.tasks.take() {
            io.schedule().wake(task);
        }
    }
}
