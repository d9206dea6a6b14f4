//! Limits of disk, memory and processors for the processes of one server, by control groups of the kernel.
//!
//! Goal: a limit that is in force, or an error that says why not; never full speed in silence. A group is leased, so that
//! it ends with prony. Non-goals: buffered writes, which the kernel writes out on its own behalf and version 1 does not
//! hold back; seeks, of which the kernel's limits know nothing.

pub mod gauge;
mod group;
mod hierarchy;
mod verify;

pub use group::{Group, join};
pub use verify::{Verified, verify};

use std::io;
use std::path::PathBuf;

/// None: without a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Requests a second.
    pub read_iops: Option<u64>,
    pub write_iops: Option<u64>,
    /// Bytes a second.
    pub read_bandwidth: Option<u64>,
    pub write_bandwidth: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Processors, 0.5 is half of one.
    pub cpus: Option<f64>,
}

impl Limits {
    pub fn are_none(&self) -> bool {
        *self == Limits::default()
    }

    fn of_disk(&self) -> [Option<u64>; 4] {
        [
            self.read_iops,
            self.write_iops,
            self.read_bandwidth,
            self.write_bandwidth,
        ]
    }
}

/// What was asked for or measured, in a message: processors are often less than one.
pub fn figure(value: f64) -> String {
    match value < 10.0 && value.fract() != 0.0 {
        true => format!("{value:.2}"),
        false => format!("{value:.0}"),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    #[error(
        "the disk limits need a block device below {folder}: {cause}; put PRONY_HOME on a disk, or take the limits out"
    )]
    NoDevice { folder: PathBuf, cause: String },
    #[error(
        "this machine has neither the controller \"{version_2}\" of cgroup v2 nor \"{version_1}\" of v1, which {limits} need; see /proc/self/mountinfo for what is there, or take the limits out"
    )]
    NoController {
        limits: &'static str,
        version_2: &'static str,
        version_1: &'static str,
    },
    #[error("the limits cannot be set: writing \"{value}\" to {file} gives: {cause}; {help}")]
    Refused {
        file: PathBuf,
        value: String,
        help: &'static str,
        cause: io::Error,
    },
    #[error(
        "a control group of its own cannot be made: {0}; it takes root's right over control groups: run prony as root, or take the limits out"
    )]
    NoGroup(String),
    #[error("the limits cannot be verified: {0}")]
    NotVerified(String),
    #[error(
        "the limit {name} = {} is not in force: {} were measured; it would have been full speed in silence",
        figure(*.asked),
        figure(*.measured)
    )]
    NotInForce {
        name: &'static str,
        asked: f64,
        measured: f64,
    },
}
