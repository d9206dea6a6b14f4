//! What one reactor counted in one second.

use super::counts::Counts;
use crate::drive::Kind;
use crate::seam::Outcome;

/// Room for error codes that is there from the beginning; more of them grow it.
const CODES: usize = 32;

/// An operation that ended. Times are nanoseconds since the drive's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub operation: u16,
    pub scheduled_ns: u64,
    pub started_ns: u64,
    pub ended_ns: u64,
    /// How late it was begun by a worker that was waiting for it.
    pub late_ns: Option<u64>,
    pub is_retried: bool,
    pub outcome: Outcome,
}

#[derive(Clone, Debug)]
pub struct Sample {
    /// Each operation's, in the order of `kinds`.
    counts: Vec<Counts>,
    kinds: &'static [Kind],
    pub done: u64,
    pub retried: u64,
    pub failed: u64,
    errors: Vec<(u16, u64)>,
}

impl Sample {
    pub fn new(operations: usize, kinds: &'static [Kind]) -> Sample {
        Sample {
            counts: vec![Counts::new(); operations * kinds.len()],
            kinds,
            done: 0,
            retried: 0,
            failed: 0,
            errors: Vec::with_capacity(CODES),
        }
    }

    #[inline]
    pub fn record(&mut self, ended: &Ended) {
        let first = usize::from(ended.operation) * self.kinds.len();
        let counts = &mut self.counts[first..first + self.kinds.len()];
        for (counts, kind) in counts.iter_mut().zip(self.kinds) {
            counts.record(ended.nanoseconds(*kind));
        }
        match ended.outcome {
            Outcome::Done => {
                self.done += 1;
                self.retried += u64::from(ended.is_retried);
            }
            Outcome::Failed(code) | Outcome::Lost(code) | Outcome::Retry(code) => {
                self.failed += 1;
                self.error(code, 1);
            }
        }
    }

    #[cold]
    pub fn error(&mut self, code: u16, times: u64) {
        match self.errors.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += times,
            None => self.errors.push((code, times)),
        }
    }

    pub fn errors(&self) -> &[(u16, u64)] {
        &self.errors
    }

    /// Adds what another reactor, or another second, counted.
    pub fn add(&mut self, other: &Sample) {
        for (sum, counts) in self.counts.iter_mut().zip(&other.counts) {
            sum.add(counts);
        }
        self.done += other.done;
        self.retried += other.retried;
        self.failed += other.failed;
        for (code, times) in &other.errors {
            self.error(*code, *times);
        }
    }

    pub fn clear(&mut self) {
        self.counts.iter_mut().for_each(Counts::clear);
        (self.done, self.retried, self.failed) = (0, 0, 0);
        self.errors.clear();
    }

    pub fn operations(&self) -> u64 {
        self.done + self.failed
    }

    /// All operations' first kind: response in open loop, service in closed loop.
    pub fn all_operations(&self) -> Counts {
        let mut all = Counts::new();
        for counts in self.counts.iter().step_by(self.kinds.len()) {
            all.add(counts);
        }
        all
    }

    /// Each operation and kind that was counted.
    pub fn each(&self) -> impl Iterator<Item = (u16, Kind, &Counts)> {
        let kinds = self.kinds;
        let counted = self.counts.iter().enumerate();
        counted
            .filter(|(_, counts)| !counts.is_empty())
            .map(move |(place, counts)| {
                let operation = (place / kinds.len()) as u16;
                (operation, kinds[place % kinds.len()], counts)
            })
    }
}

impl Ended {
    fn nanoseconds(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Response => self.ended_ns.saturating_sub(self.scheduled_ns),
            Kind::Wait => self.started_ns.saturating_sub(self.scheduled_ns),
            Kind::Service => self.ended_ns.saturating_sub(self.started_ns),
        }
    }
}
