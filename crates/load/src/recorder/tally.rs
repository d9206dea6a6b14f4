//! How operations ended: counts and errors.

use crate::seam::Outcome;
use std::ops::{AddAssign, Index, IndexMut};

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Done at the first attempt.
    Done,
    /// Done after at least one retry. In a [`Fault`]: the error led to a retry.
    Retried,
    Failed,
    /// The connection was lost and the operation had no effect on the server.
    Lost,
    /// The connection was lost after COMMIT was sent: the server may have committed or not.
    Unknown,
}

impl Ending {
    pub const ALL: [Ending; 5] = [
        Ending::Done,
        Ending::Retried,
        Ending::Failed,
        Ending::Lost,
        Ending::Unknown,
    ];
}

/// Numbers of operations by how they ended: `tally[Ending::Unknown]`. Each operation counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally([u64; Ending::ALL.len()]);

impl Tally {
    /// Done, with retries or without.
    pub fn done(&self) -> u64 {
        self[Ending::Done] + self[Ending::Retried]
    }

    /// Failed, lost or unknown.
    pub fn not_done(&self) -> u64 {
        self[Ending::Failed] + self[Ending::Lost] + self[Ending::Unknown]
    }

    /// All operations.
    pub fn ended(&self) -> u64 {
        self.done() + self.not_done()
    }
}

impl Index<Ending> for Tally {
    type Output = u64;

    #[inline]
    fn index(&self, ending: Ending) -> &u64 {
        &self.0[ending as usize]
    }
}

impl IndexMut<Ending> for Tally {
    #[inline]
    fn index_mut(&mut self, ending: Ending) -> &mut u64 {
        &mut self.0[ending as usize]
    }
}

impl AddAssign<&Tally> for Tally {
    fn add_assign(&mut self, other: &Tally) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }
}

impl<'t> std::iter::Sum<&'t Tally> for Tally {
    fn sum<I: Iterator<Item = &'t Tally>>(tallies: I) -> Tally {
        tallies.fold(Tally::default(), |mut sum, tally| {
            sum += tally;
            sum
        })
    }
}

/// A kind of error, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Index in [`crate::Workload::operations`].
    pub operation: u16,
    /// What the error led to; never [`Ending::Done`].
    pub ending: Ending,
    /// The server's error number, or the workload's own above 60,000.
    pub code: u16,
}

impl Fault {
    /// None if the operation was done.
    #[inline]
    pub(crate) fn from_outcome(operation: u16, outcome: Outcome) -> Option<Fault> {
        let (ending, code) = match outcome {
            Outcome::Done => return None,
            Outcome::Retry(code) => (Ending::Retried, code),
            Outcome::Failed(code) => (Ending::Failed, code),
            Outcome::Lost(code) => (Ending::Lost, code),
            Outcome::Unknown(code) => (Ending::Unknown, code),
        };
        Some(Fault {
            operation,
            ending,
            code,
        })
    }
}
