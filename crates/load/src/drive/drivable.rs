//! An object-safe interface to workloads, for callers that choose the workload at run time.
//!
//! One dynamic call runs a whole drive; the operations within are monomorphic.

use super::driven::{DriveError, Driven};
use super::settings::Drive;
use super::{Watch, drive};
use crate::seam::{Effects, Placement, Standard, Workload};
use std::sync::atomic::AtomicBool;

/// What a workload needs from a trial. Counts are per client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub placement: Placement,
    pub connections: u32,
    /// Prepared statements.
    pub statements: usize,
}

/// The object-safe form of [`Workload`]. It is implemented for every workload.
pub trait Drivable: Sync {
    /// The names of its operations.
    fn operations(&self) -> Vec<String>;
    /// The benchmark's requirements, if it has a standard.
    fn standard(&self) -> Option<Standard>;
    /// See [`Workload::effects`].
    fn effects(&self) -> Vec<Effects>;
    /// What it needs from a trial.
    fn needs(&self) -> Needs;
    /// As [`Workload::explain`].
    fn explain(&self, code: u16) -> Option<String>;
    /// As [`drive`](super::drive).
    ///
    /// # Errors
    /// As [`drive`](super::drive).
    fn drive(
        &self,
        settings: &Drive,
        stop: &AtomicBool,
        watch: Watch<'_>,
    ) -> Result<Driven, DriveError>;
}

impl<W: Workload> Drivable for W {
    fn operations(&self) -> Vec<String> {
        Workload::operations(self)
    }

    fn standard(&self) -> Option<Standard> {
        Workload::standard(self)
    }

    fn explain(&self, code: u16) -> Option<String> {
        Workload::explain(self, code)
    }

    fn effects(&self) -> Vec<Effects> {
        Workload::effects(self)
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
        settings: &Drive,
        stop: &AtomicBool,
        watch: Watch<'_>,
    ) -> Result<Driven, DriveError> {
        drive(self, settings, stop, watch)
    }
}
