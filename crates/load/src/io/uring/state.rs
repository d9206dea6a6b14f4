//! The ring and what is in flight in it.
//!
//! Goal: whatever order submissions, completions and dropped streams come in, a slot is freed after its last completion.
//! Non-goal: what one completion means for its operation (`slot`).

use super::slot::{self, Landing, Slot, Target};
use super::tag::{Part, Tag};
use crate::io::schedule::{SWEEP, Schedule, UNLIMITED, Wait};
use io_uring::squeue::{Entry, SubmissionQueue};
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, types};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

const ENTRIES_MIN: u32 = 64;
const ENTRIES_MAX: u32 = 4096;

/// `IORING_ENTER_GETEVENTS`
const GET_EVENTS: u32 = 1;

const BELL: u64 = service(0);
const SWEEPER: u64 = service(1);

const fn service(number: u64) -> u64 {
    number << 2 | Part::Service as u64
}

pub struct State {
    schedule: Rc<Schedule>,
    ring: IoUring,
    pub slots: Vec<Slot>,
    free: Vec<u32>,
    /// What the kernel took only in part.
    again: Vec<u32>,
    /// Dropped in flight, and landed.
    gone: Vec<u32>,
    /// How many of the first slots have their sockets in the ring's own table.
    table: u32,
    pub in_flight: usize,
    /// Streams that have a limit; without one nobody sweeps.
    limited: usize,
    sweeper: Sweeper,
    every: Box<Timespec>,
}

/// A timeout in the ring that tells when to look for stalled operations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweeper {
    Idle,
    Armed,
    Due,
}

impl State {
    pub fn new(schedule: Rc<Schedule>, capacity: usize) -> io::Result<State> {
        let mut state = State {
            schedule,
            ring: ring(capacity)?,
            slots: Vec::with_capacity(capacity),
            free: Vec::new(),
            again: Vec::new(),
            gone: Vec::new(),
            table: 0,
            in_flight: 0,
            limited: 0,
            sweeper: Sweeper::Idle,
            every: Box::new(Timespec::from(SWEEP)),
        };
        state.listen()?;
        state.make_table(capacity);
        Ok(state)
    }

    /// A turn that waits ends when another thread rings.
    fn listen(&mut self) -> io::Result<()> {
        let bell = types::Fd(self.schedule.stopper.bell().as_raw_fd());
        let listen = opcode::PollAdd::new(bell, libc::POLLIN as u32);
        self.push(&listen.build().user_data(BELL))
    }

    /// Spares the kernel from looking up descriptors; where it refuses, it looks them up.
    fn make_table(&mut self, capacity: usize) {
        let table = capacity.min(ENTRIES_MAX as usize) as u32;
        if table > 0 && self.ring.submitter().register_files_sparse(table).is_ok() {
            self.table = table;
        }
    }

    /// Nothing to submit and nothing to wait for.
    pub fn is_idle(&mut self) -> bool {
        self.in_flight == 0 && self.ring.submission().is_empty()
    }

    pub fn occupy(&mut self, socket: OwnedFd) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new());
            self.slots.len() as u32 - 1
        });
        let target = self.register(slot, &socket);
        self.slots[slot as usize].occupy(socket, target);
        slot
    }

    pub fn limit(&mut self, slot: u32, sweeps: u32) -> io::Result<()> {
        let before = std::mem::replace(&mut self.slots[slot as usize].limit, sweeps);
        self.limited += usize::from(sweeps != UNLIMITED);
        self.limited -= usize::from(before != UNLIMITED);
        self.arm_sweeper()
    }

    /// The kernel sees it at the next [`State::enter`].
    fn push(&mut self, entry: &Entry) -> io::Result<()> {
        self.make_room(1)?;
        queue(&mut self.ring.submission(), entry)
    }

    #[inline]
    pub fn submit(&mut self, slot: u32) -> io::Result<()> {
        self.make_room(slot::ENTRIES_MAX)?;
        let mut submission = self.ring.submission();
        self.slots[slot as usize].submit(slot, |entry| queue(&mut submission, entry))
    }

    /// So that entries which belong together go to the kernel together.
    #[inline]
    fn make_room(&mut self, entries: usize) -> io::Result<()> {
        if room(&self.ring.submission()) < entries {
            self.submit_queued(entries)?;
        }
        Ok(())
    }

    /// A kernel whose own queue is full takes more when completions were reaped.
    #[cold]
    fn submit_queued(&mut self, until_room: usize) -> io::Result<()> {
        for _ in 0..ENTRIES_MAX {
            self.enter(Wait::No)?;
            if room(&self.ring.submission()) >= until_room {
                return Ok(());
            }
            self.land_all();
        }
        Err(io::Error::other("the kernel takes no more submissions"))
    }

    #[inline]
    pub fn enter(&mut self, wait: Wait) -> io::Result<()> {
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

    /// Submits what is queued and waits for so many completions; deferred ones arrive only when they are asked for.
    /// `submit_and_wait` does the same after it has looked for what this ring was not set up with.
    #[inline]
    fn enter_for(&mut self, completions: u32) -> io::Result<usize> {
        let queued = self.ring.submission().len() as u32;
        let submitter = self.ring.submitter();
        // SAFETY: no argument is passed, and no more is submitted than was queued.
        unsafe { submitter.enter::<libc::sigset_t>(queued, completions, GET_EVENTS, None) }
    }

    /// Takes every completion in and wakes whose it was.
    #[inline]
    pub fn land_all(&mut self) {
        for completion in self.ring.completion() {
            let tag = Tag::unpacked(completion.user_data());
            if tag.part == Part::Service {
                if completion.user_data() == SWEEPER {
                    self.sweeper = Sweeper::Due;
                }
                continue;
            }
            let slot = &mut self.slots[tag.slot as usize];
            match slot.land(tag, completion.result()) {
                Landing::Stale => {}
                Landing::Again => self.again.push(tag.slot),
                Landing::Done => {
                    self.in_flight -= 1;
                    self.schedule.wake(slot.task);
                    if slot.is_abandoned() {
                        self.gone.push(tag.slot);
                    }
                }
            }
        }
    }

    /// What completions ask for, which is nothing most of the time.
    #[inline]
    pub fn follow_up(&mut self) -> io::Result<()> {
        let due = self.sweeper == Sweeper::Due;
        if due || !self.again.is_empty() || !self.gone.is_empty() {
            return self.follow();
        }
        Ok(())
    }

    #[cold]
    fn follow(&mut self) -> io::Result<()> {
        while let Some(slot) = self.again.pop() {
            self.submit(slot)?;
        }
        while let Some(slot) = self.gone.pop() {
            self.vacate(slot);
        }
        if self.sweeper == Sweeper::Due {
            self.sweep();
            self.sweeper = Sweeper::Idle;
            self.arm_sweeper()?;
        }
        Ok(())
    }

    fn register(&mut self, slot: u32, socket: &OwnedFd) -> Target {
        let descriptor = socket.as_raw_fd();
        let submitter = self.ring.submitter();
        let registered =
            slot < self.table && submitter.register_files_update(slot, &[descriptor]).is_ok();
        match registered {
            true => Target::table(slot),
            false => Target::descriptor(descriptor),
        }
    }

    /// A connection is closed only when the table has forgotten it, too.
    pub fn vacate(&mut self, slot: u32) {
        if slot < self.table {
            // It fails only where it was never registered.
            let _ = self.ring.submitter().register_files_update(slot, &[-1]);
        }
        self.slots[slot as usize].vacate();
        self.free.push(slot);
    }

    fn arm_sweeper(&mut self) -> io::Result<()> {
        if self.limited == 0 || self.sweeper != Sweeper::Idle {
            return Ok(());
        }
        self.sweeper = Sweeper::Armed;
        let every: *const Timespec = &*self.every;
        let timeout = opcode::Timeout::new(every);
        self.push(&timeout.build().user_data(SWEEPER))
    }

    fn sweep(&mut self) {
        self.schedule.count_sweep();
        let sweeps = self.schedule.sweeps();
        for slot in &mut self.slots {
            if slot.has_stalled(sweeps) {
                slot.doom(io::ErrorKind::TimedOut);
            }
        }
    }

    pub fn doom_all(&mut self) {
        for slot in &mut self.slots {
            if slot.is_flying() {
                slot.doom(io::ErrorKind::Interrupted);
            }
        }
    }
}

fn room(submission: &SubmissionQueue) -> usize {
    submission.capacity() - submission.len()
}

#[inline]
fn queue(submission: &mut SubmissionQueue, entry: &Entry) -> io::Result<()> {
    // SAFETY: what an entry points at stays where it is until its completion arrives: the buffers of a slot are on the
    // heap and given back only then, the sweeper's time and the bell live as long as the ring.
    unsafe { submission.push(entry) }.map_err(io::Error::other)
}

#[cold]
fn unless_passing(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        // The time is over, a signal came, or completions have to be reaped first.
        Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
        _ => Err(error),
    }
}

/// A ring with the best of what this kernel has.
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
    match enough {
        true => Ok(ring),
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}
