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

/// An operation's.
pub const ENTRIES_MAX: usize = 2;

/// The kernel tries to receive only when something has arrived: right after a send nothing has.
const POLL_FIRST: u16 = 1;

/// What entries name a socket by: a number, and how it is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Target(types::Fd, Flags);

impl Target {
    /// A place in the ring's own table, which costs the kernel less than a socket that it has to look up.
    pub fn table(place: u32) -> Target {
        Target(types::Fd(place as i32), Flags::FIXED_FILE)
    }

    pub fn descriptor(descriptor: i32) -> Target {
        Target(types::Fd(descriptor), Flags::empty())
    }
}

pub struct Slot {
    /// None: free.
    pub socket: Option<OwnedFd>,
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
            target: Target::descriptor(-1),
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
        // An assignment would have to drop what was there, which is nothing.
        std::mem::swap(&mut self.buffers, buffers);
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

    /// Queues the entries that submit the operation, or what is left of it, at most [`ENTRIES_MAX`]; a second one is
    /// linked to the first. Each is queued as soon as it is built: two of 64 bytes would be copied twice.
    #[inline]
    pub fn submit(
        &mut self,
        slot: u32,
        mut queue: impl FnMut(&Entry) -> io::Result<()>,
    ) -> io::Result<()> {
        self.generation = self.generation.wrapping_add(1);
        match self.operation {
            Operation::Exchange => {
                let flags = Flags::IO_LINK | Flags::SKIP_SUCCESS;
                queue(&self.send_entry(slot).flags(flags))?;
                queue(&self.receive_entry(slot, POLL_FIRST))
            }
            Operation::Send => queue(&self.send_entry(slot)),
            Operation::Receive => queue(&self.receive_entry(slot, 0)),
            Operation::Writable => queue(&self.poll_entry(slot)),
        }
    }

    #[inline]
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
        let Target(target, flags) = self.target;
        opcode::Send::new(target, unsent.as_ptr(), unsent.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .flags(flags)
            .user_data(self.tag(slot, Part::Send))
    }

    #[inline]
    fn receive_entry(&mut self, slot: u32, how: u16) -> Entry {
        let Target(target, flags) = self.target;
        let room = self.buffers.get_or_insert_with(lost).room();
        opcode::Recv::new(target, room.as_mut_ptr().cast(), room.len() as u32)
            .ioprio(how)
            .build()
            .flags(flags)
            .user_data(self.tag(slot, Part::Receive))
    }

    fn poll_entry(&self, slot: u32) -> Entry {
        let Target(target, flags) = self.target;
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
        if tag.part != Part::Receive {
            return self.land_other(result);
        }
        let buffers = self.buffers.get_or_insert_with(lost);
        if self.operation == Operation::Exchange {
            buffers.clear_outgoing();
        }
        if result <= 0 {
            return self.fail(result);
        }
        // SAFETY: the kernel wrote so many bytes into the room of this operation's entry.
        unsafe { buffers.received(result as usize) };
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
        let buffers = self.buffers.get_or_insert_with(lost);
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
        std::mem::swap(&mut self.buffers, buffers);
        Some(self.error.take().map_or(Ok(()), Err))
    }
}

/// Stands in for buffers that an operation given up half-way has kept. Out of line, so that what asks for buffers is short
/// enough to be inlined.
#[cold]
pub fn lost() -> Box<Buffers> {
    Box::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn flying(operation: Operation, outgoing: &[u8]) -> Slot {
        let mut slot = Slot::new();
        let socket = UnixStream::pair().unwrap().0.into();
        slot.occupy(socket, Target::descriptor(-1));
        let mut buffers = Box::new(Buffers::new());
        buffers.outgoing.extend_from_slice(outgoing);
        slot.begin(operation, 0, 0, &mut Some(buffers)).unwrap();
        submit(&mut slot);
        slot
    }

    fn submit(slot: &mut Slot) {
        slot.submit(5, |_| Ok(())).unwrap();
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
            submit(&mut slot);
            assert_eq!(slot.land(first, 4), Landing::Stale);
            assert!(slot.is_flying());
        }
    }

    #[test]
    fn a_completion_of_an_earlier_operation_changes_nothing() {
        let mut slot = flying(Operation::Receive, b"");
        let old = tag(&slot, Part::Receive);
        submit(&mut slot);
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
