//! The queue of deferred deliveries (2.7.2), shared by terminals and workers.

use crate::held;
use load::Left;
use std::collections::VecDeque;
use std::sync::Mutex;

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
        held(&self.0).push_back(queued);
    }

    pub(super) fn pop(&self) -> Option<Queued> {
        held(&self.0).pop_front()
    }
}
