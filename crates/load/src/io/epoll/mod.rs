//! The epoll backend, for kernels without a usable io_uring.
//!
//! Goals: the same behaviour as on io_uring; send immediately, receive only when data has arrived. Non-goal: fewer than three
//! system calls per exchange.

mod slot;
mod stream;

pub(super) use stream::Stream;

use super::clock::timespec;
use super::pulse::BEAT;
use super::schedule::{Schedule, Wait};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use slot::{Need, Slot};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// Maximum number of events per turn.
const EVENTS: usize = 512;

const WAKE_UP: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

pub(super) struct Reactor {
    pub schedule: Schedule,
    epoll: OwnedFd,
    /// Fires every [`BEAT`].
    timer: OwnedFd,
    state: RefCell<EpollState>,
}

struct EpollState {
    events: Vec<Event>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Reactor {
    pub(super) fn new(origin: Instant, capacity: usize) -> io::Result<Reactor> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let reactor = Reactor {
            schedule: Schedule::new(origin)?,
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            state: RefCell::new(EpollState {
                events: Vec::with_capacity(EVENTS),
                slots: Vec::with_capacity(capacity),
                free: Vec::new(),
            }),
        };
        let once = EventFlags::IN | EventFlags::ET;
        let wake_fd = reactor.schedule.stopper.wake_fd();
        epoll::add(&reactor.epoll, wake_fd, EventData::new_u64(WAKE_UP), once)?;
        let beat = Itimerspec {
            it_interval: timespec(BEAT),
            it_value: timespec(BEAT),
        };
        timerfd_settime(&reactor.timer, TimerfdTimerFlags::empty(), &beat)?;
        let data = EventData::new_u64(TIMER);
        epoll::add(&reactor.epoll, &reactor.timer, data, EventFlags::IN)?;
        Ok(reactor)
    }

    /// Waits for events and wakes their tasks.
    ///
    /// # Errors
    /// If epoll itself fails. The reactor is unusable then.
    pub(super) fn turn(&self) -> io::Result<()> {
        let state = &mut *self.state.borrow_mut();
        if self.schedule.take_interrupt() {
            self.cancel(state, io::ErrorKind::Interrupted, |_| true);
        }
        let wait = self.schedule.wait();
        match self.wait(&mut state.events, wait) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut has_beaten = false;
        for event in state.events.drain(..) {
            match event.data.u64() {
                WAKE_UP => {}
                TIMER => has_beaten = true,
                slot => {
                    let slot = &mut state.slots[slot as usize];
                    if slot.mark(event.flags) {
                        self.schedule.wake(slot.task);
                    }
                }
            }
        }
        if has_beaten {
            self.sweep(state);
        }
        Ok(())
    }

    /// Fills `events`. Older kernels round the timeout of `epoll_wait` to milliseconds, but never that of `ppoll`.
    fn wait(&self, events: &mut Vec<Event>, wait: Wait) -> io::Result<()> {
        let buffer = rustix::buffer::spare_capacity(events);
        match wait {
            Wait::Forever => epoll::wait(&self.epoll, buffer, None)?,
            Wait::No => epoll::wait(&self.epoll, buffer, Some(&Timespec::default()))?,
            Wait::For(time) => {
                let time = timespec(time);
                poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&time))?;
                epoll::wait(&self.epoll, buffer, Some(&Timespec::default()))?
            }
        };
        Ok(())
    }

    fn sweep(&self, state: &mut EpollState) {
        // Reading resets the timer's event. The number of expirations does not matter.
        let _ = rustix::io::read(&self.timer, &mut [0; 8]);
        self.schedule.count_beat();
        let beats = self.schedule.beats();
        self.cancel(state, io::ErrorKind::TimedOut, |slot| {
            slot.has_stalled(beats)
        });
    }

    fn cancel(&self, state: &mut EpollState, why: io::ErrorKind, which: impl Fn(&Slot) -> bool) {
        for slot in &mut state.slots {
            if slot.is_waiting() && which(slot) {
                slot.cancel(why);
                self.schedule.wake(slot.task);
            }
        }
    }

    fn adopt(&self, socket: &OwnedFd) -> io::Result<u32> {
        rustix::io::ioctl_fionbio(socket, true)?;
        let state = &mut *self.state.borrow_mut();
        let slot = state.free.pop().unwrap_or_else(|| {
            state.slots.push(Slot::default());
            state.slots.len() as u32 - 1
        });
        state.slots[slot as usize] = Slot::default();
        let added = epoll::add(
            &self.epoll,
            socket,
            EventData::new_u64(u64::from(slot)),
            interest(Need::Readable),
        );
        if added.is_err() {
            state.free.push(slot);
        }
        added?;
        Ok(slot)
    }

    fn with<T>(&self, slot: u32, act: impl FnOnce(&mut Slot) -> T) -> T {
        act(&mut self.state.borrow_mut().slots[slot as usize])
    }

    fn interest(&self, slot: u32, socket: impl AsFd, need: Need) -> io::Result<()> {
        let data = EventData::new_u64(u64::from(slot));
        epoll::modify(&self.epoll, socket, data, interest(need))?;
        Ok(())
    }

    fn limit(&self, slot: u32, beats: u32) {
        self.with(slot, |slot| slot.limit = beats);
    }

    fn vacate(&self, slot: u32) {
        let state = &mut *self.state.borrow_mut();
        state.slots[slot as usize] = Slot::default();
        state.free.push(slot);
    }
}

fn interest(need: Need) -> EventFlags {
    let readable = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    match need {
        Need::Readable => readable,
        Need::Writable => readable | EventFlags::OUT,
    }
}
