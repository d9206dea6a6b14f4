//! A workload behind a pointer, for those who choose it at run time.
//!
//! One dynamic call drives a whole trial; the operations within are monomorphic.

use super::asked::Drive;
use super::driven::{DriveError, Driven};
use super::{Watch, drive};
use crate::seam::{Placement, Workload};
use std::sync::atomic::AtomicBool;

/// What a trial provides for a workload. Counts are for one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub placement: Placement,
    pub connections: u32,
    /// Prepared statements.
    pub statements: usize,
}

/// Any [`Workload`], whatever its sessions are: it is implemented for all of them.
pub trait Drivable: Sync {
    /// The names of its operations.
    fn operations(&self) -> Vec<String>;
    fn needs(&self) -> Needs;
    /// As [`drive`](super::drive).
    ///
    /// # Errors
    /// As [`drive`](super::drive).
    fn drive(
        &self,
        asked: &Drive,
        stop: &AtomicBool,
        watch: Watch<'_>,
    ) -> Result<Driven, DriveError>;
}

impl<W: Workload> Drivable for W {
    fn operations(&self) -> Vec<String> {
        Workload::operations(self)
    }

    fn needs(&self) -> Needs {
        Needs {
            placement: self.placement(),
            connections: self.connections(),
            statements: self.statements(),
        }
    }

    fn drive(
        &self,
        asked: &Drive,
        stop: &AtomicBool,
        watch: Watch<'_>,
    ) -> Result<Driven, DriveError> {
        drive(self, asked, stop, watch)
    }
}
