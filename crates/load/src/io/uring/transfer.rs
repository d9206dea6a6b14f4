//! File operations in the ring, on registered files and buffers.
//!
//! Goal: an operation costs one entry, without looking up a descriptor or pinning pages. Registration is only an optimisation:
//! where the kernel refuses it (locked memory is limited), entries use descriptors and addresses.

use super::Reactor;
use super::slot::Target;
use super::state::RingState;
use super::tag::{OperationPart, Tag};
use crate::io::aligned::Aligned;
use crate::io::attempts::{Access, Attempt};
use io_uring::squeue::Entry;
use io_uring::{opcode, types};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Where a transfer's attempts are kept, and what is registered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptPlace {
    pub slot: u32,
    /// The index of the buffer.
    pub buffer: Option<u16>,
    pub has_registered_files: bool,
}

impl Reactor {
    pub(crate) fn place(&self, files: &Arc<[File]>, buffer: &mut Aligned) -> AttemptPlace {
        self.state.borrow_mut().place(files, buffer)
    }

    #[inline]
    pub(crate) fn begin_attempt(
        &self,
        place: &AttemptPlace,
        descriptor: i32,
        attempt: Attempt,
        buffer: &mut Aligned,
    ) -> io::Result<()> {
        if self.schedule.is_interrupted() {
            return Err(io::Error::from_raw_os_error(libc::EINTR));
        }
        let task = self.schedule.current();
        let state = &mut *self.state.borrow_mut();
        state.begin_attempt(place, descriptor, attempt, task, buffer)
    }

    #[inline]
    pub(crate) fn attempted(&self, place: &AttemptPlace, buffer: &mut Aligned) -> Option<i32> {
        let state = &mut *self.state.borrow_mut();
        state.attempts.outcome(place.slot, buffer)
    }

    pub(crate) fn abandon_attempt(&self, place: &AttemptPlace) {
        self.state.borrow_mut().attempts.abandon(place.slot);
    }
}

impl RingState {
    fn place(&mut self, files: &Arc<[File]>, buffer: &mut Aligned) -> AttemptPlace {
        let slot = self.attempts.occupy();
        AttemptPlace {
            slot,
            buffer: self.register_buffer(slot, buffer),
            has_registered_files: self.register_files(files),
        }
    }

    #[inline]
    fn begin_attempt(
        &mut self,
        place: &AttemptPlace,
        descriptor: i32,
        attempt: Attempt,
        task: u32,
        buffer: &mut Aligned,
    ) -> io::Result<()> {
        self.reserve_entries(1)?;
        let target = if place.has_registered_files {
            Target::table(attempt.file)
        } else {
            Target::descriptor(descriptor)
        };
        let part = self
            .attempts
            .begin(place.slot, task, attempt.skip, buffer)?;
        self.in_flight += 1;
        let tag = Tag {
            generation: 0,
            slot: place.slot,
            part: OperationPart::File,
        };
        self.push(&entry(attempt, target, part, place.buffer).user_data(tag.packed()))
    }
}

#[inline]
fn entry(
    attempt: Attempt,
    Target(file, flags): Target,
    (start, length): (*mut u8, u32),
    buffer: Option<u16>,
) -> Entry {
    let offset = attempt.offset;
    let entry = match (attempt.access, buffer) {
        (Access::Read, Some(buffer)) => opcode::ReadFixed::new(file, start, length, buffer)
            .offset(offset)
            .build(),
        (Access::Read, None) => opcode::Read::new(file, start, length)
            .offset(offset)
            .build(),
        (Access::Write, Some(buffer)) => opcode::WriteFixed::new(file, start, length, buffer)
            .offset(offset)
            .build(),
        (Access::Write, None) => opcode::Write::new(file, start, length)
            .offset(offset)
            .build(),
        (Access::Sync, _) => opcode::Fsync::new(file).build(),
        (Access::SyncData, _) => opcode::Fsync::new(file)
            .flags(types::FsyncFlags::DATASYNC)
            .build(),
        (Access::Nothing, _) => return opcode::Nop::new().build(),
    };
    entry.flags(flags)
}
