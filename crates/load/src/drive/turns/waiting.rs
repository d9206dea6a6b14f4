//! Waiting without wake-ups across threads: one client per thread polls, and wakes the others of its thread.

use crate::io::Io;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

/// The clients of one thread that wait for something that another thread decides.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Whether a client of this thread polls for it.
    is_watched: Cell<bool>,
    /// The tasks of the other clients.
    tasks: RefCell<Vec<u32>>,
}

impl Waiting {
    /// Waits until `is_decided`. The first client of the thread that waits polls for it, at this interval.
    pub(crate) async fn until(&self, io: &Io, interval_ns: u64, is_decided: impl Fn() -> bool) {
        while !is_decided() {
            if self.is_watched.replace(true) {
                self.wait(io).await;
                continue;
            }
            while !is_decided() {
                io.sleep_until(io.now_ns() + interval_ns).await;
            }
            self.is_watched.set(false);
            self.wake_all(io);
        }
    }

    /// Waits until the client that polls wakes this one.
    async fn wait(&self, io: &Io) {
        let mut has_waited = false;
        poll_fn(|_| match std::mem::replace(&mut has_waited, true) {
            true => Poll::Ready(()),
            false => {
                self.tasks.borrow_mut().push(io.schedule().current());
                Poll::Pending
            }
        })
        .await;
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
