//! One stream's state in the ring: its socket, its operation in flight and, during that operation, its buffers.
//!
//! Goal: the kernel never accesses freed memory, in whatever order things are dropped. A slot is reused only after the completions
//! of all writing operations have arrived. Later completions are recognised by their generation.

use super::tag::{OperationPart, Tag};
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
    InFlight,
    Completed,
}

/// What a completion means for its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// None: it belongs to an earlier operation.
    Stale,
    /// The kernel processed only a part, and the rest must be submitted.
    Resubmit,
    Done,
}

/// Maximum number of ring entries per operation.
pub(super) const ENTRIES_MAX: usize = 2;

/// `IORING_RECVSEND_POLL_FIRST`: the kernel waits for data before it tries to receive. Right after a send none has arrived.
const POLL_FIRST: u16 = 1;

/// How an entry refers to its socket: a number and its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target(pub types::Fd, pub Flags);

impl Target {
    /// An index in the ring's table of registered files, which costs less than looking up a descriptor.
    pub(super) fn table(place: u32) -> Target {
        Target(types::Fd(place as i32), Flags::FIXED_FILE)
    }

    pub(super) fn descriptor(descriptor: i32) -> Target {
        Target(types::Fd(descriptor), Flags::empty())
    }
}

pub(super) struct Slot {
    /// None if the slot is free.
    pub socket: Option<OwnedFd>,
    target: Target,
    pub task: u32,
    generation: u32,
    phase: Phase,
    operation: Operation,
    /// The stream's buffers, from the start of an operation until the stream has seen its result.
    buffers: Option<Box<Buffers>>,
    /// The error of a completed operation. None if it succeeded.
    error: Option<io::Error>,
    /// Why the operation was cancelled. It overrides the completion's result.
    cancelled: Option<io::ErrorKind>,
    /// The limit in beats.
    pub limit: u32,
    begun: u32,
    /// Its stream was dropped.
    abandoned: bool,
}

impl Slot {
    pub(super) fn new() -> Slot {
        Slot {
            socket: None,
            target: Target::descriptor(-1),
            task: 0,
            generation: 0,
            phase: Phase::Idle,
            operation: Operation::Receive,
            buffers: None,
            error: None,
            cancelled: None,
            limit: UNLIMITED,
            begun: 0,
            abandoned: false,
        }
    }

    pub(super) fn occupy(&mut self, socket: OwnedFd, target: Target) {
        *self = Slot {
            generation: self.generation,
            socket: Some(socket),
            target,
            ..Slot::new()
        };
    }

    /// Starts an operation.
    ///
    /// # Errors
    /// If an earlier operation was cancelled.
    #[inline]
    pub(super) fn begin(
        &mut self,
        operation: Operation,
        task: u32,
        beats: u32,
        buffers: &mut Option<Box<Buffers>>,
    ) -> io::Result<()> {
        if self.phase != Phase::Idle {
            return Err(io::Error::other(
                "an earlier operation of this stream was cancelled: open another connection",
            ));
        }
        self.phase = Phase::InFlight;
        self.operation = operation;
        self.task = task;
        self.begun = beats;
        // An assignment would generate code to drop the old value, which is always None.
        std::mem::swap(&mut self.buffers, buffers);
        Ok(())
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.phase == Phase::InFlight
    }

    pub(super) fn has_stalled(&self, beats: u32) -> bool {
        self.is_in_flight()
            && self.limit != UNLIMITED
            && beats.wrapping_sub(self.begun) > self.limit
            && self.cancelled.is_none()
    }

    /// Cancels the operation by shutting the socket down.
    pub(super) fn cancel(&mut self, why: io::ErrorKind) {
        self.cancelled.get_or_insert(why);
        if let Some(socket) = &self.socket {
            // It fails if the connection is already closed, which ends the operation as well.
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
        }
    }

    /// The stream was dropped. True if the slot is free; otherwise it becomes free when its operation has ended.
    pub(super) fn abandon(&mut self) -> bool {
        self.abandoned = true;
        if self.is_in_flight() {
            self.cancel(io::ErrorKind::Interrupted);
            return false;
        }
        true
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Closes the socket and frees the buffers.
    pub(super) fn vacate(&mut self) {
        debug_assert!(!self.is_in_flight());
        self.socket = None;
        self.buffers = None;
    }

    /// Queues the entries for the operation or its rest, at most [`ENTRIES_MAX`]. A second entry is linked to the first. Each entry
    /// is queued as soon as it is built, which saves a copy of its 64 bytes.
    #[inline]
    pub(super) fn submit(
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
    fn tag(&self, slot: u32, part: OperationPart) -> u64 {
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
            .user_data(self.tag(slot, OperationPart::Send))
    }

    #[inline]
    fn receive_entry(&mut self, slot: u32, how: u16) -> Entry {
        let Target(target, flags) = self.target;
        let space = self.buffers.get_or_insert_with(empty_buffers).free_space();
        opcode::Recv::new(target, space.as_mut_ptr().cast(), space.len() as u32)
            .ioprio(how)
            .build()
            .flags(flags)
            .user_data(self.tag(slot, OperationPart::Receive))
    }

    fn poll_entry(&self, slot: u32) -> Entry {
        let Target(target, flags) = self.target;
        opcode::PollAdd::new(target, libc::POLLOUT as u32)
            .build()
            .flags(flags)
            .user_data(self.tag(slot, OperationPart::Poll))
    }

    /// Handles a completion. In an exchange, a successful send has no completion; a failed send breaks the link, and then the receive
    /// has none.
    #[inline]
    pub(super) fn complete(&mut self, tag: Tag, result: i32) -> Progress {
        if tag.generation != self.generation || !self.is_in_flight() {
            return Progress::Stale;
        }
        if tag.part != OperationPart::Receive {
            return self.complete_other(result);
        }
        let buffers = self.buffers.get_or_insert_with(empty_buffers);
        if self.operation == Operation::Exchange {
            buffers.clear_outgoing();
        }
        if result <= 0 {
            return self.fail(result);
        }
        // SAFETY: the kernel initialised `result` bytes of the free space that this operation's entry points to.
        unsafe { buffers.received(result as usize) };
        self.end()
    }

    #[cold]
    fn complete_other(&mut self, result: i32) -> Progress {
        if result < 0 {
            return self.fail(result);
        }
        if self.operation == Operation::Writable {
            return self.end();
        }
        let buffers = self.buffers.get_or_insert_with(empty_buffers);
        buffers.sent(result as usize);
        if self.operation == Operation::Exchange || !buffers.unsent().is_empty() {
            return self.resubmit();
        }
        buffers.clear_outgoing();
        self.end()
    }

    #[cold]
    fn fail(&mut self, result: i32) -> Progress {
        if result == -libc::EINTR || result == -libc::EAGAIN {
            return self.resubmit();
        }
        self.error = Some(match result {
            0 => io::ErrorKind::UnexpectedEof.into(),
            error => io::Error::from_raw_os_error(-error),
        });
        self.end()
    }

    fn resubmit(&mut self) -> Progress {
        match self.cancelled {
            Some(_) => self.end(),
            None => Progress::Resubmit,
        }
    }

    #[inline]
    fn end(&mut self) -> Progress {
        self.phase = Phase::Completed;
        if let Some(why) = self.cancelled {
            self.error = Some(why.into());
        }
        Progress::Done
    }

    /// Returns the buffers and the operation's result. None while it is in flight.
    #[inline]
    pub(super) fn outcome(&mut self, buffers: &mut Option<Box<Buffers>>) -> Option<io::Result<()>> {
        if self.phase != Phase::Completed {
            return None;
        }
        self.phase = Phase::Idle;
        std::mem::swap(&mut self.buffers, buffers);
        Some(self.error.take().map_or(Ok(()), Err))
    }
}

/// Replaces the buffers that a cancelled operation has kept. Out of line, so that its callers are short enough to be inlined.
#[cold]
pub(super) fn empty_buffers() -> Box<Buffers> {
    Box::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn in_flight(operation: Operation, outgoing: &[u8]) -> Slot {
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

    fn tag(slot: &Slot, part: OperationPart) -> Tag {
        Tag::unpacked(slot.tag(5, part))
    }

    #[test]
    fn a_partial_send_continues_with_the_rest() {
        for operation in [Operation::Send, Operation::Exchange] {
            let mut slot = in_flight(operation, b"abcdef");
            let first = tag(&slot, OperationPart::Send);
            assert_eq!(slot.complete(first, 4), Progress::Resubmit);
            assert_eq!(slot.buffers.as_ref().unwrap().unsent(), b"ef");
            submit(&mut slot);
            assert_eq!(slot.complete(first, 4), Progress::Stale);
            assert!(slot.is_in_flight());
        }
    }

    #[test]
    fn a_stale_completion_is_ignored() {
        let mut slot = in_flight(Operation::Receive, b"");
        let old = tag(&slot, OperationPart::Receive);
        submit(&mut slot);
        assert_eq!(slot.complete(old, -libc::ECANCELED), Progress::Stale);
        assert!(slot.is_in_flight());
    }

    #[test]
    fn a_failed_send_ends_the_exchange() {
        let mut slot = in_flight(Operation::Exchange, b"abc");
        let tag = tag(&slot, OperationPart::Send);
        assert_eq!(slot.complete(tag, -libc::EPIPE), Progress::Done);
        let error = slot.outcome(&mut None).unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_cancelled_operation_ends_with_its_cause_whatever_the_completion() {
        for result in [7, 0, -libc::EPIPE, -libc::EINTR] {
            let mut slot = in_flight(Operation::Receive, b"");
            slot.buffers.as_mut().unwrap().free_space()[..7].fill(std::mem::MaybeUninit::new(1));
            slot.cancel(io::ErrorKind::TimedOut);
            let tag = tag(&slot, OperationPart::Receive);
            assert_eq!(slot.complete(tag, result), Progress::Done);
            let error = slot.outcome(&mut None).unwrap().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
    }

    #[test]
    fn a_slot_in_flight_is_not_freed_when_its_stream_is_dropped() {
        let mut slot = in_flight(Operation::Receive, b"");
        assert!(!slot.abandon());
        let tag = tag(&slot, OperationPart::Receive);
        assert_eq!(slot.complete(tag, 0), Progress::Done);
        assert!(slot.is_abandoned());
        slot.vacate();
        assert!(slot.socket.is_none() && slot.buffers.is_none());
    }
}
