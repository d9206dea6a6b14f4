//! From limits as they are planned to limits that a trial's server is held to.
//!
//! Goal: what this machine cannot limit is found before anything is loaded; what is limited is verified before the server
//! starts, and the figures go into the record. Non-goal: how the kernel is told (`host::limits`).

use super::{RunError, settings};
use host::limits::figure;
use host::{Group, LimitError, Limits, Verified, verify};
use host::{Home, Leases, machine};
use record::{Flag, FlagKind, LimitNote};
use spec::LimitsPatch;
use spec::plan::PlannedTrial;
use std::path::Path;

/// Bytes of data that a part of them is tried with before they are known.
const BEFORE_LOADING: u64 = 1 << 30;

/// InnoDB's default.
const PAGE_BYTES: f64 = 16_384.0;

/// A machine that gives less than this share of what is allowed is itself the limit.
const REACHED: f64 = 0.9;

/// The limits of one trial's server while they are in force.
pub struct Held {
    pub group: Group,
    pub notes: Vec<LimitNote>,
    /// Limits that the machine itself stays below.
    pub flags: Vec<Flag>,
}

/// None of them is left open: what no level names is not limited.
pub fn resolve(planned: &LimitsPatch, data_bytes: u64) -> Limits {
    Limits {
        read_iops: planned.read_iops.flatten(),
        write_iops: planned.write_iops.flatten(),
        read_bandwidth: planned.read_bandwidth.flatten(),
        write_bandwidth: planned.write_bandwidth.flatten(),
        memory_bytes: planned
            .memory
            .flatten()
            .map(|memory| memory.bytes(data_bytes)),
        cpus: planned.cpus.flatten(),
    }
}

impl Held {
    /// Sets the limits and measures them. `scratch` is a folder beside `data` for what is written meanwhile.
    ///
    /// # Errors
    /// Limits that cannot be set, are not in force, or cannot be verified.
    pub fn hold(
        limits: &Limits,
        data: &Path,
        scratch: &Path,
        leases: &Leases,
    ) -> Result<Held, LimitError> {
        let group = Group::make(limits, data, leases)?;
        let verified = verify(limits, &group, data, scratch, leases)?;
        Ok(Held {
            group,
            flags: verified.iter().filter_map(not_reached).collect(),
            notes: verified.iter().map(note).collect(),
        })
    }

    /// What the kernel did to a server that was out of its memory, in words.
    pub fn last_words(&self) -> Option<&'static str> {
        (self.group.killed_for_memory() > 0).then_some(
            "the kernel killed it because it was out of the memory that limits.memory allows",
        )
    }
}

fn note(verified: &Verified) -> LimitNote {
    LimitNote {
        name: verified.name.to_string(),
        asked: verified.asked,
        measured: verified.measured,
    }
}

fn not_reached(verified: &Verified) -> Option<Flag> {
    (verified.measured < verified.allowed * REACHED).then(|| Flag {
        kind: FlagKind::LimitNotReached,
        text: format!(
            "{}: {} are allowed, {} were measured: the machine itself has less",
            verified.name,
            figure(verified.allowed),
            figure(verified.measured)
        ),
    })
}

/// Whether every planned limit can be set here.
///
/// # Errors
/// A server that prony does not start, more processors or memory than there are, a machine without the means.
pub fn check(trials: &[PlannedTrial], home: &Home, leases: &Leases) -> Result<(), RunError> {
    let cores = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    // A machine that does not tell has room for any.
    let machine_bytes = Some(machine::memory_bytes()).filter(|bytes| *bytes > 0);
    let machine_bytes = machine_bytes.unwrap_or(u64::MAX);
    let mut tried: Vec<Limits> = Vec::new();
    for trial in trials {
        let limits = resolve(&trial.limits, BEFORE_LOADING);
        if limits.are_none() {
            continue;
        }
        let server = trial.server_name();
        let own = trial.server.as_ref();
        if own.is_none_or(|spec| !spec.build.is_managed()) {
            return Err(RunError::Asked(format!(
                "server \"{server}\" is none that prony starts, so it cannot be limited: take it out of the trials with limits (only = {{ server = [...] }}), or take the limits out"
            )));
        }
        if tried.contains(&limits) {
            continue;
        }
        if let Some(bytes) = limits.memory_bytes.filter(|bytes| *bytes >= machine_bytes) {
            return Err(RunError::Asked(format!(
                "limits: memory = {bytes} limits nothing on a machine of {machine_bytes} bytes; write a smaller one, or \"none\""
            )));
        }
        if let Some(cpus) = limits.cpus.filter(|cpus| *cpus >= cores) {
            return Err(RunError::Asked(format!(
                "limits: cpus = {cpus} limits nothing on a machine of {cores} processors; write a smaller one, or \"none\""
            )));
        }
        Group::make(&limits, &home.work(), leases)
            .map_err(|error| RunError::Failed(error.to_string()))?;
        tried.push(limits);
    }
    Ok(())
}

/// Seconds that a disk within the trial's limits takes to read all data once, a page a request.
pub fn cold_reading_s(trial: &PlannedTrial, data_bytes: u64) -> f64 {
    let limits = resolve(&trial.limits, data_bytes);
    let requests_s = limits
        .read_iops
        .map(|iops| data_bytes as f64 / PAGE_BYTES / iops as f64);
    let bytes_s = limits
        .read_bandwidth
        .map(|bandwidth| data_bytes as f64 / bandwidth as f64);
    requests_s.into_iter().chain(bytes_s).fold(0.0, f64::max)
}

/// Whether a pool fits into the memory that its server is allowed.
///
/// # Errors
/// A pool that is larger: the kernel would kill the server in the middle of a trial.
pub fn fits(trial: &PlannedTrial, data_bytes: u64) -> Result<(), RunError> {
    let Some(memory_bytes) = resolve(&trial.limits, data_bytes).memory_bytes else {
        return Ok(());
    };
    let pools = settings::resolve(&trial.settings, data_bytes).into_iter();
    let too_large =
        pools.filter(|(name, _)| settings::POOLS.contains(&settings::plain(name).as_str()));
    for (name, value) in too_large {
        if settings::bytes(&value).is_some_and(|bytes| bytes >= memory_bytes) {
            return Err(RunError::Asked(format!(
                "{}: {name} = {value} does not fit into limits.memory = {memory_bytes}: give the server more, or the pool less",
                trial.key
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Memory;

    fn verified(allowed: f64, measured: f64) -> Verified {
        Verified {
            name: "read_iops",
            asked: allowed,
            measured,
            allowed,
        }
    }

    #[test]
    fn a_limit_that_the_disk_stays_below_is_told() {
        let flag = not_reached(&verified(460_000.0, 52_000.0)).unwrap();
        assert_eq!(
            flag.text,
            "read_iops: 460000 are allowed, 52000 were measured: the machine itself has less"
        );
        assert_eq!(not_reached(&verified(400.0, 399.0)), None);
        let flag = not_reached(&verified(0.5, 0.25)).unwrap();
        assert!(flag.text.contains("0.50 are allowed, 0.25 were measured"));
    }

    #[test]
    fn memory_can_be_a_part_of_the_data() {
        let third = LimitsPatch {
            memory: Some(Some(Memory::OfData(1.0 / 3.0))),
            ..LimitsPatch::default()
        };
        assert_eq!(resolve(&third, 3 << 30).memory_bytes, Some(1 << 30));
    }

    #[test]
    fn a_lifted_limit_is_none() {
        let lifted = LimitsPatch {
            read_iops: Some(None),
            cpus: Some(Some(0.5)),
            ..LimitsPatch::default()
        };
        let limits = resolve(&lifted, 0);
        assert_eq!((limits.read_iops, limits.cpus), (None, Some(0.5)));
        assert!(!limits.are_none());
        assert!(resolve(&LimitsPatch::default(), 0).are_none());
    }
}
