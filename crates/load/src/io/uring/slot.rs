//! One stream's place in the ring: its socket, its operation in flight and, as long as that lasts, its buffers.
//!
//! Goal: the kernel never reads or writes memory that was freed, whatever is dropped when. A slot is used again only
//! after every completion that writes has arrived; one that comes later is told by its generation.

use crate::io::Operation;
use crate::io::buffers::Buffers;
use crate::io::schedule::UNLIMITED;
use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A part of an operation: what one completion tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Send,
    Receive,
    Poll,
    /// The reactor's own: no slot's.
    Service,
}

/// What a completion's `user_data` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub generation: u32,
    pub slot: u32,
    pub part: Part,
}

impl Tag {
    #[inline]
    pub fn packed(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot) << 2 | self.part as u64
    }

    #[inline]
    pub fn unpacked(packed: u64) -> Tag {
        Tag {
            generation: (packed >> 32) as u32,
            slot: packed as u32 >> 2,
            part: match packed & 3 {
                0 => Part::Send,
                1 => Part::Receive,
                2 => Part::Poll,
                _ => Part::Service,
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Flying,
    Landed,
}

/// What a completion means for its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// Nothing: it belongs to an earlier one.
    Stale,
    /// The kernel took only a part: the rest has to be submitted.
    Again,
    Done,
}

/// No completion of this part yet.
const UNSEEN: i32 = i32::MIN;

/// The kernel tries to receive only when something has arrived: right after a send nothing has.
const POLL_FIRST: u16 = 1;

pub struct Slot {
    /// None: free.
    pub socket: Option<OwnedFd>,
    pub task: u32,
    generation: u32,
    phase: Phase,
    operation: Operation,
    sent: i32,
    received: i32,
    /// Here from the operation's beginning until its stream has seen the end of it.
    buffers: Option<Box<Buffers>>,
    outcome: io::Result<()>,
    /// Why it was cut off, whatever its completion says.
    doomed: Option<io::ErrorKind>,
    /// In sweeps.
    pub limit: u32,
    begun: u32,
    /// Its stream was dropped.
    abandoned: bool,
}

impl Slot {
    pub fn new() -> Slot {
        Slot {
            socket: None,
            task: 0,
            generation: 0,
            phase: Phase::Idle,
            operation: Operation::Receive,
            sent: UNSEEN,
            received: UNSEEN,
            buffers: None,
            outcome: Ok(()),
            doomed: None,
            limit: UNLIMITED,
            begun: 0,
            abandoned: false,
        }
    }

    pub fn occupy(&mut self, socket: OwnedFd) {
        *self = Slot {
            generation: self.generation,
            socket: Some(socket),
            ..Slot::new()
        };
    }

    /// # Errors
    /// Where an earlier operation was given up half-way.
    #[inline]
    pub fn begin(
        &mut self,
        operation: Operation,
        task: u32,
        sweeps: u32,
        buffers: &mut Option<Box<Buffers>>,
    ) -> io::Result<()> {
        if self.phase != Phase::Idle {
            return Err(io::Error::other(
                "an operation of this stream was given up half-way; it is of no use any more",
            ));
        }
        self.phase = Phase::Flying;
        self.operation = operation;
        self.task = task;
        self.begun = sweeps;
        self.buffers = Some(buffers.take().unwrap_or_default());
        Ok(())
    }

    pub fn is_flying(&self) -> bool {
        self.phase == Phase::Flying
    }

    pub fn has_stalled(&self, sweeps: u32) -> bool {
        self.is_flying()
            && self.limit != UNLIMITED
            && sweeps.wrapping_sub(self.begun) > self.limit
            && self.doomed.is_none()
    }

    /// Cuts the operation off: shutting the socket down makes it end.
    pub fn doom(&mut self, why: io::ErrorKind) {
        self.doomed.get_or_insert(why);
        if let Some(socket) = &self.socket {
            // It fails where there is no connection any more: the operation ends by that.
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
        }
    }

    /// The stream is gone. True: the slot is free; else it will be when its operation has ended.
    pub fn abandon(&mut self) -> bool {
        self.abandoned = true;
        if self.is_flying() {
            self.doom(io::ErrorKind::Interrupted);
            return false;
        }
        true
    }

    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Closes the socket and frees the buffers.
    pub fn vacate(&mut self) {
        debug_assert!(!self.is_flying());
        self.socket = None;
        self.buffers = None;
    }

    /// The entries that submit the operation, or what is left of it; a second one is linked to the first.
    #[inline]
    pub fn entries(&mut self, slot: u32) -> (Entry, Option<Entry>) {
        self.generation = self.generation.wrapping_add(1);
        self.sent = UNSEEN;
        self.received = UNSEEN;
        match self.operation {
            Operation::Exchange => {
                let flags = Flags::IO_LINK | Flags::SKIP_SUCCESS;
                let send = self.send_entry(slot).flags(flags);
                (send, Some(self.receive_entry(slot, POLL_FIRST)))
            }
            Operation::Send => (self.send_entry(slot), None),
            Operation::Receive => (self.receive_entry(slot, 0), None),
            Operation::Writable => (self.poll_entry(slot), None),
        }
    }

    fn descriptor(&self) -> types::Fd {
        types::Fd(self.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd))
    }

    fn tag(&self, slot: u32, part: Part) -> u64 {
        Tag {
            generation: self.generation,
            slot,
            part,
        }
        .packed()
    }

    #[inline]
    fn send_entry(&self, slot: u32) -> Entry {
        let unsent = self.buffers.as_ref().map_or(&[][..], |held| held.unsent());
        opcode::Send::new(self.descriptor(), unsent.as_ptr(), unsent.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(self.tag(slot, Part::Send))
    }

    #[inline]
    fn receive_entry(&mut self, slot: u32, how: u16) -> Entry {
        let descriptor = self.descriptor();
        let room = self.buffers.get_or_insert_default().room();
        opcode::Recv::new(descriptor, room.as_mut_ptr().cast(), room.len() as u32)
            .ioprio(how)
            .build()
            .user_data(self.tag(slot, Part::Receive))
    }

    fn poll_entry(&self, slot: u32) -> Entry {
        opcode::PollAdd::new(self.descriptor(), libc::POLLOUT as u32)
            .build()
            .user_data(self.tag(slot, Part::Poll))
    }

    /// Takes a completion in.
    #[inline]
    pub fn land(&mut self, tag: Tag, result: i32) -> Landing {
        if tag.generation != self.generation || !self.is_flying() {
            return Landing::Stale;
        }
        match tag.part {
            Part::Send => self.sent = result,
            Part::Receive => self.received = result,
            Part::Poll | Part::Service => {}
        }
        let landing = match self.operation {
            Operation::Exchange => self.land_exchange(),
            Operation::Send => self.land_send(),
            Operation::Receive => self.land_receive(),
            Operation::Writable => self.end(Ok(())),
        };
        match landing {
            Landing::Again if self.doomed.is_some() => self.end(Ok(())),
            other => other,
        }
    }

    /// A send that succeeds has no completion; one that does not breaks the link, and the receive has none.
    #[inline]
    fn land_exchange(&mut self) -> Landing {
        if self.sent == UNSEEN {
            self.buffers.get_or_insert_default().clear_outgoing();
            return self.land_receive();
        }
        if self.sent < 0 {
            return self.fail(self.sent);
        }
        self.buffers
            .get_or_insert_default()
            .sent(self.sent as usize);
        Landing::Again
    }

    fn land_send(&mut self) -> Landing {
        if self.sent < 0 {
            return self.fail(self.sent);
        }
        let buffers = self.buffers.get_or_insert_default();
        buffers.sent(self.sent as usize);
        if !buffers.unsent().is_empty() {
            return Landing::Again;
        }
        buffers.clear_outgoing();
        self.end(Ok(()))
    }

    fn land_receive(&mut self) -> Landing {
        match self.received {
            0 => self.end(Err(io::ErrorKind::UnexpectedEof.into())),
            error if error < 0 => self.fail(error),
            bytes => {
                // SAFETY: the kernel wrote so many bytes into the room of this operation's entry.
                unsafe {
                    self.buffers
                        .get_or_insert_default()
                        .received(bytes as usize)
                };
                self.end(Ok(()))
            }
        }
    }

    fn fail(&mut self, error: i32) -> Landing {
        if error == -libc::EINTR || error == -libc::EAGAIN {
            return Landing::Again;
        }
        self.end(Err(io::Error::from_raw_os_error(-error)))
    }

    fn end(&mut self, outcome: io::Result<()>) -> Landing {
        self.phase = Phase::Landed;
        self.outcome = outcome;
        Landing::Done
    }

    /// Gives the buffers back with what came of the operation. None: it is still in flight.
    #[inline]
    pub fn outcome(&mut self, buffers: &mut Option<Box<Buffers>>) -> Option<io::Result<()>> {
        if self.phase != Phase::Landed {
            return None;
        }
        self.phase = Phase::Idle;
        *buffers = self.buffers.take();
        if let Some(why) = self.doomed {
            return Some(Err(why.into()));
        }
        Some(std::mem::replace(&mut self.outcome, Ok(())))
    }
}
