//! A reactor on io_uring: everything that its tasks ask for between two turns goes to the kernel in one call.
//!
//! Goals: one system call a turn, one completion an exchange, no allocation. Non-goal: kernels that lack what this
//! needs (5.19); `epoll` serves those.

mod slot;
mod stream;

pub use stream::Stream;

use super::Operation;
use super::buffers::Buffers;
use super::schedule::{SWEEP, Schedule, UNLIMITED, Wait};
use io_uring::squeue::Entry;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, types};
use slot::{Landing, Part, Slot, Tag};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

const ENTRIES_MIN: u32 = 64;
const ENTRIES_MAX: u32 = 4096;

/// How long the end of a reactor waits for what is in flight.
const DRAIN: Duration = Duration::from_secs(5);

/// `IORING_ENTER_GETEVENTS`
const GET_EVENTS: u32 = 1;

const BELL: u64 = service(0);
const SWEEPER: u64 = service(1);

const fn service(number: u64) -> u64 {
    number << 2 | Part::Service as u64
}

pub struct Reactor {
    pub schedule: Rc<Schedule>,
    state: RefCell<State>,
}

struct State {
    schedule: Rc<Schedule>,
    ring: IoUring,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// What the kernel took only in part.
    again: Vec<u32>,
    in_flight: usize,
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

impl Reactor {
    /// # Errors
    /// Where the kernel has no io_uring, forbids it, or lacks what is needed.
    pub fn new(origin: Instant, capacity: usize) -> io::Result<Reactor> {
        let schedule = Rc::new(Schedule::new(origin)?);
        let mut state = State {
            schedule: schedule.clone(),
            ring: ring(capacity)?,
            slots: Vec::with_capacity(capacity),
            free: Vec::new(),
            again: Vec::new(),
            in_flight: 0,
            limited: 0,
            sweeper: Sweeper::Idle,
            every: Box::new(Timespec::from(SWEEP)),
        };
        let bell = types::Fd(schedule.stopper.bell().as_raw_fd());
        let listen = opcode::PollAdd::new(bell, libc::POLLIN as u32);
        state.push(&[listen.build().user_data(BELL)])?;
        Ok(Reactor {
            schedule,
            state: RefCell::new(state),
        })
    }

    /// Submits what was asked for, waits until anything has ended, and wakes whose it was.
    ///
    /// # Errors
    /// Where the ring itself fails; nothing can be awaited any more.
    pub fn turn(&self) -> io::Result<()> {
        let state = &mut *self.state.borrow_mut();
        if self.schedule.take_interrupt() {
            state.doom_all();
        }
        let wait = self.schedule.wait();
        if wait == Wait::No && state.in_flight == 0 && state.ring.submission().is_empty() {
            return Ok(());
        }
        state.enter(wait)?;
        state.land_all();
        state.follow_up()
    }

    pub fn adopt(&self, socket: OwnedFd) -> io::Result<u32> {
        rustix::io::ioctl_fionbio(&socket, false)?;
        let state = &mut *self.state.borrow_mut();
        let slot = state.free.pop().unwrap_or_else(|| {
            state.slots.push(Slot::new());
            state.slots.len() as u32 - 1
        });
        state.slots[slot as usize].occupy(socket);
        Ok(slot)
    }

    #[inline]
    fn begin(
        &self,
        slot: u32,
        operation: Operation,
        buffers: &mut Option<Box<Buffers>>,
    ) -> io::Result<()> {
        if self.schedule.is_interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let state = &mut *self.state.borrow_mut();
        let task = self.schedule.current();
        let sweeps = self.schedule.sweeps();
        state.slots[slot as usize].begin(operation, task, sweeps, buffers)?;
        state.in_flight += 1;
        state.submit(slot)
    }

    #[inline]
    fn outcome(&self, slot: u32, buffers: &mut Option<Box<Buffers>>) -> Option<io::Result<()>> {
        self.state.borrow_mut().slots[slot as usize].outcome(buffers)
    }

    fn limit(&self, slot: u32, sweeps: u32) -> io::Result<()> {
        let state = &mut *self.state.borrow_mut();
        let before = std::mem::replace(&mut state.slots[slot as usize].limit, sweeps);
        state.limited += usize::from(sweeps != UNLIMITED);
        state.limited -= usize::from(before != UNLIMITED);
        state.arm_sweeper()
    }

    fn abandon(&self, slot: u32) {
        // Arming the sweeper cannot matter to a stream that is gone.
        let _ = self.limit(slot, UNLIMITED);
        let state = &mut *self.state.borrow_mut();
        if state.slots[slot as usize].abandon() {
            state.vacate(slot);
        }
    }
}

impl Drop for Reactor {
    /// The kernel may write into a slot's buffers until its completion arrives, even after the ring was closed.
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let until = Instant::now() + DRAIN;
        state.doom_all();
        while state.in_flight > 0 && Instant::now() < until {
            if state.enter(Wait::For(SWEEP)).is_err() {
                break;
            }
            state.land_all();
        }
        if state.in_flight > 0 {
            std::mem::forget(std::mem::take(&mut state.slots));
        }
    }
}

impl State {
    /// Queues entries that belong together; the kernel sees them at the next [`State::enter`].
    #[inline]
    fn push(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut queue = self.ring.submission();
        if queue.capacity() - queue.len() < entries.len() {
            drop(queue);
            self.make_room(entries.len())?;
            queue = self.ring.submission();
        }
        // SAFETY: what the entries point at stays where it is until their completions arrive: the buffers of a slot
        // are on the heap and given back only then, the sweeper's time and the bell live as long as the ring.
        unsafe { queue.push_multiple(entries) }.map_err(io::Error::other)
    }

    /// Submits what is queued. A kernel whose own queue is full takes more when completions were reaped.
    #[cold]
    fn make_room(&mut self, entries: usize) -> io::Result<()> {
        for _ in 0..ENTRIES_MAX {
            self.enter(Wait::No)?;
            let queue = self.ring.submission();
            if queue.capacity() - queue.len() >= entries {
                return Ok(());
            }
            drop(queue);
            self.land_all();
        }
        Err(io::Error::other("the kernel takes no more submissions"))
    }

    #[inline]
    fn submit(&mut self, slot: u32) -> io::Result<()> {
        match self.slots[slot as usize].entries(slot) {
            (first, Some(second)) => self.push(&[first, second]),
            (first, None) => self.push(&[first]),
        }
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let entered = match wait {
            Wait::No => self.peek(),
            Wait::Forever => self.ring.submit_and_wait(1),
            Wait::For(time) => {
                let time = Timespec::from(time);
                let args = SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &args)
            }
        };
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The time is over, a signal came, or completions have to be reaped first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Submits without waiting; deferred completions arrive only when they are asked for.
    fn peek(&mut self) -> io::Result<usize> {
        let queued = self.ring.submission().len() as u32;
        // SAFETY: no argument is passed, and no more is submitted than was queued by `push`.
        unsafe {
            self.ring
                .submitter()
                .enter::<libc::sigset_t>(queued, 0, GET_EVENTS, None)
        }
    }

    /// Takes every completion in and wakes whose it was.
    fn land_all(&mut self) {
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
                        slot.vacate();
                        self.free.push(tag.slot);
                    }
                }
            }
        }
    }

    /// What completions ask to be submitted.
    fn follow_up(&mut self) -> io::Result<()> {
        while let Some(slot) = self.again.pop() {
            self.submit(slot)?;
        }
        if self.sweeper == Sweeper::Due {
            self.sweep();
            self.sweeper = Sweeper::Idle;
            self.arm_sweeper()?;
        }
        Ok(())
    }

    fn vacate(&mut self, slot: u32) {
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
        self.push(&[timeout.build().user_data(SWEEPER)])
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

    fn doom_all(&mut self) {
        for slot in &mut self.slots {
            if slot.is_flying() {
                slot.doom(io::ErrorKind::Interrupted);
            }
        }
    }
}

/// A ring with the best of what this kernel has.
fn ring(capacity: usize) -> io::Result<IoUring> {
    let entries = (capacity as u32)
        .saturating_mul(2)
        .next_power_of_two()
        .clamp(ENTRIES_MIN, ENTRIES_MAX);
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
