//! The state of one socket: what epoll reported and what its task waits for.

use crate::io::schedule::UNLIMITED;
use rustix::event::epoll::EventFlags;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Readable,
    Writable,
}

pub(super) struct Slot {
    pub task: u32,
    waiting: Option<Need>,
    readable: bool,
    writable: bool,
    /// The peer has closed or reset the connection, so receiving never blocks again.
    hung_up: bool,
    cancelled: Option<io::ErrorKind>,
    /// The limit in beats.
    pub limit: u32,
    begun: u32,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot {
            task: 0,
            waiting: None,
            readable: false,
            writable: false,
            hung_up: false,
            cancelled: None,
            limit: UNLIMITED,
            begun: 0,
        }
    }
}

impl Slot {
    /// Starts an operation.
    ///
    /// # Errors
    /// If an earlier operation was cancelled.
    pub(super) fn begin(&mut self, task: u32, beats: u32) -> io::Result<()> {
        if let Some(why) = self.cancelled {
            return Err(why.into());
        }
        if self.waiting.is_some() {
            return Err(io::Error::other(
                "an earlier operation of this stream was cancelled: open another connection",
            ));
        }
        self.task = task;
        self.begun = beats;
        Ok(())
    }

    /// Records an event. True if the task can continue.
    pub(super) fn mark(&mut self, flags: EventFlags) -> bool {
        let ended = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        self.hung_up |= ended;
        self.readable |= ended || flags.contains(EventFlags::IN);
        self.writable |= flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR);
        match self.waiting {
            Some(Need::Readable) => self.readable,
            Some(Need::Writable) => self.writable,
            None => false,
        }
    }

    pub(super) fn wait_for(&mut self, need: Need) {
        self.waiting = Some(need);
        if need == Need::Writable {
            self.writable = false;
        }
    }

    pub(super) fn resume(&mut self) {
        self.waiting = None;
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    pub(super) fn is_readable(&self) -> bool {
        self.readable
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }

    /// Nothing is left to receive until the next event.
    pub(super) fn drained(&mut self) {
        self.readable = self.hung_up;
    }

    pub(super) fn has_stalled(&self, beats: u32) -> bool {
        self.limit != UNLIMITED && beats.wrapping_sub(self.begun) > self.limit
    }

    pub(super) fn cancel(&mut self, why: io::ErrorKind) {
        self.cancelled.get_or_insert(why);
    }

    pub(super) fn cancelled(&self) -> Option<io::ErrorKind> {
        self.cancelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_connection_stays_readable() {
        let mut slot = Slot::default();
        slot.wait_for(Need::Readable);
        assert!(slot.mark(EventFlags::IN | EventFlags::RDHUP));
        slot.drained();
        assert!(slot.is_readable());
    }

    #[test]
    fn an_event_without_a_waiter_is_kept() {
        let mut slot = Slot::default();
        assert!(!slot.mark(EventFlags::IN));
        assert!(slot.is_readable());
    }

    #[test]
    fn a_slot_without_a_timeout_never_stalls() {
        let slot = Slot::default();
        assert!(!slot.has_stalled(u32::MAX - 1));
    }
}
