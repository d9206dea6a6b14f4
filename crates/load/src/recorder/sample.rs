//! The counts of one reactor in one second.

use super::counts::Counts;
use super::{Ending, Fault, LatencyKind, Tally};
use crate::seam::Outcome;

/// Initial capacity for different errors.
const FAULTS: usize = 32;

/// An operation that ended. Times are nanoseconds since the start of the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub operation: u16,
    pub scheduled_ns: u64,
    pub started_ns: u64,
    pub ended_ns: u64,
    /// When it counts as ended: in a drive in slices, at the latest when its slice was over.
    pub counts_ns: u64,
    /// How late it started, if a worker waited for it.
    pub late_ns: Option<u64>,
    pub is_retried: bool,
    pub outcome: Outcome,
}

/// Counts of all operations.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Per operation, in the order of `kinds`. What failed is not in them.
    counts: Vec<Counts>,
    /// Per operation: the first kind, of what failed.
    failed: Vec<Counts>,
    /// The number of operations of clients, which come first; only they count in the sums.
    foreground: usize,
    kinds: &'static [LatencyKind],
    /// Per operation.
    tallies: Vec<Tally>,
    errors: Vec<(Fault, u64)>,
    carried: Carried,
}

/// Operations that were due in the warm-up and ended after it: they belong to neither part, and have no latency.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// Per operation.
    pub tallies: Vec<Tally>,
    /// Errors of operations that were not done.
    pub errors: Vec<(Fault, u64)>,
}

impl Sample {
    /// `foreground`: the number of operations that clients run; the remaining ones run in the background.
    pub(crate) fn new(
        operations: usize,
        foreground: usize,
        kinds: &'static [LatencyKind],
    ) -> Sample {
        Sample {
            counts: vec![Counts::new(); operations * kinds.len()],
            failed: vec![Counts::new(); operations],
            foreground,
            kinds,
            tallies: vec![Tally::default(); operations],
            errors: Vec::with_capacity(FAULTS),
            carried: Carried {
                tallies: vec![Tally::default(); operations],
                errors: Vec::new(),
            },
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, ended: &Ended) {
        let (operation, ending) = (usize::from(ended.operation), ended.ending());
        match ending {
            Ending::Failed => self.failed[operation].record(ended.nanoseconds(self.kinds[0])),
            _ => {
                let first = operation * self.kinds.len();
                let counts = &mut self.counts[first..first + self.kinds.len()];
                for (counts, kind) in counts.iter_mut().zip(self.kinds) {
                    counts.record(ended.nanoseconds(*kind));
                }
            }
        }
        self.tallies[operation][ending] += 1;
        if let Some(fault) = Fault::from_outcome(ended.operation, ended.outcome) {
            self.error(fault, 1);
        }
    }

    /// Counts an operation of the warm-up that ended after it.
    #[cold]
    pub(crate) fn carry(&mut self, ended: &Ended) {
        self.carried.tallies[usize::from(ended.operation)][ended.ending()] += 1;
        if let Some(fault) = Fault::from_outcome(ended.operation, ended.outcome) {
            add_fault(&mut self.carried.errors, fault, 1);
        }
    }

    pub(crate) fn carried(&self) -> &Carried {
        &self.carried
    }

    #[cold]
    pub(crate) fn error(&mut self, fault: Fault, times: u64) {
        add_fault(&mut self.errors, fault, times);
    }

    pub(crate) fn errors(&self) -> &[(Fault, u64)] {
        &self.errors
    }

    /// Tallies per operation.
    pub(crate) fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// The sum over the operations of clients.
    pub(crate) fn tally(&self) -> Tally {
        self.tallies[..self.foreground].iter().sum()
    }

    /// Whether no operation has ended.
    pub(crate) fn is_empty(&self) -> bool {
        let mut all = self.tallies.iter().chain(&self.carried.tallies);
        all.all(|tally| tally.ended() == 0)
    }

    /// Adds the counts of another reactor or another second.
    pub(crate) fn add(&mut self, other: &Sample) {
        for (sum, counts) in self.counts.iter_mut().zip(&other.counts) {
            sum.add(counts);
        }
        for (sum, counts) in self.failed.iter_mut().zip(&other.failed) {
            sum.add(counts);
        }
        add_tallies(&mut self.tallies, &other.tallies);
        add_tallies(&mut self.carried.tallies, &other.carried.tallies);
        for (fault, times) in &other.errors {
            self.error(*fault, *times);
        }
        for (fault, times) in &other.carried.errors {
            add_fault(&mut self.carried.errors, *fault, *times);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.counts.iter_mut().for_each(Counts::clear);
        self.failed.iter_mut().for_each(Counts::clear);
        self.tallies.fill(Tally::default());
        self.errors.clear();
        self.carried.tallies.fill(Tally::default());
        self.carried.errors.clear();
    }

    /// The histogram over the operations of clients that did not fail: response times in open loop, service times in closed loop.
    pub(crate) fn all_operations(&self) -> Counts {
        let mut all = Counts::new();
        let of_clients = &self.counts[..self.foreground * self.kinds.len()];
        for counts in of_clients.iter().step_by(self.kinds.len()) {
            all.add(counts);
        }
        all
    }

    /// The histograms that are not empty, by operation and kind.
    pub(crate) fn each(&self) -> impl Iterator<Item = (u16, LatencyKind, &Counts)> {
        let kinds = self.kinds;
        let counted = self.counts.iter().enumerate();
        let counted = counted.map(move |(place, counts)| {
            let operation = (place / kinds.len()) as u16;
            (operation, kinds[place % kinds.len()], counts)
        });
        let failed = (0..).zip(&self.failed);
        let failed = failed.map(|(operation, counts)| (operation, LatencyKind::Failed, counts));
        (counted.chain(failed)).filter(|(_, _, counts)| !counts.is_empty())
    }
}

pub(super) fn add_tallies(sums: &mut [Tally], tallies: &[Tally]) {
    for (sum, tally) in sums.iter_mut().zip(tallies) {
        *sum += tally;
    }
}

fn add_fault(errors: &mut Vec<(Fault, u64)>, fault: Fault, times: u64) {
    match errors.iter_mut().find(|(known, _)| *known == fault) {
        Some((_, count)) => *count += times,
        None => errors.push((fault, times)),
    }
}

impl Ended {
    #[inline]
    pub(super) fn ending(&self) -> Ending {
        match Fault::from_outcome(self.operation, self.outcome) {
            Some(fault) => fault.ending,
            None if self.is_retried => Ending::Retried,
            None => Ending::Done,
        }
    }

    fn nanoseconds(&self, kind: LatencyKind) -> u64 {
        match kind {
            LatencyKind::Response | LatencyKind::Failed => {
                self.ended_ns.saturating_sub(self.scheduled_ns)
            }
            LatencyKind::Wait => self.started_ns.saturating_sub(self.scheduled_ns),
            LatencyKind::Service => self.ended_ns.saturating_sub(self.started_ns),
        }
    }
}
