//! The ring and its operations in flight.
//!
//! Goal: a slot is freed after its last completion, in whatever order submissions, completions and drops happen.
//! Non-goal: the meaning of a completion for its operation (`slot`).

use super::slot::{self, Progress, Slot, Target};
use super::tag::{OperationPart, PART_BITS, Tag};
use crate::io::aligned::Aligned;
use crate::io::attempts::Attempts;
use crate::io::pulse::BEAT;
use crate::io::schedule::{Schedule, Wait};
use io_uring::squeue::{Entry, SubmissionQueue};
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

const ENTRIES_MIN: u32 = 64;
const ENTRIES_MAX: u32 = 4096;
/// The kernel's limit of registered buffers.
const BUFFERS_MAX: usize = 1 << 14;

/// `IORING_ENTER_GETEVENTS`
const GET_EVENTS: u32 = 1;

const WAKE_UP: u64 = service(0);
const TIMER: u64 = service(1);

const fn service(number: u64) -> u64 {
    number << PART_BITS | OperationPart::Service as u64
}

pub(super) struct RingState {
    schedule: Rc<Schedule>,
    ring: IoUring,
    pub slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots whose operation the kernel processed only in part.
    to_resubmit: Vec<u32>,
    /// Slots whose stream was dropped during an operation that has now completed.
    to_free: Vec<u32>,
    /// The expected number of streams or transfers.
    capacity: usize,
    table: Table,
    /// Size of the table of registered buffers. None until the first transfer.
    buffers: Option<u32>,
    pub attempts: Attempts,
    pub in_flight: usize,
    /// Whether the ring's timer has fired.
    has_beaten: bool,
    beat: Box<Timespec>,
}

/// The registered files, which save descriptor lookups. If the kernel refuses, plain descriptors are used.
enum Table {
    Unmade,
    /// The number of slots with registered sockets; they are the first ones.
    Sockets(u32),
    /// The files of the transfers.
    Files(Arc<[File]>),
}

impl RingState {
    pub(super) fn new(schedule: Rc<Schedule>, capacity: usize) -> io::Result<RingState> {
        let mut state = RingState {
            schedule,
            ring: ring(capacity)?,
            slots: Vec::with_capacity(capacity),
            free: Vec::new(),
            to_resubmit: Vec::new(),
            to_free: Vec::new(),
            capacity,
            table: Table::Unmade,
            buffers: None,
            attempts: Attempts::default(),
            in_flight: 0,
            has_beaten: false,
            beat: Box::new(Timespec::from(BEAT)),
        };
        state.listen()?;
        state.set_timer()?;
        Ok(state)
    }

    /// Lets another thread end a turn that waits.
    fn listen(&mut self) -> io::Result<()> {
        let wake_fd = types::Fd(self.schedule.stopper.wake_fd().as_raw_fd());
        let listen = opcode::PollAdd::new(wake_fd, libc::POLLIN as u32);
        self.push(&listen.build().user_data(WAKE_UP))
    }

    /// The number of slots whose sockets can be registered.
    fn socket_table(&mut self) -> u32 {
        if let Table::Unmade = self.table {
            let table = self.capacity.min(ENTRIES_MAX as usize) as u32;
            let submitter = self.ring.submitter();
            let is_made = table > 0 && submitter.register_files_sparse(table).is_ok();
            self.table = Table::Sockets(if is_made { table } else { 0 });
        }
        match self.table {
            Table::Sockets(table) => table,
            Table::Unmade | Table::Files(_) => 0,
        }
    }

    /// Registers the files of transfers, if the ring has no others. Returns whether these are registered.
    pub(super) fn register_files(&mut self, files: &Arc<[File]>) -> bool {
        if let Table::Unmade = self.table {
            let descriptors: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
            if self.ring.submitter().register_files(&descriptors).is_ok() {
                self.table = Table::Files(files.clone());
            }
        }
        matches!(&self.table, Table::Files(registered) if Arc::ptr_eq(registered, files))
    }

    /// The kernel tears a closed ring down later. Until then it would keep the files open, and their file system could not be
    /// unmounted.
    pub(super) fn unregister_files(&mut self) {
        if let Table::Files(_) = self.table {
            // It fails only if nothing is registered.
            let _ = self.ring.submitter().unregister_files();
        }
    }

    /// Registers the buffer of a transfer, which saves pinning its pages for each operation. Returns its index.
    pub(super) fn register_buffer(&mut self, slot: u32, buffer: &mut Aligned) -> Option<u16> {
        let submitter = self.ring.submitter();
        let buffers = *self.buffers.get_or_insert_with(|| {
            let buffers = self.capacity.min(BUFFERS_MAX) as u32;
            let is_made = buffers > 0 && submitter.register_buffers_sparse(buffers).is_ok();
            if is_made { buffers } else { 0 }
        });
        if slot >= buffers || buffer.is_empty() {
            return None;
        }
        let whole = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: the buffer is on the heap. The kernel pins its pages, so they exist until another buffer takes the index.
        let registered = unsafe { submitter.register_buffers_update(slot, &[whole], None) };
        registered.ok().map(|()| slot as u16)
    }

    /// Whether there is nothing to submit and nothing to wait for.
    pub(super) fn is_idle(&mut self) -> bool {
        self.in_flight == 0 && self.ring.submission().is_empty()
    }

    pub(super) fn occupy(&mut self, socket: OwnedFd) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new());
            self.slots.len() as u32 - 1
        });
        let target = self.register(slot, &socket);
        self.slots[slot as usize].occupy(socket, target);
        slot
    }

    /// Queues an entry, which the next [`RingState::enter`] submits.
    #[inline]
    pub(super) fn push(&mut self, entry: &Entry) -> io::Result<()> {
        self.reserve_entries(1)?;
        queue(&mut self.ring.submission(), entry)
    }

    #[inline]
    pub(super) fn submit(&mut self, slot: u32) -> io::Result<()> {
        self.reserve_entries(slot::ENTRIES_MAX)?;
        let mut submission = self.ring.submission();
        self.slots[slot as usize].submit(slot, |entry| queue(&mut submission, entry))
    }

    /// Ensures free entries, so that linked entries are submitted together.
    #[inline]
    pub(super) fn reserve_entries(&mut self, entries: usize) -> io::Result<()> {
        if free_entries(&self.ring.submission()) < entries {
            self.submit_queued(entries)?;
        }
        Ok(())
    }

    /// Submits until enough entries are free. If the completion queue is full, the kernel accepts more only after completions are
    /// reaped.
    #[cold]
    fn submit_queued(&mut self, needed: usize) -> io::Result<()> {
        for _ in 0..ENTRIES_MAX {
            self.enter(Wait::No)?;
            if free_entries(&self.ring.submission()) >= needed {
                return Ok(());
            }
            self.reap();
        }
        Err(io::Error::other("the kernel accepts no more submissions"))
    }

    #[inline]
    pub(super) fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let entered = match wait {
            Wait::No => self.enter_for(0),
            Wait::Forever => self.enter_for(1),
            Wait::For(time) => {
                let time = Timespec::from(time);
                let args = SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &args)
            }
        };
        match entered {
            Ok(_) => Ok(()),
            Err(error) => unless_passing(error),
        }
    }

    /// Submits the queued entries and waits for `completions` completions. GET_EVENTS is needed because deferred completions are
    /// delivered only on request. `submit_and_wait` is equivalent, but checks for features that this ring does not use.
    #[inline]
    fn enter_for(&mut self, completions: u32) -> io::Result<usize> {
        let queued = self.ring.submission().len() as u32;
        let submitter = self.ring.submitter();
        // SAFETY: no argument is passed, and no more entries are submitted than are queued.
        unsafe { submitter.enter::<libc::sigset_t>(queued, completions, GET_EVENTS, None) }
    }

    /// Handles all completions and wakes their tasks.
    #[inline]
    pub(super) fn reap(&mut self) {
        for completion in self.ring.completion() {
            let tag = Tag::unpacked(completion.user_data());
            match tag.part {
                OperationPart::Send | OperationPart::Receive | OperationPart::Poll => {}
                OperationPart::File => {
                    self.in_flight -= 1;
                    if let Some(task) = self.attempts.complete(tag.slot, completion.result()) {
                        self.schedule.wake(task);
                    }
                    continue;
                }
                OperationPart::Service => {
                    if completion.user_data() == TIMER {
                        self.has_beaten = true;
                    }
                    continue;
                }
            }
            let slot = &mut self.slots[tag.slot as usize];
            match slot.complete(tag, completion.result()) {
                Progress::Stale => {}
                Progress::Resubmit => self.to_resubmit.push(tag.slot),
                Progress::Done => {
                    self.in_flight -= 1;
                    self.schedule.wake(slot.task);
                    if slot.is_abandoned() {
                        self.to_free.push(tag.slot);
                    }
                }
            }
        }
    }

    /// Does the follow-up work of completions, of which there is usually none.
    #[inline]
    pub(super) fn follow_up(&mut self) -> io::Result<()> {
        if self.has_beaten || !self.to_resubmit.is_empty() || !self.to_free.is_empty() {
            return self.follow();
        }
        Ok(())
    }

    #[cold]
    fn follow(&mut self) -> io::Result<()> {
        while let Some(slot) = self.to_resubmit.pop() {
            self.submit(slot)?;
        }
        while let Some(slot) = self.to_free.pop() {
            self.vacate(slot);
        }
        if std::mem::take(&mut self.has_beaten) {
            self.sweep();
            self.set_timer()?;
        }
        Ok(())
    }

    fn register(&mut self, slot: u32, socket: &OwnedFd) -> Target {
        let descriptor = socket.as_raw_fd();
        let table = self.socket_table();
        let submitter = self.ring.submitter();
        let registered =
            slot < table && submitter.register_files_update(slot, &[descriptor]).is_ok();
        if registered {
            Target::table(slot)
        } else {
            Target::descriptor(descriptor)
        }
    }

    /// Frees a slot. The connection is closed only after it is removed from the ring's table.
    pub(super) fn vacate(&mut self, slot: u32) {
        if slot < self.socket_table() {
            // It fails only if the socket was never registered.
            let _ = self.ring.submitter().register_files_update(slot, &[-1]);
        }
        self.slots[slot as usize].vacate();
        self.free.push(slot);
    }

    /// A timer in the ring costs less than a limit of each wait.
    fn set_timer(&mut self) -> io::Result<()> {
        let beat: *const Timespec = &*self.beat;
        let timeout = opcode::Timeout::new(beat);
        self.push(&timeout.build().user_data(TIMER))
    }

    fn sweep(&mut self) {
        self.schedule.count_beat();
        let beats = self.schedule.beats();
        for slot in &mut self.slots {
            if slot.has_stalled(beats) {
                slot.cancel(io::ErrorKind::TimedOut);
            }
        }
    }

    pub(super) fn cancel_all(&mut self) {
        for slot in &mut self.slots {
            if slot.is_in_flight() {
                slot.cancel(io::ErrorKind::Interrupted);
            }
        }
        self.attempts.interrupt_all(|task| self.schedule.wake(task));
    }
}

fn free_entries(submission: &SubmissionQueue) -> usize {
    submission.capacity() - submission.len()
}

#[inline]
fn queue(submission: &mut SubmissionQueue, entry: &Entry) -> io::Result<()> {
    // SAFETY: what an entry points to is not moved or freed before its completion: the buffers of a slot or an attempt are on the
    // heap and returned only then; the timer's timespec and the eventfd live as long as the ring.
    unsafe { submission.push(entry) }.map_err(io::Error::other)
}

#[cold]
fn unless_passing(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        // Timeout, a signal, or completions must be reaped first.
        Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
        _ => Err(error),
    }
}

/// Makes a ring with the best setup that this kernel supports.
fn ring(capacity: usize) -> io::Result<IoUring> {
    let wanted = capacity.min(ENTRIES_MAX as usize) as u32 * 2;
    let entries = wanted.next_power_of_two().clamp(ENTRIES_MIN, ENTRIES_MAX);
    let deferred = IoUring::builder()
        .setup_cqsize(entries * 2)
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(entries);
    let ring = match deferred {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::builder()
            .setup_cqsize(entries * 2)
            .setup_coop_taskrun()
            .build(entries)?,
        other => other?,
    };
    let params = ring.params();
    let enough = params.is_feature_ext_arg()
        && params.is_feature_nodrop()
        && params.is_feature_fast_poll()
        && params.is_feature_skip_cqe_on_success();
    if enough {
        Ok(ring)
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}
