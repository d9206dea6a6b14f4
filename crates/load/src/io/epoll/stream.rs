//! A stream on a non-blocking socket.

use super::Reactor;
use super::slot::Need;
use crate::io::Operation;
use crate::io::buffers::Buffers;
use crate::io::schedule::sweeps_in;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Poll, ready};
use std::time::Duration;

/// What is left to do of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Send,
    SendThenReceive,
    Receive,
    Writable,
}

pub struct Stream {
    reactor: Rc<Reactor>,
    slot: u32,
    socket: OwnedFd,
    pub buffers: Box<Buffers>,
    /// Registered for becoming writable, too: it was full.
    awaits_room: bool,
    step: Step,
}

impl Stream {
    pub fn adopt(reactor: &Rc<Reactor>, socket: OwnedFd) -> io::Result<Stream> {
        Ok(Stream {
            slot: reactor.adopt(&socket)?,
            reactor: reactor.clone(),
            socket,
            buffers: Box::new(Buffers::new()),
            awaits_room: false,
            step: Step::Receive,
        })
    }

    /// Begins at the first call of an operation, and is ready when it has ended.
    pub fn poll(&mut self, operation: Operation, begun: &mut bool) -> Poll<io::Result<()>> {
        match std::mem::replace(begun, true) {
            false => self.begin(operation)?,
            true => self.go_on()?,
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

    pub fn stalled_after(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.reactor.limit(self.slot, sweeps_in(limit))
    }

    /// What came of connecting, after it was writable.
    pub fn connected(&self) -> io::Result<()> {
        crate::io::socket::outcome(&self.socket)
    }

    fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let schedule = &self.reactor.schedule;
        if schedule.is_interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (task, sweeps) = (schedule.current(), schedule.sweeps());
        self.reactor
            .with(self.slot, |slot| slot.begin(task, sweeps))?;
        self.step = match operation {
            Operation::Send => Step::Send,
            Operation::Exchange => Step::SendThenReceive,
            Operation::Receive => Step::Receive,
            Operation::Writable => Step::Writable,
        };
        Ok(())
    }

    /// Ends with what the operation was cut off for.
    fn go_on(&mut self) -> io::Result<()> {
        self.reactor.with(self.slot, |slot| {
            slot.go_on();
            slot.doomed().map_or(Ok(()), |why| Err(why.into()))
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
        Poll::Ready(self.has_room())
    }

    fn has_room(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.awaits_room, false) {
            true => self
                .reactor
                .interest(self.slot, &self.socket, Need::Readable),
            false => Ok(()),
        }
    }

    /// Registering anew tells of a socket that is writable already, too.
    fn await_writable(&mut self) -> Poll<io::Result<()>> {
        self.awaits_room = true;
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
        Poll::Ready(self.has_room())
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
        let room = self.buffers.room();
        let asked = room.len();
        let received = match recv(&self.socket, room, RecvFlags::empty()) {
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
        if received < asked {
            self.reactor.with(self.slot, |slot| slot.drained());
        }
        // SAFETY: `recv` wrote so many bytes into the room.
        unsafe { self.buffers.received(received) };
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reactor.vacate(self.slot);
    }
}
