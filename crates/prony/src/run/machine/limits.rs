//! Applies the planned limits to a trial's server, or to prony itself where it generates the I/O of a folder.
//!
//! Purpose: refuse a limit that this machine cannot set before any data is loaded. Verify each limit before the server starts, and
//! record what was measured. Outside this module: control groups (`host::limits`), changes during a load (`changes`).

use crate::lock;
use crate::run::RunError;
use host::limit_figure as figure;
use host::{Entered, Group, LimitError, Limits, Verified, verify};
use host::{Home, Leases, machine};
use record::{Flag, FlagKind, LimitNote};
use spec::plan::PlannedTrial;
use spec::{Experiment, LimitsPatch, Requested};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

/// Assumed bytes of data for relative limits, before the data is loaded.
const BEFORE_LOADING: u64 = 1 << 30;

/// The folder for the measurement's files, beside the data, so that they are on its device.
const SCRATCH: &str = "gauge";

/// InnoDB's default page size.
const PAGE_BYTES: f64 = 16_384.0;

/// Below this share of the allowed value, the machine itself is the limit.
const REACHED: f64 = 0.9;

/// The smallest memory limit of prony itself: its buffers and histograms count too, and beyond the limit the kernel would kill it.
const OWN_MEMORY_BYTES_MIN: u64 = 128 << 20;

/// A control group that a trial and its events share.
#[derive(Clone)]
pub(crate) struct SharedGroup(Arc<Mutex<Group>>);

impl SharedGroup {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Group> {
        lock(&self.0)
    }
}

/// The limits of one trial's server, in force until dropped.
pub(crate) struct Held {
    pub group: SharedGroup,
    pub notes: Vec<LimitNote>,
    /// A flag for each limit that the machine does not reach.
    pub flags: Vec<Flag>,
}

/// The limits in absolute figures. A limit that no level sets is absent.
pub(crate) fn resolve(planned: &LimitsPatch, data_bytes: u64) -> Limits {
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

/// The limits after each event of the trial that changes them.
pub(crate) fn later(trial: &PlannedTrial, data_bytes: u64) -> Vec<Limits> {
    let changes = trial
        .events
        .iter()
        .filter_map(|event| event.set.as_ref()?.limits);
    changes
        .map(|change| resolve(&change.over(trial.limits), data_bytes))
        .collect()
}

impl Held {
    /// Sets the limits, which may change to those of `later`, and measures them, with files in a folder beside `data`.
    ///
    /// # Errors
    /// A limit cannot be set, is not in force, or cannot be verified.
    pub(crate) fn hold(
        limits: &Limits,
        later: &[Limits],
        data: &Path,
        leases: &Leases,
    ) -> Result<Held, LimitError> {
        Held::measured(limits, later, (data, data), leases)
    }

    /// The same for files whose blocks may never have been written: their reads would not reach the disk.
    ///
    /// # Errors
    /// As for [`Held::hold`].
    pub(crate) fn hold_for_files(
        limits: &Limits,
        later: &[Limits],
        data: &Path,
        leases: &Leases,
    ) -> Result<Held, LimitError> {
        let scratch = data.with_file_name(SCRATCH);
        std::fs::create_dir_all(&scratch)
            .map_err(|error| LimitError::NotVerified(format!("{}: {error}", scratch.display())))?;
        Held::measured(limits, later, (data, &scratch), leases)
    }

    /// `reads` is a folder with files that the measurement reads.
    fn measured(
        limits: &Limits,
        later: &[Limits],
        (data, reads): (&Path, &Path),
        leases: &Leases,
    ) -> Result<Held, LimitError> {
        let group = Group::make_changeable(limits, later, data, leases)?;
        let scratch = data.with_file_name(SCRATCH);
        let verified = verify(limits, &group, reads, &scratch, leases)?;
        Ok(Held {
            group: SharedGroup(Arc::new(Mutex::new(group))),
            flags: verified.iter().filter_map(not_reached).collect(),
            notes: verified.iter().map(note).collect(),
        })
    }

    /// Applies the disk limits to the device of the redo log too, and measures those of writes there.
    ///
    /// # Errors
    /// As for [`Held::hold`].
    pub(crate) fn limit_redo(
        &mut self,
        limits: &Limits,
        redo: &Path,
        leases: &Leases,
    ) -> Result<(), LimitError> {
        let mut group = self.group.lock();
        group.limit_also(limits, redo)?;
        let writes = Limits {
            write_iops: limits.write_iops,
            write_bandwidth: limits.write_bandwidth,
            ..Limits::default()
        };
        let scratch = redo.with_file_name(SCRATCH);
        verify(&writes, &group, redo, &scratch, leases).map(drop)
    }

    /// Moves prony into the group, until the returned value is dropped.
    ///
    /// # Errors
    /// The kernel refuses the move.
    pub(crate) fn enter(&self) -> Result<Entered, LimitError> {
        self.group.lock().enter()
    }

    /// A flag if a limit was changed by another program.
    pub(crate) fn lost(&self) -> Option<Flag> {
        let group = self.group.lock();
        let file = group.lost()?;
        Some(Flag {
            kind: FlagKind::LimitLost,
            text: format!(
                "{}: the limit was changed during the trial by another program",
                file.display()
            ),
        })
    }

    /// The cause of death of a server that the kernel killed for its memory limit.
    pub(crate) fn last_words(&self) -> Option<&'static str> {
        (self.group.lock().killed_for_memory() > 0)
            .then_some("the kernel killed it because it exceeded limits.memory")
    }
}

fn note(verified: &Verified) -> LimitNote {
    LimitNote {
        name: verified.name.to_string(),
        asked: verified.requested,
        measured: verified.measured,
    }
}

fn not_reached(verified: &Verified) -> Option<Flag> {
    (verified.measured < verified.allowed * REACHED).then(|| Flag {
        kind: FlagKind::LimitNotReached,
        text: format!(
            "{}: limit {}, measured {}: {}",
            verified.name,
            figure(verified.allowed),
            figure(verified.measured),
            match verified.name {
                "memory" => "a control group above, as of a container, allows no more",
                _ => "the machine is slower than the limit",
            }
        ),
    })
}

/// A flag if `--no-limits` dropped limits of this trial.
pub(crate) fn lifted(planned: &PlannedTrial) -> Option<Flag> {
    let names = planned.lifted.names();
    (!names.is_empty()).then(|| Flag {
        kind: FlagKind::LimitsNotApplied,
        text: format!(
            "--no-limits: the experiment's limits ({}) were not applied",
            names.join(", ")
        ),
    })
}

/// Checks that every planned limit can be set on this machine.
///
/// # Errors
/// A limited server that prony does not start, a limit of CPUs or memory above the machine's, one of memory below what prony itself
/// needs, or a machine that cannot set limits.
pub(crate) fn check(
    experiment: &Experiment,
    trials: &[PlannedTrial],
    home: &Home,
    leases: &Leases,
) -> Result<(), RunError> {
    let cores = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    // Without a known memory size, any limit is accepted.
    let machine_bytes = Some(machine::memory_bytes()).filter(|bytes| *bytes > 0);
    let machine_bytes = machine_bytes.unwrap_or(u64::MAX);
    let mut tried: Vec<Limits> = Vec::new();
    for trial in trials {
        let all = std::iter::once(resolve(&trial.limits, BEFORE_LOADING));
        for limits in all.chain(later(trial, BEFORE_LOADING)) {
            if limits.are_none() {
                continue;
            }
            check_one(experiment, trial, &limits, (cores, machine_bytes))?;
            if tried.contains(&limits) {
                continue;
            }
            let place = trial.host.directory().map(Path::to_path_buf);
            Group::make(&limits, &place.unwrap_or(home.work()), leases)
                .map_err(|error| RunError::Failed(error.to_string()))?;
            tried.push(limits);
        }
    }
    Ok(())
}

const SMALLER: &str = "choose a smaller limit, or \"none\"";

fn check_one(
    experiment: &Experiment,
    trial: &PlannedTrial,
    limits: &Limits,
    (cores, machine_bytes): (f64, u64),
) -> Result<(), RunError> {
    let mistake = |of: Requested, says: String, help: String| -> Result<(), RunError> {
        Err(of.mistake(experiment, &trial.key, says, help).into())
    };
    let server = trial.server_name();
    let own = trial.server.as_ref();
    if own.is_some_and(|spec| !spec.build.is_managed()) {
        return Err(RunError::Usage(format!(
            "server \"{server}\": prony does not start this server, so it cannot limit it; exclude it from the trials with limits (only = {{ server = [...] }}), or remove the limits"
        )));
    }
    if let Some(bytes) =
        (limits.memory_bytes).filter(|bytes| own.is_none() && *bytes < OWN_MEMORY_BYTES_MIN)
    {
        return mistake(
            Requested::Memory,
            format!(
                "memory = {bytes} in [limits] is too little for prony itself, which generates the I/O of a folder"
            ),
            format!("use at least {}M, or \"none\"", OWN_MEMORY_BYTES_MIN >> 20),
        );
    }
    if let Some(bytes) = limits.memory_bytes.filter(|bytes| *bytes >= machine_bytes) {
        return mistake(
            Requested::Memory,
            format!("memory = {bytes} has no effect on a machine with {machine_bytes} bytes"),
            SMALLER.to_string(),
        );
    }
    if let Some(cpus) = limits.cpus.filter(|cpus| *cpus >= cores) {
        return mistake(
            Requested::Cpus,
            format!("cpus = {cpus} has no effect on a machine with {cores} CPUs"),
            SMALLER.to_string(),
        );
    }
    Ok(())
}

/// Seconds to read all data once within the trial's disk limits, one page per request.
pub(crate) fn cold_reading_s(trial: &PlannedTrial, data_bytes: u64) -> f64 {
    let limits = resolve(&trial.limits, data_bytes);
    let requests_s = limits
        .read_iops
        .map(|iops| data_bytes as f64 / PAGE_BYTES / iops as f64);
    let bytes_s = limits
        .read_bandwidth
        .map(|bandwidth| data_bytes as f64 / bandwidth as f64);
    requests_s.into_iter().chain(bytes_s).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Memory;

    fn verified(allowed: f64, measured: f64) -> Verified {
        Verified {
            name: "read_iops",
            requested: allowed,
            measured,
            allowed,
        }
    }

    #[test]
    fn a_limit_that_the_disk_does_not_reach_is_flagged() {
        let flag = not_reached(&verified(460_000.0, 52_000.0)).unwrap();
        assert_eq!(
            flag.text,
            "read_iops: limit 460000, measured 52000: the machine is slower than the limit"
        );
        assert_eq!(not_reached(&verified(400.0, 399.0)), None);
        let memory = Verified {
            name: "memory",
            ..verified(8e9, 4e9)
        };
        let flag = not_reached(&memory).unwrap();
        assert!(flag.text.ends_with("allows no more"), "{}", flag.text);
        let flag = not_reached(&verified(0.5, 0.25)).unwrap();
        assert!(flag.text.contains("limit 0.50, measured 0.25"));
    }

    #[test]
    fn memory_can_be_a_share_of_the_data() {
        let third = LimitsPatch {
            memory: Some(Some(Memory::OfData(1.0 / 3.0))),
            ..LimitsPatch::default()
        };
        assert_eq!(resolve(&third, 3 << 30).memory_bytes, Some(1 << 30));
    }

    #[test]
    fn a_limit_of_none_is_no_limit() {
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
