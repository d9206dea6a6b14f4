//! A stream on a ring's slot.

use super::{Reactor, slot};
use crate::io::Operation;
use crate::io::buffers::Buffers;
use crate::io::schedule::sweeps_in;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

pub struct Stream {
    reactor: Rc<Reactor>,
    slot: u32,
    /// With the slot while an operation is in flight.
    buffers: Option<Box<Buffers>>,
}

impl Stream {
    pub fn adopt(reactor: &Rc<Reactor>, socket: OwnedFd) -> io::Result<Stream> {
        Ok(Stream {
            slot: reactor.adopt(socket)?,
            reactor: reactor.clone(),
            buffers: Some(Box::new(Buffers::new())),
        })
    }

    #[inline]
    pub fn buffers(&self) -> Option<&Buffers> {
        self.buffers.as_deref()
    }

    /// After an operation was given up half-way they are empty, and of no use.
    #[inline]
    pub fn buffers_mut(&mut self) -> &mut Buffers {
        self.buffers.get_or_insert_with(slot::lost)
    }

    /// Begins at the first call of an operation, and is ready when it has ended. It goes on in the kernel, whatever
    /// becomes of the future that asked.
    #[inline]
    pub fn poll(&mut self, operation: Operation, begun: &mut bool) -> Poll<io::Result<()>> {
        if !std::mem::replace(begun, true) {
            return match self.reactor.begin(self.slot, operation, &mut self.buffers) {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            };
        }
        match self.reactor.outcome(self.slot, &mut self.buffers) {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }

    pub fn stalled_after(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.reactor.limit(self.slot, sweeps_in(limit))
    }

    /// What came of connecting, after it was writable.
    pub fn connected(&self) -> io::Result<()> {
        let state = self.reactor.state.borrow();
        match &state.slots[self.slot as usize].socket {
            Some(socket) => crate::io::socket::outcome(socket),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reactor.abandon(self.slot);
    }
}
