//! The io_uring backend: all operations started between two turns are submitted in one system call.
//!
//! Goals: one system call per turn, one completion per exchange, no allocation. Non-goal: kernels older than 5.19, which use
//! `epoll`.

mod slot;
mod state;
mod stream;
mod tag;
mod transfer;

pub(super) use stream::Stream;
pub(super) use transfer::AttemptPlace;

use super::Operation;
use super::buffers::Buffers;
use super::pulse::BEAT;
use super::schedule::{Schedule, Wait};
use state::RingState;
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long dropping a reactor waits for operations in flight.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) struct Reactor {
    pub schedule: Rc<Schedule>,
    state: RefCell<RingState>,
}

impl Reactor {
    /// Makes a reactor.
    ///
    /// # Errors
    /// If the kernel has no io_uring, forbids it, or lacks a feature that is needed.
    pub(super) fn new(origin: Instant, capacity: usize) -> io::Result<Reactor> {
        let schedule = Rc::new(Schedule::new(origin)?);
        let state = RingState::new(schedule.clone(), capacity)?;
        Ok(Reactor {
            schedule,
            state: RefCell::new(state),
        })
    }

    /// Submits the queued operations, waits for completions, and wakes their tasks.
    ///
    /// # Errors
    /// If the ring itself fails. The reactor is unusable then.
    #[inline]
    pub(super) fn turn(&self) -> io::Result<()> {
        let state = &mut *self.state.borrow_mut();
        if self.schedule.take_interrupt() {
            state.cancel_all();
        }
        let wait = self.schedule.wait();
        if wait == Wait::No && state.is_idle() {
            return Ok(());
        }
        state.enter(wait)?;
        state.reap();
        state.follow_up()
    }

    pub(super) fn adopt(&self, socket: OwnedFd) -> io::Result<u32> {
        rustix::io::ioctl_fionbio(&socket, false)?;
        Ok(self.state.borrow_mut().occupy(socket))
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
        let beats = self.schedule.beats();
        state.slots[slot as usize].begin(operation, task, beats, buffers)?;
        state.in_flight += 1;
        state.submit(slot)
    }

    #[inline]
    fn outcome(&self, slot: u32, buffers: &mut Option<Box<Buffers>>) -> Option<io::Result<()>> {
        self.state.borrow_mut().slots[slot as usize].outcome(buffers)
    }

    fn limit(&self, slot: u32, beats: u32) {
        self.state.borrow_mut().slots[slot as usize].limit = beats;
    }

    fn abandon(&self, slot: u32) {
        let state = &mut *self.state.borrow_mut();
        if state.slots[slot as usize].abandon() {
            state.vacate(slot);
        }
    }
}

impl Drop for Reactor {
    /// Waits for the operations in flight, because the kernel may write to a slot's buffers until its completion arrives, even after
    /// the ring was closed. After [`DRAIN`] the buffers are leaked instead.
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let until = Instant::now() + DRAIN;
        state.cancel_all();
        while state.in_flight > 0 && Instant::now() < until {
            if state.enter(Wait::For(BEAT)).is_err() {
                break;
            }
            state.reap();
        }
        state.unregister_files();
        if state.in_flight > 0 {
            std::mem::forget(std::mem::take(&mut state.slots));
            std::mem::forget(std::mem::take(&mut state.attempts));
        }
    }
}
