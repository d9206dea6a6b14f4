//! Turns: several drives share a machine by running in slices, one drive at a time.
//!
//! Goal: a drive has one clock that stops between its slices, so that seconds, think times and latencies are those of a drive that
//! runs alone. At the end of a slice clients finish their operations and start none; the slice ends when all have finished. Every
//! operation counts with its whole latency. The clock of a slice advances by the mean time that its clients were busy, so that
//! operations per second of this clock are those of busy clients. Non-goal: who runs when, which is the caller's (`Turns::run`).
//!
//! As at the gate, there are no wake-ups across threads: one waiting client per thread polls and wakes the others of its thread.

mod waiting;

pub(super) use waiting::Waiting;

use crate::io::{Gap, Io};
use std::ops::AddAssign;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Release},
};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const LOOK_INTERVAL_NS: u64 = 5_000_000;
/// A slice begins so long after it was requested, so that every thread sees it in time.
const AHEAD_NS: u64 = 15_000_000;

/// The turns of one drive. Share it between the drive ([`crate::Drive::turns`]) and the thread that gives the turns.
#[derive(Debug, Default)]
pub struct Turns {
    state: Mutex<TurnState>,
    changed: Condvar,
    /// The number of the latest slice, from 1, so that waiting clients need no lock.
    latest: AtomicU64,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct TurnState {
    /// Of the reactors' clock; None before the drive begins.
    origin: Option<Instant>,
    /// Clients that have not ended.
    clients: u32,
    slice: Option<Slice>,
    /// The drive's clock between slices.
    paused_at_ns: u64,
    ran: Vec<Ran>,
    last: Took,
}

/// A slice that runs.
#[derive(Debug)]
struct Slice {
    number: u64,
    starts: Starts,
    /// Clients that have finished it and not ended.
    finished: u32,
    sums: Sums,
}

/// Sums over the clients that took part in a slice and do no more in it.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    clients: u32,
    busy_ns: u64,
    /// Of that, in their first operations or after the end of the slice.
    at_edges_ns: u64,
    first: Latencies,
    all: Latencies,
}

impl Sums {
    fn add(&mut self, running: &Running, starts: &Starts, now_ns: u64) {
        let busy_ns = now_ns.saturating_sub(running.began_ns);
        let finishing_ns = now_ns.saturating_sub(starts.ends_at_ns()).min(busy_ns);
        self.clients += 1;
        self.busy_ns += busy_ns;
        // An operation that is the first and the last of its slice counts once.
        self.at_edges_ns += (running.first.sum_ns + finishing_ns).min(busy_ns);
        self.first += running.first;
        self.all += running.all;
    }

    fn mean(&self, sum_ns: u64) -> Duration {
        Duration::from_nanos(sum_ns / u64::from(self.clients.max(1)))
    }
}

/// What a slice took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// From its beginning until all clients had finished.
    pub whole: Duration,
    /// How long its clients were busy, their mean.
    pub busy: Duration,
    /// Of that, in the first operation of each client, and after the end of the slice. There the load is not that of the time between:
    /// all clients begin at once, and fewer and fewer finish.
    pub at_edges: Duration,
    /// Of the first operation of each client.
    pub first: Latencies,
    /// Of all operations.
    pub all: Latencies,
}

/// How many operations have ended, the sum of their latencies and the longest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latencies {
    count: u64,
    sum_ns: u64,
    longest_ns: u64,
}

impl Latencies {
    /// None without operations.
    pub fn mean(&self) -> Option<Duration> {
        self.sum_ns
            .checked_div(self.count)
            .map(Duration::from_nanos)
    }

    /// None without operations.
    pub fn longest(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.longest_ns))
    }
}

impl AddAssign for Latencies {
    fn add_assign(&mut self, other: Latencies) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Where a client begins a slice, and until when it starts operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starts {
    /// On the reactors' clock.
    at_ns: u64,
    /// The drive's clock at this time.
    from_ns: u64,
    /// From this time of the drive's clock on no operation starts; `u64::MAX` in the last slice, which the end of the drive ends.
    pub ends_ns: u64,
}

impl Starts {
    /// Time zero of the drive's clock on the reactors' clock.
    pub(super) fn zero_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.from_ns)
    }

    /// From this time of the reactors' clock on no operation starts.
    fn ends_at_ns(&self) -> u64 {
        self.at_ns.saturating_add(self.ends_ns - self.from_ns)
    }
}

/// A finished slice: from when to when it ran on the reactors' clock, and when it began on the drive's clock.
#[derive(Clone, Copy, Debug)]
struct Ran {
    at_ns: u64,
    until_ns: u64,
    from_ns: u64,
}

/// How a slice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// All clients wait, and the drive goes on with its next slice.
    Paused,
    /// The drive is over.
    Over,
}

/// A client's part in the turns. It leaves when this is dropped with the client's task, however that ends.
#[derive(Debug)]
pub(super) struct Present<'a> {
    turns: &'a Turns,
    running: Option<Running>,
    /// The number of the last slice that the client has finished; 0 before the first.
    finished: u64,
}

/// A client's part in the slice that it runs.
#[derive(Clone, Copy, Debug)]
struct Running {
    number: u64,
    /// On the reactors' clock.
    began_ns: u64,
    first: Latencies,
    all: Latencies,
}

/// Held while a drive takes turns. They end when it is dropped, however the drive ended: nobody waits for clients that are gone.
pub(super) struct Begun<'a>(&'a Turns);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.end();
        let mut state = self.0.state();
        state.clients = 0;
        state.finish_if_all();
        self.0.changed.notify_all();
    }
}

impl Turns {
    /// Turns that no drive has begun yet.
    pub fn new() -> Turns {
        Turns::default()
    }

    /// Runs one slice: clients start operations for this long; None: until the drive ends. Returns when all clients have finished.
    pub fn run(&self, length: Option<Duration>) -> Turn {
        let mut state = self.state();
        if state.origin.is_none() || self.is_over() {
            return Turn::Over;
        }
        let from_ns = state.paused_at_ns;
        let ends_ns = length.map_or(u64::MAX, |length| from_ns + length.as_nanos() as u64);
        let number = self.latest.load(Acquire) + 1;
        state.slice = Some(Slice {
            number,
            starts: Starts {
                at_ns: state.now_ns() + AHEAD_NS,
                from_ns,
                ends_ns,
            },
            finished: 0,
            sums: Sums::default(),
        });
        self.latest.store(number, Release);
        state.finish_if_all();
        while state.slice.is_some() {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match state.clients > 0 && !self.is_over() {
            true => Turn::Paused,
            false => Turn::Over,
        }
    }

    /// The drive ends: clients that wait end too.
    pub(super) fn end(&self) {
        self.is_over.store(true, Release);
    }

    /// The drive's clock between slices: the mean time that its clients were busy in all slices.
    pub fn measured(&self) -> Duration {
        Duration::from_nanos(self.state().paused_at_ns)
    }

    /// What the last slice took; nothing before the first.
    pub fn last(&self) -> Took {
        self.state().last
    }

    /// When the first slice began; None before.
    pub fn began(&self) -> Option<Instant> {
        let state = self.state();
        let first = state.ran.first().map(|ran| ran.at_ns);
        let first = first.or_else(|| Some(state.slice.as_ref()?.starts.at_ns))?;
        Some(state.origin? + Duration::from_nanos(first))
    }

    /// Begins the drive with its clients, which wait. The drive ends when the result is dropped.
    pub(super) fn begin(&self, origin: Instant, clients: u32) -> Begun<'_> {
        let mut state = self.state();
        state.origin = Some(origin);
        state.clients = clients;
        Begun(self)
    }

    /// Held by each client while its task runs.
    pub(super) fn present(&self) -> Present<'_> {
        Present {
            turns: self,
            running: None,
            finished: 0,
        }
    }

    /// Nanoseconds on the drive's clock. It waits at the end of a slice for operations that have not ended, so that no second is taken
    /// as over in which the next slice begins.
    pub(super) fn now_ns(&self) -> u64 {
        let state = self.state();
        let ends_ns = state.slice.as_ref().map(|slice| slice.starts.ends_ns);
        state.running_ns().min(ends_ns.unwrap_or(u64::MAX))
    }

    /// The same without that wait.
    pub(super) fn running_ns(&self) -> u64 {
        self.state().running_ns()
    }

    /// The gaps of a thread on the drive's clock, without those between slices.
    pub(super) fn of_slices(&self, gaps: &[Gap]) -> Vec<Gap> {
        let state = self.state();
        let of_one = |ran: Ran| gaps.iter().filter_map(move |gap| ran.part_of(gap));
        state.ran.iter().copied().flat_map(of_one).collect()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Acquire)
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client that ran a slice has finished it, or ended; or one has ended that had `finished` a slice.
    fn finish(&self, running: Option<Running>, finished: u64, has_ended: bool) {
        let mut state = self.state();
        let now_ns = state.now_ns();
        if has_ended {
            state.clients = state.clients.saturating_sub(1);
        }
        match (&mut state.slice, running) {
            (Some(slice), Some(running)) if slice.number == running.number => {
                slice.sums.add(&running, &slice.starts, now_ns);
                slice.finished += u32::from(!has_ended);
            }
            (Some(slice), None) if slice.number == finished => slice.finished -= 1,
            _ => {}
        }
        state.finish_if_all();
        if state.slice.is_none() {
            self.changed.notify_all();
        }
    }

    /// Waits for the slice after `seen`. None if the turns are over.
    async fn next(&self, io: &Io, waiting: &Waiting, seen: u64) -> Option<(u64, Starts)> {
        let is_decided = || self.is_decided(io, seen);
        waiting.until(io, LOOK_INTERVAL_NS, is_decided).await;
        if self.is_over() || io.is_interrupted() {
            return None;
        }
        let state = self.state();
        let slice = state.slice.as_ref();
        slice.map(|slice| (slice.number, slice.starts))
    }

    /// Whether there is a slice after `seen`, or none will follow.
    fn is_decided(&self, io: &Io, seen: u64) -> bool {
        self.latest.load(Acquire) > seen || self.is_over() || io.is_interrupted()
    }
}

impl Ran {
    /// The part of a gap in this slice, on the drive's clock.
    fn part_of(&self, gap: &Gap) -> Option<Gap> {
        let at = |at_ns: u64| at_ns.clamp(self.at_ns, self.until_ns) - self.at_ns + self.from_ns;
        let part = Gap {
            from_ns: at(gap.from_ns),
            until_ns: at(gap.until_ns),
        };
        (part.from_ns < part.until_ns).then_some(part)
    }
}

impl TurnState {
    /// Nanoseconds on the reactors' clock; 0 before the drive begins.
    fn now_ns(&self) -> u64 {
        let since = self.origin.map(|origin| origin.elapsed());
        since.map_or(0, |since| since.as_nanos() as u64)
    }

    /// Nanoseconds on the drive's clock.
    fn running_ns(&self) -> u64 {
        let Some(Slice { starts, .. }) = &self.slice else {
            return self.paused_at_ns;
        };
        starts.from_ns + self.now_ns().saturating_sub(starts.at_ns)
    }

    /// Ends the slice if no client runs in it any more.
    fn finish_if_all(&mut self) {
        let Some(slice) = self.slice.take_if(|slice| slice.finished >= self.clients) else {
            return;
        };
        let (starts, sums) = (slice.starts, slice.sums);
        let until_ns = self.now_ns().max(starts.at_ns);
        let busy = sums.mean(sums.busy_ns);
        self.paused_at_ns = starts.from_ns + busy.as_nanos() as u64;
        self.ran.push(Ran {
            at_ns: starts.at_ns,
            until_ns,
            from_ns: starts.from_ns,
        });
        self.last = Took {
            whole: Duration::from_nanos(until_ns - starts.at_ns),
            busy,
            at_edges: sums.mean(sums.at_edges_ns),
            first: sums.first,
            all: sums.all,
        };
    }
}

impl Present<'_> {
    /// Finishes the client's slice and waits until the next one begins. None after the last slice.
    pub(super) async fn next_slice(&mut self, io: &Io, waiting: &Waiting) -> Option<Starts> {
        if let Some(running) = self.running.take() {
            self.finished = running.number;
            self.turns.finish(Some(running), self.finished, false);
        }
        let (number, starts) = self.turns.next(io, waiting, self.finished).await?;
        while io.now_ns() < starts.at_ns {
            io.sleep_until(starts.at_ns).await;
        }
        self.running = Some(Running {
            number,
            began_ns: io.now_ns(),
            first: Latencies::default(),
            all: Latencies::default(),
        });
        Some(starts)
    }

    /// An operation of this latency has ended.
    #[inline]
    pub(super) fn ended(&mut self, latency_ns: u64) {
        if let Some(running) = &mut self.running {
            running.all += Latencies {
                count: 1,
                sum_ns: latency_ns,
                longest_ns: latency_ns,
            };
            if running.first.count == 0 {
                running.first = running.all;
            }
        }
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        let running = self.running.take();
        self.turns.finish(running, self.finished, true);
    }
}
