//! One stream's place in the ring: its socket, its operation in flight and, as long as that lasts, its buffers.
//!
//! Goal: the kernel never reads or writes memory that was freed, whatever is dropped when. A slot is used again only
//! after every completion that writes has arrived; one that comes later is told by its generation.

use super::tag::{Part, Tag};
use crate::io::Operation;
use crate::io::buffers::Buffers;
use crate::io::schedule::UNLIMITED;
use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};
use std::io;
use std::os::fd::OwnedFd;

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

/// The kernel tries to receive only when something has arrived: right after a send nothing has.
const POLL_FIRST: u16 = 1;

/// A socket in the ring's own table costs the kernel less than one that it has to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Table(u32),
    Descriptor(i32),
}

pub struct Slot {
    /// None: free.
    pub socket: Option<OwnedFd>,
    /// What its entries name it by.
    target: Target,
    pub task: u32,
    generation: u32,
    phase: Phase,
    operation: Operation,
    /// Here from the operation's beginning until its stream has seen the end of it.
    buffers: Option<Box<Buffers>>,
    /// Of an operation that has landed; none: it went well.
    error: Option<io::Error>,
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
            target: Target::Descriptor(-1),
            task: 0,
            generation: 0,
            phase: Phase::Idle,
            operation: Operation::Receive,
            buffers: None,
            error: None,
            doomed: None,
            limit: UNLIMITED,
            begun: 0,
            abandoned: false,
        }
    }

    pub fn occupy(&mut self, socket: OwnedFd, target: Target) {
        *self = Slot {
            generation: self.generation,
            socket: Some(socket),
            target,
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

    /// The number that an entry has for the socket, and how it is to be read.
    fn target(&self) -> (types::Fd, Flags) {
        match self.target {
            Target::Table(place) => (types::Fd(place as i32), Flags::FIXED_FILE),
            Target::Descriptor(descriptor) => (types::Fd(descriptor), Flags::empty()),
        }
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
        let (target, flags) = self.target();
        opcode::Send::new(target, unsent.as_ptr(), unsent.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .flags(flags)
            .user_data(self.tag(slot, Part::Send))
    }

    #[inline]
    fn receive_entry(&mut self, slot: u32, how: u16) -> Entry {
        let (target, flags) = self.target();
        let room = self.buffers.get_or_insert_default().room();
        opcode::Recv::new(target, room.as_mut_ptr().cast(), room.len() as u32)
            .ioprio(how)
            .build()
            .flags(flags)
            .user_data(self.tag(slot, Part::Receive))
    }

    fn poll_entry(&self, slot: u32) -> Entry {
        let (target, flags) = self.target();
        opcode::PollAdd::new(target, libc::POLLOUT as u32)
            .build()
            .flags(flags)
            .user_data(self.tag(slot, Part::Poll))
    }

    /// Takes a completion in. In an exchange a send that succeeds has none; one that does not breaks the link, and the
    /// receive has none.
    #[inline]
    pub fn land(&mut self, tag: Tag, result: i32) -> Landing {
        if tag.generation != self.generation || !self.is_flying() {
            return Landing::Stale;
        }
        if tag.part == Part::Receive {
            if self.operation == Operation::Exchange {
                self.buffers.get_or_insert_default().clear_outgoing();
            }
            return self.land_receive(result);
        }
        self.land_other(result)
    }

    #[inline]
    fn land_receive(&mut self, result: i32) -> Landing {
        if result <= 0 {
            return self.fail(result);
        }
        // SAFETY: the kernel wrote so many bytes into the room of this operation's entry.
        unsafe {
            self.buffers
                .get_or_insert_default()
                .received(result as usize)
        };
        self.end()
    }

    #[cold]
    fn land_other(&mut self, result: i32) -> Landing {
        if result < 0 {
            return self.fail(result);
        }
        if self.operation == Operation::Writable {
            return self.end();
        }
        let buffers = self.buffers.get_or_insert_default();
        buffers.sent(result as usize);
        if self.operation == Operation::Exchange || !buffers.unsent().is_empty() {
            return self.again();
        }
        buffers.clear_outgoing();
        self.end()
    }

    #[cold]
    fn fail(&mut self, result: i32) -> Landing {
        if result == -libc::EINTR || result == -libc::EAGAIN {
            return self.again();
        }
        self.error = Some(match result {
            0 => io::ErrorKind::UnexpectedEof.into(),
            error => io::Error::from_raw_os_error(-error),
        });
        self.end()
    }

    fn again(&mut self) -> Landing {
        match self.doomed {
            Some(_) => self.end(),
            None => Landing::Again,
        }
    }

    #[inline]
    fn end(&mut self) -> Landing {
        self.phase = Phase::Landed;
        if let Some(why) = self.doomed {
            self.error = Some(why.into());
        }
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
        Some(self.error.take().map_or(Ok(()), Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn flying(operation: Operation, outgoing: &[u8]) -> Slot {
        let mut slot = Slot::new();
        let socket = UnixStream::pair().unwrap().0.into();
        slot.occupy(socket, Target::Descriptor(-1));
        let mut buffers = Box::new(Buffers::new());
        buffers.outgoing.extend_from_slice(outgoing);
        slot.begin(operation, 0, 0, &mut Some(buffers)).unwrap();
        slot.entries(5);
        slot
    }

    fn tag(slot: &Slot, part: Part) -> Tag {
        Tag::unpacked(slot.tag(5, part))
    }

    #[test]
    fn a_send_that_the_kernel_took_in_part_goes_on_with_the_rest() {
        for operation in [Operation::Send, Operation::Exchange] {
            let mut slot = flying(operation, b"abcdef");
            let first = tag(&slot, Part::Send);
            assert_eq!(slot.land(first, 4), Landing::Again);
            assert_eq!(slot.buffers.as_ref().unwrap().unsent(), b"ef");
            slot.entries(5);
            assert_eq!(slot.land(first, 4), Landing::Stale);
            assert!(slot.is_flying());
        }
    }

    #[test]
    fn a_completion_of_an_earlier_operation_changes_nothing() {
        let mut slot = flying(Operation::Receive, b"");
        let old = tag(&slot, Part::Receive);
        slot.entries(5);
        assert_eq!(slot.land(old, -libc::ECANCELED), Landing::Stale);
        assert!(slot.is_flying());
    }

    #[test]
    fn a_broken_send_ends_the_exchange() {
        let mut slot = flying(Operation::Exchange, b"abc");
        let tag = tag(&slot, Part::Send);
        assert_eq!(slot.land(tag, -libc::EPIPE), Landing::Done);
        let error = slot.outcome(&mut None).unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_doomed_operation_ends_with_its_doom_however_it_lands() {
        for result in [7, 0, -libc::EPIPE, -libc::EINTR] {
            let mut slot = flying(Operation::Receive, b"");
            slot.buffers.as_mut().unwrap().room()[..7].fill(std::mem::MaybeUninit::new(1));
            slot.doom(io::ErrorKind::TimedOut);
            let tag = tag(&slot, Part::Receive);
            assert_eq!(slot.land(tag, result), Landing::Done);
            let error = slot.outcome(&mut None).unwrap().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
    }

    #[test]
    fn a_slot_in_flight_is_not_free_when_its_stream_is_dropped() {
        let mut slot = flying(Operation::Receive, b"");
        assert!(!slot.abandon());
        let tag = tag(&slot, Part::Receive);
        assert_eq!(slot.land(tag, 0), Landing::Done);
        assert!(slot.is_abandoned());
        slot.vacate();
        assert!(slot.socket.is_none() && slot.buffers.is_none());
    }
}
