//! The Linux AIO backend (io_submit, io_getevents), for file operations only.
//!
//! Goal: the operations started between two turns are submitted in few system calls, without keeping the disk waiting for any of them,
//! and one more call waits for completions. Non-goal: sockets. The kernel runs AIO through the page cache synchronously, inside
//! io_submit.

use super::aligned::Aligned;
use super::attempts::{Access, Attempt, Attempts};
use super::schedule::{Schedule, Wait};
use std::cell::RefCell;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::null;
use std::time::Instant;

/// Completions that are handled per turn, and the least capacity of a context.
const EVENTS_MIN: usize = 64;
const EVENTS_MAX: usize = 4_096;

/// The kernel holds back the requests of a larger group until all of them are prepared (`AIO_PLUG_THRESHOLD` in its `fs/aio.c`).
const GROUP_MIN: usize = 2;
/// A group is at most one operation in this many. With groups of all that were ready, the same disk served 0.93, 0.88 and 0.95
/// times as many reads at depths 8, 16 and 64; groups of two at 64 gained no more and cost more CPU time (`bench/results/fileio.md`).
const GROUPS_IN_FLIGHT: usize = 8;

/// The opcodes of `linux/aio_abi.h`.
const READ: u16 = 0;
const WRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
const POLL: u16 = 5;
const NOOP: u16 = 6;

/// The `data` of the entry that listens to the stopper.
const WAKE_UP: u64 = u64::MAX;

/// `struct iocb`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    data: u64,
    /// `aio_key` and `aio_rw_flags`, whose order depends on the byte order; both are 0.
    key_and_flags: u64,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_descriptor: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    entry: u64,
    result: i64,
    result2: i64,
}

pub(super) struct Reactor {
    pub schedule: Schedule,
    state: RefCell<AioState>,
}

struct AioState {
    /// Dropped before the buffers of the attempts, because that waits for the operations in flight.
    context: Context,
    attempts: Attempts,
    queued: Vec<Entry>,
    /// To the entries in `queued`, while they are submitted.
    pointers: Vec<*mut Entry>,
    events: Vec<Event>,
    in_flight: usize,
}

impl Reactor {
    /// Makes a reactor for `capacity` operations in flight.
    ///
    /// # Errors
    /// If the kernel has no AIO, or `fs.aio-max-nr` is used up.
    pub(super) fn new(origin: Instant, capacity: usize) -> io::Result<Reactor> {
        let schedule = Schedule::new(origin)?;
        let mut listen = Entry {
            data: WAKE_UP,
            opcode: POLL,
            descriptor: schedule.stopper.wake_fd().as_raw_fd() as u32,
            buffer: libc::POLLIN as u64,
            ..Entry::default()
        };
        let entries = capacity.max(EVENTS_MIN) + 1;
        let context = Context::new(entries as u32)?;
        context.submit(&mut [&raw mut listen])?;
        Ok(Reactor {
            schedule,
            state: RefCell::new(AioState {
                context,
                attempts: Attempts::default(),
                queued: Vec::with_capacity(entries),
                pointers: Vec::with_capacity(entries),
                events: vec![Event::default(); entries.min(EVENTS_MAX)],
                in_flight: 0,
            }),
        })
    }

    /// Submits the queued operations, waits for completions, and wakes their tasks.
    ///
    /// # Errors
    /// If the context itself fails. The reactor is unusable then.
    #[inline]
    pub(super) fn turn(&self) -> io::Result<()> {
        let state = &mut *self.state.borrow_mut();
        if self.schedule.take_interrupt() {
            state
                .attempts
                .interrupt_all(|task| self.schedule.wake(task));
        }
        state.submit(&self.schedule)?;
        let wait = self.schedule.wait();
        if wait == Wait::No && state.in_flight == 0 {
            return Ok(());
        }
        let arrived = state.context.wait(wait, &mut state.events)?;
        for event in &state.events[..arrived] {
            if event.data == WAKE_UP {
                continue;
            }
            state.in_flight -= 1;
            let task = state
                .attempts
                .complete(event.data as u32, event.result as i32);
            if let Some(task) = task {
                self.schedule.wake(task);
            }
        }
        Ok(())
    }

    pub(super) fn occupy(&self) -> u32 {
        self.state.borrow_mut().attempts.occupy()
    }

    #[inline]
    pub(super) fn begin(
        &self,
        slot: u32,
        descriptor: i32,
        attempt: Attempt,
        buffer: &mut Aligned,
    ) -> io::Result<()> {
        if self.schedule.is_interrupted() {
            return Err(io::Error::from_raw_os_error(libc::EINTR));
        }
        let state = &mut *self.state.borrow_mut();
        let task = self.schedule.current();
        let (start, length) = state.attempts.begin(slot, task, attempt.skip, buffer)?;
        let has_data = matches!(attempt.access, Access::Read | Access::Write);
        state.queued.push(Entry {
            data: u64::from(slot),
            opcode: match attempt.access {
                Access::Read => READ,
                Access::Write => WRITE,
                Access::Sync => FSYNC,
                Access::SyncData => FDSYNC,
                Access::Nothing => NOOP,
            },
            descriptor: descriptor as u32,
            // The kernel refuses a sync with a buffer.
            buffer: if has_data {
                start.expose_provenance() as u64
            } else {
                0
            },
            bytes: if has_data { u64::from(length) } else { 0 },
            offset: attempt.offset as i64,
            ..Entry::default()
        });
        Ok(())
    }

    #[inline]
    pub(super) fn outcome(&self, slot: u32, buffer: &mut Aligned) -> Option<i32> {
        self.state.borrow_mut().attempts.outcome(slot, buffer)
    }

    pub(super) fn abandon(&self, slot: u32) {
        self.state.borrow_mut().attempts.abandon(slot);
    }
}

impl AioState {
    /// Submits the queued entries. One that the kernel refuses is completed with its error.
    #[inline]
    fn submit(&mut self, schedule: &Schedule) -> io::Result<()> {
        if self.queued.is_empty() {
            return Ok(());
        }
        self.pointers.clear();
        self.pointers
            .extend(self.queued.iter_mut().map(|entry| &raw mut *entry));
        let count = self.pointers.len();
        let group = GROUP_MIN.max((self.in_flight + count) / GROUPS_IN_FLIGHT);
        let mut ended = 0;
        while ended < count {
            let end = count.min(ended + group);
            let error = match self.context.submit(&mut self.pointers[ended..end]) {
                Ok(submitted) => {
                    self.in_flight += submitted;
                    ended += submitted;
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The rest is submitted after completions.
                Some(libc::EAGAIN) if self.in_flight > 0 => break,
                Some(libc::EAGAIN) | None => return Err(error),
                Some(refused) => {
                    let slot = self.queued[ended].data as u32;
                    if let Some(task) = self.attempts.complete(slot, -refused) {
                        schedule.wake(task);
                    }
                    ended += 1;
                }
            }
        }
        self.queued.drain(..ended);
        Ok(())
    }
}

/// An AIO context of the kernel.
struct Context(libc::c_ulong);

impl Context {
    fn new(entries: u32) -> io::Result<Context> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context's number to the pointer.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, entries, &raw mut context) };
        counted(made).map(|_| Context(context))
    }

    /// Returns how many of the entries were submitted. The kernel copies them.
    #[inline]
    fn submit(&self, entries: &mut [*mut Entry]) -> io::Result<usize> {
        let (first, count) = (entries.as_mut_ptr(), entries.len());
        // SAFETY: the pointers are to entries that are alive. The buffers that they refer to stay in their slots until the completion.
        counted(unsafe { libc::syscall(libc::SYS_io_submit, self.0, count, first) })
    }

    /// Waits, and returns the number of completions. None arrived after a timeout or a signal.
    #[inline]
    fn wait(&self, wait: Wait, events: &mut [Event]) -> io::Result<usize> {
        let time = match wait {
            Wait::For(time) => libc::timespec {
                tv_sec: time.as_secs() as libc::time_t,
                tv_nsec: time.subsec_nanos().into(),
            },
            // SAFETY: an all-zero timespec is valid.
            Wait::No | Wait::Forever => unsafe { std::mem::zeroed() },
        };
        let least = libc::c_long::from(wait != Wait::No);
        let timeout = match wait {
            Wait::Forever => null(),
            Wait::No | Wait::For(_) => &raw const time,
        };
        let (first, most) = (events.as_mut_ptr(), events.len());
        // SAFETY: the kernel writes at most `most` events, and `time` outlives the call.
        let arrived =
            unsafe { libc::syscall(libc::SYS_io_getevents, self.0, least, most, first, timeout) };
        match counted(arrived) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            counted => counted,
        }
    }
}

impl Drop for Context {
    /// Waits for the operations in flight, however long the disk takes: the kernel cannot cancel them.
    fn drop(&mut self) {
        // SAFETY: the context is not used any more.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

fn counted(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
