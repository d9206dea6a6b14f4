//! Limits the disk, memory and CPU use of one server with the kernel's control groups (cgroups).
//!
//! A limit is either in force or reported as an error; it is never silently ignored. A group is leased, so it ends with
//! prony. The kernel writes buffered data on its own behalf, and cgroup v1 does not limit that. IOPS limits do not model
//! seek time.

pub mod gauge;
mod group;
mod hierarchy;
mod verify;

pub use group::{Entered, Group, join};
pub use verify::{Verified, verify};

use std::io;
use std::path::PathBuf;

/// The limits of one server; None means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Read requests per second.
    pub read_iops: Option<u64>,
    /// Write requests per second.
    pub write_iops: Option<u64>,
    /// Bytes per second.
    pub read_bandwidth: Option<u64>,
    /// Bytes per second.
    pub write_bandwidth: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Number of CPUs; 0.5 is half of one.
    pub cpus: Option<f64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn are_none(&self) -> bool {
        *self == Limits::default()
    }

    fn disk_limits(&self) -> [Option<u64>; 4] {
        [
            self.read_iops,
            self.write_iops,
            self.read_bandwidth,
            self.write_bandwidth,
        ]
    }
}

/// Formats a limit or a measurement for a message; small values, such as CPUs, get two decimals.
pub fn figure(value: f64) -> String {
    if value < 10.0 && value.fract() != 0.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    }
}

/// Why a limit is not in force.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    #[error(
        "{folder}: disk limits need a block device: {cause}; put PRONY_HOME on a disk, or remove the limits"
    )]
    NoDevice { folder: PathBuf, cause: String },
    #[error(
        "this machine has neither the cgroup v2 controller \"{version_2}\" nor the v1 controller \"{version_1}\", which {limits} need; see /proc/self/mountinfo for the available ones, or remove the limits"
    )]
    NoController {
        limits: &'static str,
        version_2: &'static str,
        version_1: &'static str,
    },
    #[error(
        "the control group was made without {0}, because nothing in the first trial of the series sets any; write such a limit in [limits], or remove series = true from [protocol]"
    )]
    NotForeseen(&'static str),
    #[error("cannot set a limit: writing \"{value}\" to {file} failed: {cause}; {help}")]
    Refused {
        file: PathBuf,
        value: String,
        help: &'static str,
        cause: io::Error,
    },
    #[error(
        "cannot create a control group: {0}; limits require root (cgroups): run prony as root, or run the experiment without them (--no-limits)"
    )]
    NoGroup(String),
    #[error("cannot verify the limits: {0}")]
    NotVerified(String),
    #[error(
        "the limit {name} = {} was not applied: {} measured; check the control groups of this machine, or remove the limit",
        figure(*.requested),
        figure(*.measured)
    )]
    NotInForce {
        name: &'static str,
        requested: f64,
        measured: f64,
    },
}
