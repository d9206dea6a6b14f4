//! A stream of the io_uring backend.

use super::{Reactor, slot};
use crate::io::Operation;
use crate::io::buffers::Buffers;
use crate::io::schedule::beats_in;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

pub(crate) struct Stream {
    reactor: Rc<Reactor>,
    slot: u32,
    /// None during an operation, while the slot has them.
    buffers: Option<Box<Buffers>>,
}

impl Stream {
    pub(crate) fn adopt(reactor: &Rc<Reactor>, socket: OwnedFd) -> io::Result<Stream> {
        Ok(Stream {
            slot: reactor.adopt(socket)?,
            reactor: reactor.clone(),
            buffers: Some(Box::new(Buffers::new())),
        })
    }

    #[inline]
    pub(crate) fn buffers(&self) -> Option<&Buffers> {
        self.buffers.as_deref()
    }

    /// The buffers. After a cancelled operation they are empty and unused.
    #[inline]
    pub(crate) fn buffers_mut(&mut self) -> &mut Buffers {
        self.buffers.get_or_insert_with(slot::empty_buffers)
    }

    /// Starts the operation at the first call. Ready when it has ended. The kernel continues an operation even if its future is
    /// dropped.
    #[inline]
    pub(crate) fn poll(&mut self, operation: Operation, begun: &mut bool) -> Poll<io::Result<()>> {
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

    pub(crate) fn set_stall_timeout(&mut self, limit: Option<Duration>) {
        self.reactor.limit(self.slot, beats_in(limit));
    }

    /// The result of connecting, once the socket is writable.
    pub(crate) fn connected(&self) -> io::Result<()> {
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
