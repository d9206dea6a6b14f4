//! What a reactor counts: each second apart, nothing allocated on an operation's way.
//!
//! Goal: a second is handed over at its end also while no operation ends, and while the reactor's thread is blocked; so
//! the collector reaches in. The lock that this needs is free but once a second (measured: bench/results/load-null.md).
//! Non-goals: merging reactors and calling anybody (`drive::collect`).

mod counts;
mod sample;
mod tally;

pub use counts::Counts;
pub use sample::{Ended, Sample};
pub use tally::{Ending, Fault, Tally};

use crate::seam::Outcome;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SECOND_NS: u64 = 1_000_000_000;

/// Which time of an operation a histogram holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// From when it was scheduled to its end.
    Response,
    /// From when it was scheduled to its start.
    Wait,
    /// From its start to its end. In closed loop an operation starts when it is due, also when its session has to be opened
    /// again first.
    Service,
}

/// Open loop.
pub const RESPONSE_WAIT_SERVICE: &[Kind] = &[Kind::Response, Kind::Wait, Kind::Service];
/// Closed loop: there is no schedule to respond to.
pub const SERVICE: &[Kind] = &[Kind::Service];

/// One reactor's; threads that block share some.
#[derive(Debug)]
pub struct Recorder {
    book: Mutex<Book>,
    running: AtomicU32,
}

#[derive(Debug)]
struct Book {
    second: u32,
    second_ends_ns: u64,
    current: Sample,
    /// Seconds that are over and were not collected, ascending.
    finished: Vec<(u32, Sample)>,
    spare: Vec<Sample>,
    totals: Totals,
}

/// What counts for the whole drive.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Of workers that were waiting for what they began.
    pub lateness: Counts,
    /// Each operation's.
    pub tallies: Vec<Tally>,
    pub last_ended_ns: u64,
}

impl Recorder {
    pub fn new(operations: usize, kinds: &'static [Kind]) -> Recorder {
        let sample = || Sample::new(operations, kinds);
        Recorder {
            book: Mutex::new(Book {
                second: 0,
                second_ends_ns: SECOND_NS,
                current: sample(),
                finished: Vec::with_capacity(4),
                spare: vec![sample()],
                totals: Totals {
                    lateness: Counts::new(),
                    tallies: vec![Tally::default(); operations],
                    last_ended_ns: 0,
                },
            }),
            running: AtomicU32::new(0),
        }
    }

    /// An operation counts in the second in which it ended; in the next one where that was handed over just before.
    #[inline]
    pub fn record(&self, ended: &Ended) {
        let mut book = self.book();
        book.reach(ended.ended_ns);
        book.current.record(ended);
        book.totals.record(ended);
    }

    /// An error after which an operation is tried again.
    #[cold]
    pub fn retry(&self, operation: u16, code: u16, at_ns: u64) {
        let mut book = self.book();
        book.reach(at_ns);
        if let Some(fault) = Fault::of(operation, Outcome::Retry(code)) {
            book.current.error(fault, 1);
        }
    }

    /// A client has an operation under way from now on.
    #[inline]
    pub fn run(&self) {
        self.running.fetch_add(1, Relaxed);
    }

    #[inline]
    pub fn rest(&self) {
        self.running.fetch_sub(1, Relaxed);
    }

    pub fn running(&self) -> u32 {
        self.running.load(Relaxed)
    }

    /// Ends a second and adds what was counted in it.
    pub fn collect(&self, second: u32, into: &mut Sample) {
        let finished = self.book().hand_over(second);
        if let Some(mut sample) = finished {
            into.add(&sample);
            sample.clear();
            self.book().spare.push(sample);
        }
    }

    /// The last second in which something was counted and not collected.
    pub fn last_uncollected(&self) -> Option<u32> {
        let book = self.book();
        match book.current.tally().ended() {
            0 => book.finished.last().map(|(second, _)| *second),
            _ => Some(book.second),
        }
    }

    pub fn totals(&self) -> Totals {
        let book = self.book();
        let mut totals = book.totals.clone();
        totals.add_tallies(&book.current);
        totals
    }

    #[inline]
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    #[inline]
    fn record(&mut self, ended: &Ended) {
        if let Some(late_ns) = ended.late_ns {
            self.lateness.record(late_ns);
        }
        self.last_ended_ns = self.last_ended_ns.max(ended.ended_ns);
    }

    /// Of a second that is over, so that nothing is added up on an operation's way.
    fn add_tallies(&mut self, second: &Sample) {
        for (sum, tally) in self.tallies.iter_mut().zip(second.tallies()) {
            *sum += tally;
        }
    }
}

impl Book {
    #[inline]
    fn reach(&mut self, at_ns: u64) {
        if at_ns >= self.second_ends_ns {
            self.turn((at_ns / SECOND_NS) as u32);
        }
    }

    #[cold]
    fn turn(&mut self, to_second: u32) {
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

    fn hand_over(&mut self, second: u32) -> Option<Sample> {
        if self.second <= second {
            self.turn(second + 1);
        }
        let (finished, _) = self.finished.first()?;
        (*finished <= second).then(|| self.finished.remove(0).1)
    }
}

#[cfg(test)]
mod tests;
