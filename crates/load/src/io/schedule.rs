//! State common to all reactors: ready tasks, timers, and the clock of stall timeouts.
//!
//! Goal: a wake-up costs a few instructions and no allocation. Non-goals: what tasks wait for (the reactors); polling
//! (`executor`).

use super::clock::Clock;
use super::pulse::{BEAT, Pulse};
use super::stopper::Stopper;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// No timeout, in beats.
pub(super) const UNLIMITED: u32 = u32::MAX;

pub(crate) struct Schedule {
    clock: Clock,
    /// The task that is currently polled.
    current: Cell<u32>,
    tasks: RefCell<Tasks>,
    /// Number of beats so far, the clock of stall timeouts.
    beats: Cell<u32>,
    interrupted: Cell<bool>,
    pub stopper: Stopper,
    pub pulse: Pulse,
}

#[derive(Default)]
struct Tasks {
    /// Tasks to poll in the next turn, each once.
    ready: Vec<u32>,
    /// Whether a task is in `ready`.
    listed: Vec<bool>,
    /// Wake-up times and their tasks.
    sleeping: BinaryHeap<Reverse<(u64, u32)>>,
}

/// How long a turn may block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    For(Duration),
    /// Until something happens, such as the next beat.
    Forever,
}

impl Wait {
    #[inline]
    fn most_ns(self) -> u64 {
        match self {
            Wait::No => 0,
            Wait::For(time) => time.min(BEAT).as_nanos() as u64,
            Wait::Forever => BEAT.as_nanos() as u64,
        }
    }
}

impl Schedule {
    pub(crate) fn new(origin: Instant) -> io::Result<Schedule> {
        Ok(Schedule {
            clock: Clock::since(origin),
            current: Cell::new(0),
            tasks: RefCell::default(),
            beats: Cell::new(0),
            interrupted: Cell::new(false),
            stopper: Stopper::new()?,
            pulse: Pulse::default(),
        })
    }

    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    #[inline]
    pub(crate) fn current(&self) -> u32 {
        self.current.get()
    }

    #[inline]
    pub(crate) fn set_current(&self, task: u32) {
        self.current.set(task);
    }

    #[inline]
    pub(crate) fn wake(&self, task: u32) {
        self.tasks.borrow_mut().wake(task);
    }

    /// Swaps the ready tasks into `batch`, which must be empty.
    #[inline]
    pub(crate) fn take_ready(&self, batch: &mut Vec<u32>) {
        let tasks = &mut *self.tasks.borrow_mut();
        std::mem::swap(&mut tasks.ready, batch);
        for task in batch {
            tasks.listed[*task as usize] = false;
        }
    }

    /// Wakes the tasks whose timers have expired. Returns how long the turn may block.
    #[inline]
    pub(crate) fn wait(&self) -> Wait {
        let now_ns = self.now_ns();
        let wait = self.tasks.borrow_mut().wait(now_ns);
        self.pulse.beat(now_ns, wait.most_ns());
        wait
    }

    #[inline]
    pub(crate) fn beats(&self) -> u32 {
        self.beats.get()
    }

    pub(crate) fn count_beat(&self) {
        self.beats.set(self.beats.get().wrapping_add(1));
    }

    #[inline]
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }

    /// Whether an interrupt arrived since the last call. It ends all sleeps, including later ones.
    #[inline]
    pub(crate) fn take_interrupt(&self) -> bool {
        let news = self.stopper.is_interrupted() && !self.interrupted.replace(true);
        if news {
            self.tasks.borrow_mut().wake_sleepers();
        }
        news
    }

    pub(crate) fn sleep_until(&self, at_ns: u64) -> Sleep<'_> {
        Sleep {
            schedule: self,
            at_ns,
            listed: false,
        }
    }
}

impl Tasks {
    #[inline]
    fn wake(&mut self, task: u32) {
        let place = task as usize;
        if place >= self.listed.len() {
            self.listed.resize(place + 1, false);
        }
        if !std::mem::replace(&mut self.listed[place], true) {
            self.ready.push(task);
        }
    }

    #[inline]
    fn wait(&mut self, now_ns: u64) -> Wait {
        match self.sleeping.is_empty() {
            false => self.wait_for_sleepers(now_ns),
            true if self.ready.is_empty() => Wait::Forever,
            true => Wait::No,
        }
    }

    fn wait_for_sleepers(&mut self, now_ns: u64) -> Wait {
        while let Some(&Reverse((at_ns, task))) = self.sleeping.peek() {
            if at_ns > now_ns {
                break;
            }
            self.sleeping.pop();
            self.wake(task);
        }
        match self.sleeping.peek() {
            _ if !self.ready.is_empty() => Wait::No,
            Some(Reverse((at_ns, _))) => Wait::For(Duration::from_nanos(at_ns - now_ns)),
            None => Wait::Forever,
        }
    }

    #[cold]
    fn wake_sleepers(&mut self) {
        for Reverse((_, task)) in std::mem::take(&mut self.sleeping) {
            self.wake(task);
        }
    }
}

/// Converts a timeout to whole beats, rounded up. An operation that saw more beats has stalled.
pub(super) fn beats_in(limit: Option<Duration>) -> u32 {
    limit.map_or(UNLIMITED, |limit| {
        let beats = limit.as_nanos().div_ceil(BEAT.as_nanos());
        u32::try_from(beats).map_or(UNLIMITED, |beats| beats.clamp(1, UNLIMITED))
    })
}

pub(crate) struct Sleep<'a> {
    schedule: &'a Schedule,
    at_ns: u64,
    listed: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let schedule = self.schedule;
        if schedule.is_interrupted() || schedule.now_ns() >= self.at_ns {
            return Poll::Ready(());
        }
        if !std::mem::replace(&mut self.listed, true) {
            let entry = Reverse((self.at_ns, schedule.current()));
            schedule.tasks.borrow_mut().sleeping.push(entry);
        }
        Poll::Pending
    }
}

/// Lets every other ready task run first, once.
pub(super) struct Yielding<'a> {
    schedule: &'a Schedule,
    yielded: bool,
}

impl<'a> Yielding<'a> {
    pub(super) fn new(schedule: &'a Schedule) -> Yielding<'a> {
        Yielding {
            schedule,
            yielded: false,
        }
    }
}

impl Future for Yielding<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        self.schedule.wake(self.schedule.current());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(schedule: &Schedule) -> Vec<u32> {
        let mut batch = Vec::new();
        schedule.take_ready(&mut batch);
        batch
    }

    #[test]
    fn a_task_woken_twice_is_ready_once() {
        let schedule = Schedule::new(Instant::now()).unwrap();
        for task in [3, 1, 3] {
            schedule.wake(task);
        }
        assert_eq!(ready(&schedule), [3, 1]);
        schedule.wake(3);
        assert_eq!(ready(&schedule), [3]);
    }

    #[test]
    fn without_ready_or_sleeping_tasks_a_turn_waits_forever() {
        let schedule = Schedule::new(Instant::now()).unwrap();
        assert_eq!(schedule.wait(), Wait::Forever);
        schedule.wake(0);
        assert_eq!(schedule.wait(), Wait::No);
    }

    #[test]
    fn sleepers_wake_in_the_order_of_their_times() {
        let schedule = Schedule::new(Instant::now()).unwrap();
        for (at_ns, task) in [(30, 0), (10, 1), (20, 2)] {
            let mut tasks = schedule.tasks.borrow_mut();
            tasks.sleeping.push(Reverse((at_ns, task)));
        }
        assert_eq!(schedule.wait(), Wait::No);
        assert_eq!(ready(&schedule), [1, 2, 0]);
    }

    #[test]
    fn a_timeout_is_rounded_up_to_whole_beats() {
        assert_eq!(beats_in(None), UNLIMITED);
        assert_eq!(beats_in(Some(Duration::ZERO)), 1);
        assert_eq!(beats_in(Some(Duration::from_millis(10))), 1);
        assert_eq!(beats_in(Some(Duration::from_millis(11))), 2);
        assert_eq!(beats_in(Some(Duration::MAX)), UNLIMITED);
    }
}
