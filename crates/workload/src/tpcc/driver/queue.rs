//! The queue of deferred deliveries (2.7.2), shared by terminals and workers.

use load::Left;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// First in, first out. It grows while deliveries come faster than they are completed, by 24 bytes each.
#[derive(Default)]
pub(super) struct Queue(Mutex<VecDeque<Queued>>);

/// A delivery that a terminal has queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    pub warehouse: u32,
    pub left: Left,
}

impl Queue {
    pub(super) fn push(&self, queued: Queued) {
        self.queue().push_back(queued);
    }

    pub(super) fn pop(&self) -> Option<Queued> {
        self.queue().pop_front()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Queued>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
