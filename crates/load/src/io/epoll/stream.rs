//! A stream of the epoll backend, on a non-blocking socket.

use super::Reactor;
use super::slot::Need;
use crate::io::Operation;
use crate::io::buffers::Buffers;
use crate::io::schedule::beats_in;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Poll, ready};
use std::time::Duration;

/// The remaining steps of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Send,
    SendThenReceive,
    Receive,
    Writable,
}

pub(crate) struct Stream {
    reactor: Rc<Reactor>,
    slot: u32,
    socket: OwnedFd,
    pub buffers: Box<Buffers>,
    /// The socket was full, so it is also registered for becoming writable.
    was_full: bool,
    step: Step,
}

impl Stream {
    pub(crate) fn adopt(reactor: &Rc<Reactor>, socket: OwnedFd) -> io::Result<Stream> {
        Ok(Stream {
            slot: reactor.adopt(&socket)?,
            reactor: reactor.clone(),
            socket,
            buffers: Box::new(Buffers::new()),
            was_full: false,
            step: Step::Receive,
        })
    }

    /// Starts the operation at the first call. Ready when it has ended.
    pub(crate) fn poll(&mut self, operation: Operation, begun: &mut bool) -> Poll<io::Result<()>> {
        if std::mem::replace(begun, true) {
            self.resume()?
        } else {
            self.begin(operation)?
        }
        match self.step {
            Step::Send => self.send_rest(),
            Step::Writable => self.is_writable(),
            Step::Receive => self.receive_some(),
            Step::SendThenReceive => {
                ready!(self.send_rest())?;
                self.step = Step::Receive;
                self.receive_some()
            }
        }
    }

    pub(crate) fn set_stall_timeout(&mut self, limit: Option<Duration>) {
        self.reactor.limit(self.slot, beats_in(limit));
    }

    /// The result of connecting, once the socket is writable.
    pub(crate) fn connected(&self) -> io::Result<()> {
        crate::io::socket::outcome(&self.socket)
    }

    fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let schedule = &self.reactor.schedule;
        if schedule.is_interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (task, beats) = (schedule.current(), schedule.beats());
        self.reactor
            .with(self.slot, |slot| slot.begin(task, beats))?;
        self.step = match operation {
            Operation::Send => Step::Send,
            Operation::Exchange => Step::SendThenReceive,
            Operation::Receive => Step::Receive,
            Operation::Writable => Step::Writable,
        };
        Ok(())
    }

    /// Resumes the operation, or returns why it was cancelled.
    fn resume(&mut self) -> io::Result<()> {
        self.reactor.with(self.slot, |slot| {
            slot.resume();
            slot.cancelled().map_or(Ok(()), |why| Err(why.into()))
        })
    }

    fn send_rest(&mut self) -> Poll<io::Result<()>> {
        while !self.buffers.unsent().is_empty() {
            match send(&self.socket, self.buffers.unsent(), SendFlags::NOSIGNAL) {
                Ok(bytes) => self.buffers.sent(bytes),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return self.await_writable(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        self.buffers.clear_outgoing();
        Poll::Ready(self.restore_interest())
    }

    fn restore_interest(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.was_full, false) {
            self.reactor
                .interest(self.slot, &self.socket, Need::Readable)
        } else {
            Ok(())
        }
    }

    /// Waits until the socket is writable. Registering again also reports a socket that is already writable.
    fn await_writable(&mut self) -> Poll<io::Result<()>> {
        self.was_full = true;
        self.reactor
            .with(self.slot, |slot| slot.wait_for(Need::Writable));
        match self
            .reactor
            .interest(self.slot, &self.socket, Need::Writable)
        {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn is_writable(&mut self) -> Poll<io::Result<()>> {
        if !self.reactor.with(self.slot, |slot| slot.is_writable()) {
            return self.await_writable();
        }
        Poll::Ready(self.restore_interest())
    }

    fn receive_some(&mut self) -> Poll<io::Result<()>> {
        let readable = self.reactor.with(self.slot, |slot| {
            if !slot.is_readable() {
                slot.wait_for(Need::Readable);
            }
            slot.is_readable()
        });
        if !readable {
            return Poll::Pending;
        }
        let space = self.buffers.free_space();
        let capacity = space.len();
        let received = match recv(&self.socket, space, RecvFlags::empty()) {
            Ok((_, received)) => received,
            Err(Errno::INTR) => return self.receive_some(),
            Err(Errno::AGAIN) => {
                self.reactor.with(self.slot, |slot| slot.drained());
                return self.receive_some();
            }
            Err(error) => return Poll::Ready(Err(error.into())),
        };
        if received == 0 {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        if received < capacity {
            self.reactor.with(self.slot, |slot| slot.drained());
        }
        // SAFETY: `recv` initialised `received` bytes of the free space.
        unsafe { self.buffers.received(received) };
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reactor.vacate(self.slot);
    }
}
