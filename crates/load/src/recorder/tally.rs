//! How operations ended: counts, and the errors behind what was not done.

use crate::seam::Outcome;
use std::ops::{AddAssign, Index, IndexMut};

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// At the first try.
    Done,
    /// Done after at least one retry. Of a [`Fault`]: the error after which the operation was repeated.
    Retried,
    Failed,
    /// The connection was lost, and nothing of the operation is left on the server.
    Lost,
    /// The connection was lost after a commit was sent: the server may have done the operation or not.
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

/// Operations by how they ended: `tally[Ending::Unknown]`. Each operation counts once.
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

    /// All of them.
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

/// An error of an operation, as errors are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The operation's place in the workload's list.
    pub operation: u16,
    /// What the error led to; never [`Ending::Done`].
    pub ending: Ending,
    /// The server's error number, or the workload's own above 60,000.
    pub code: u16,
}

impl Fault {
    /// None: the operation was done.
    #[inline]
    pub fn of(operation: u16, outcome: Outcome) -> Option<Fault> {
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
