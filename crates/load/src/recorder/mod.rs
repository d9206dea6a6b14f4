//! Records the results of one reactor per second, without allocating on the hot path.
//!
//! Goal: a second can be collected at its end even if no operation ends or the reactor's thread is blocked. The collector therefore
//! takes the data itself, under a lock that is contended once per second (measured in bench/results/load-null.md).
//! Non-goals: merging reactors, callbacks (`drive::collect`).

mod counts;
mod sample;
mod tally;

pub use sample::Carried;
pub(crate) use sample::{Ended, Sample};
pub use tally::{Ending, Fault, Tally};

use crate::seam::Outcome;
use counts::Counts;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Which time of an operation a histogram holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LatencyKind {
    /// From the scheduled time to the end.
    Response,
    /// From the scheduled time to the start.
    Wait,
    /// From the start to the end. In closed loop an operation starts when it is due, even if its client has to reconnect first.
    Service,
    /// The response of an operation that failed, in closed loop its service. An error is not as fast or slow as an answer, so
    /// these are in no other histogram.
    Failed,
}

/// Open loop.
pub(crate) const RESPONSE_WAIT_SERVICE: &[LatencyKind] = &[
    LatencyKind::Response,
    LatencyKind::Wait,
    LatencyKind::Service,
];
/// Closed loop, which has no schedule.
pub(crate) const SERVICE: &[LatencyKind] = &[LatencyKind::Service];

/// The results of one reactor. Blocking threads share recorders.
#[derive(Debug)]
pub(crate) struct Recorder {
    state: Mutex<RecorderState>,
    running: AtomicU32,
}

#[derive(Debug)]
struct RecorderState {
    second: u32,
    second_ends_ns: u64,
    current: Sample,
    /// Finished seconds that were not collected, ascending.
    finished: Vec<(u32, Sample)>,
    spare: Vec<Sample>,
    totals: Totals,
    /// Operations that were due before this time and end after it are carried over from the warm-up.
    measured_from_ns: u64,
}

/// Totals of the whole drive.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    /// Lateness of operations that a worker waited for.
    pub lateness: Counts,
    /// Per operation.
    pub tallies: Vec<Tally>,
    /// The operations of these that ended after the end of the drive.
    pub late: Vec<Tally>,
    pub last_ended_ns: u64,
}

impl Recorder {
    /// `foreground`: the number of operations that clients run, see [`Sample::new`].
    pub(crate) fn new(
        operations: usize,
        foreground: usize,
        kinds: &'static [LatencyKind],
    ) -> Recorder {
        let sample = || Sample::new(operations, foreground, kinds);
        Recorder {
            state: Mutex::new(RecorderState {
                second: 0,
                second_ends_ns: SECOND_NS,
                current: sample(),
                finished: Vec::with_capacity(4),
                spare: vec![sample()],
                totals: Totals::new(operations),
                measured_from_ns: 0,
            }),
            running: AtomicU32::new(0),
        }
    }

    /// Makes it the recorder of an open loop that is measured from this time on.
    pub(crate) fn measured_from(self, at_ns: u64) -> Recorder {
        self.state().measured_from_ns = at_ns;
        self
    }

    /// Records an operation in the second in which it ended, or in the next one if that second was just collected.
    #[inline]
    pub(crate) fn record(&self, ended: &Ended) {
        let mut state = self.state();
        state.advance_to(ended.counts_ns);
        if state.is_carried(ended) {
            state.current.carry(ended);
        } else {
            state.current.record(ended);
        }
        state.totals.record(ended);
    }

    /// Counts an operation that ended after the end of the drive, in addition to [`Recorder::record`].
    #[cold]
    pub(crate) fn record_late(&self, ended: &Ended) {
        let mut state = self.state();
        if state.is_carried(ended) {
            return;
        }
        state.totals.late[usize::from(ended.operation)][ended.ending()] += 1;
    }

    /// Records an error after which an operation is retried.
    #[cold]
    pub(crate) fn retry(&self, operation: u16, code: u16, at_ns: u64) {
        let mut state = self.state();
        state.advance_to(at_ns);
        if let Some(fault) = Fault::from_outcome(operation, Outcome::Retry(code)) {
            state.current.error(fault, 1);
        }
    }

    /// A client starts an operation.
    #[inline]
    pub(crate) fn mark_busy(&self) {
        self.running.fetch_add(1, Relaxed);
    }

    /// A client has no operation in flight any more.
    #[inline]
    pub(crate) fn mark_idle(&self) {
        self.running.fetch_sub(1, Relaxed);
    }

    /// The number of clients with an operation in flight.
    pub(crate) fn running(&self) -> u32 {
        self.running.load(Relaxed)
    }

    /// Ends a second and adds its counts to `into`.
    pub(crate) fn collect(&self, second: u32, into: &mut Sample) {
        let finished = self.state().take_finished(second);
        if let Some(mut sample) = finished {
            into.add(&sample);
            sample.clear();
            self.state().spare.push(sample);
        }
    }

    /// The last second with counts that were not collected.
    pub(crate) fn last_uncollected(&self) -> Option<u32> {
        let state = self.state();
        if state.current.is_empty() {
            state.finished.last().map(|(second, _)| *second)
        } else {
            Some(state.second)
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        let state = self.state();
        let mut totals = state.totals.clone();
        totals.add_tallies(&state.current);
        totals
    }

    #[inline]
    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    pub(crate) fn new(operations: usize) -> Totals {
        Totals {
            lateness: Counts::new(),
            tallies: vec![Tally::default(); operations],
            late: vec![Tally::default(); operations],
            last_ended_ns: 0,
        }
    }

    pub(crate) fn add(&mut self, other: &Totals) {
        self.lateness.add(&other.lateness);
        sample::add_tallies(&mut self.tallies, &other.tallies);
        sample::add_tallies(&mut self.late, &other.late);
        self.last_ended_ns = self.last_ended_ns.max(other.last_ended_ns);
    }

    #[inline]
    fn record(&mut self, ended: &Ended) {
        if let Some(late_ns) = ended.late_ns {
            self.lateness.record(late_ns);
        }
        self.last_ended_ns = self.last_ended_ns.max(ended.ended_ns);
    }

    /// Adds a finished second. Tallies are summed here and not per operation, to keep the hot path short.
    fn add_tallies(&mut self, second: &Sample) {
        sample::add_tallies(&mut self.tallies, second.tallies());
        sample::add_tallies(&mut self.tallies, &second.carried().tallies);
    }
}

impl RecorderState {
    #[inline]
    fn is_carried(&self, ended: &Ended) -> bool {
        ended.scheduled_ns < self.measured_from_ns && ended.ended_ns >= self.measured_from_ns
    }

    #[inline]
    fn advance_to(&mut self, at_ns: u64) {
        if at_ns >= self.second_ends_ns {
            self.start_second((at_ns / SECOND_NS) as u32);
        }
    }

    #[cold]
    fn start_second(&mut self, to_second: u32) {
        let next = self.spare.pop().unwrap_or_else(|| {
            let mut sample = self.current.clone();
            sample.clear();
            sample
        });
        let over = std::mem::replace(&mut self.current, next);
        self.totals.add_tallies(&over);
        self.finished.push((self.second, over));
        self.second = to_second;
        self.second_ends_ns = (u64::from(to_second) + 1) * SECOND_NS;
    }

    fn take_finished(&mut self, second: u32) -> Option<Sample> {
        if self.second <= second {
            self.start_second(second + 1);
        }
        let (finished, _) = self.finished.first()?;
        (*finished <= second).then(|| self.finished.remove(0).1)
    }
}

#[cfg(test)]
mod tests;
