//! What epoll has told of one socket, and what its task waits for.

use crate::io::schedule::UNLIMITED;
use rustix::event::epoll::EventFlags;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Readable,
    Writable,
}

pub struct Slot {
    pub task: u32,
    waiting: Option<Need>,
    readable: bool,
    writable: bool,
    /// The other side has closed or reset: receiving never has to wait again.
    hung_up: bool,
    doomed: Option<io::ErrorKind>,
    /// In sweeps.
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
            doomed: None,
            limit: UNLIMITED,
            begun: 0,
        }
    }
}

impl Slot {
    /// # Errors
    /// Where an earlier operation was given up half-way.
    pub fn begin(&mut self, task: u32, sweeps: u32) -> io::Result<()> {
        if let Some(why) = self.doomed {
            return Err(why.into());
        }
        if self.waiting.is_some() {
            return Err(io::Error::other(
                "an operation of this stream was given up half-way; it is of no use any more",
            ));
        }
        self.task = task;
        self.begun = sweeps;
        Ok(())
    }

    /// Takes an event in. True: its task can go on.
    pub fn mark(&mut self, flags: EventFlags) -> bool {
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

    pub fn wait_for(&mut self, need: Need) {
        self.waiting = Some(need);
        if need == Need::Writable {
            self.writable = false;
        }
    }

    pub fn go_on(&mut self) {
        self.waiting = None;
    }

    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    pub fn is_readable(&self) -> bool {
        self.readable
    }

    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Nothing is left to receive, until the next event says so.
    pub fn drained(&mut self) {
        self.readable = self.hung_up;
    }

    pub fn has_stalled(&self, sweeps: u32) -> bool {
        self.limit != UNLIMITED && sweeps.wrapping_sub(self.begun) > self.limit
    }

    pub fn doom(&mut self, why: io::ErrorKind) {
        self.doomed.get_or_insert(why);
    }

    pub fn doomed(&self) -> Option<io::ErrorKind> {
        self.doomed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_connection_stays_readable() {
        let mut slot = Slot::default();
        slot.wait_for(Need::Readable);
        assert!(slot.mark(EventFlags::IN | EventFlags::RDHUP));
        slot.drained();
        assert!(slot.is_readable());
    }

    #[test]
    fn an_event_that_nobody_waits_for_wakes_nobody_and_is_kept() {
        let mut slot = Slot::default();
        assert!(!slot.mark(EventFlags::IN));
        assert!(slot.is_readable());
    }

    #[test]
    fn a_slot_without_a_limit_never_stalls() {
        let slot = Slot::default();
        assert!(!slot.has_stalled(u32::MAX - 1));
    }
}
