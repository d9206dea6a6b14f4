//! What a disk can do for a database, within 20 seconds: `prony doctor DIR`.
//!
//! Purpose: drive the workload `fileio` through short probes in a folder of prony's own, and read what the kernel tells about the disk.
//! Boundaries: the probes are loads of the same engine as every trial; nothing is recorded, and a figure of two seconds is no benchmark.

mod flushes;
mod json;
mod probes;
mod text;

pub(crate) use json::json;
pub(crate) use text::text;

use crate::run::Progress;
use crate::run::measure::timed::until_stopped;
use flushes::Flushes;
use hdrhistogram::Histogram;
use host::storage::{self, AtomicWrites, Storage};
use host::{DeviceCounts, Leases, cold, disk, interrupt, machine};
use load::{Drive, Load, Tally, Watch};
use probes::{Files, PROBES, Probe};
use record::Percentile;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use workload::{Audited, Ended, FilesError, Target, Workload};

/// What was found on a disk.
pub(crate) struct Findings {
    pub(crate) directory: PathBuf,
    pub(crate) storage: Storage,
    pub(crate) memory_bytes: u64,
    /// The size of the file of the random and sequential operations.
    pub(crate) data_bytes: u64,
    pub(crate) measured: Vec<Figure>,
    pub(crate) direct: Direct,
    /// In bytes.
    pub(crate) direct_alignment: Option<u64>,
    pub(crate) flushes: Flushes,
    pub(crate) atomic_writes: Option<AtomicWrites>,
    pub(crate) elapsed: Duration,
}

/// A probe with its result.
pub(crate) type Figure = (&'static Probe, Measured);

/// The result of one probe.
pub(crate) struct Measured {
    pub(crate) operations: u64,
    pub(crate) elapsed: Duration,
    pub(crate) nanoseconds: Histogram<u64>,
}

impl Measured {
    pub(crate) fn operations_per_s(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }

    /// Milliseconds; None if nothing was done.
    pub(crate) fn ms(&self, percentile: Percentile) -> Option<f64> {
        let is_there = !self.nanoseconds.is_empty();
        let at = || self.nanoseconds.value_at_quantile(percentile.share_below());
        is_there.then(|| at() as f64 / 1e6)
    }
}

/// What became of O_DIRECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direct {
    Works,
    /// The file system accepts it and uses the page cache all the same.
    Ignored {
        resident_bytes: u64,
    },
    /// The probes went through the page cache.
    Refused,
    /// The file system has a cache of its own, which nothing shows.
    Unknown,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DoctorError {
    #[error("{} is not a folder; name a folder on the disk", .0.display())]
    NoFolder(PathBuf),
    #[error(
        "{} has only {} free, and the probes need {}; free some space, or name another folder",
        directory.display(), disk::shown(*free_bytes), disk::shown(SPACE_BYTES_MIN)
    )]
    NoSpace { directory: PathBuf, free_bytes: u64 },
    /// What kept it from measuring, in one sentence.
    #[error("{0}")]
    Failed(String),
    #[error("interrupted")]
    Interrupted,
}

/// Free space without which no probe starts.
const SPACE_BYTES_MIN: u64 = 256 << 20;
/// At most this part of the free space is written.
const SPACE_SHARE: u64 = 8;
const DATA_BYTES_MIN: u64 = 16 << 20;
const DATA_BYTES_MAX: u64 = 1 << 30;
/// More than 16 clients can append in a probe.
const LOG_BYTES_MAX: u64 = 4 << 30;
/// Written first, to learn how large a file can be.
const PILOT_BYTES: u64 = 16 << 20;
/// How long making the file may take.
const MAKING: Duration = Duration::from_secs(3);
/// When the last probe should end. Where the disk took longer so far, the other probes are shorter.
const BUDGET: Duration = Duration::from_secs(18);
/// No probe is shortened to less than this share.
const SHARE_MIN: f64 = 0.1;
/// Operations in flight at the end of a probe are awaited for so long.
const DRAIN: Duration = Duration::from_secs(2);

/// Measures in a new folder below `directory`, which is removed however prony ends.
pub(crate) fn examine(
    directory: &Path,
    leases: &Leases,
    progress: &Progress,
) -> Result<Findings, DoctorError> {
    let began = Instant::now();
    let directory = std::fs::canonicalize(directory)
        .ok()
        .filter(|path| path.is_dir())
        .ok_or_else(|| DoctorError::NoFolder(directory.to_path_buf()))?;
    let free_bytes = disk::free(&directory).unwrap_or(u64::MAX);
    if free_bytes < SPACE_BYTES_MIN {
        return Err(DoctorError::NoSpace {
            directory,
            free_bytes,
        });
    }
    let storage = storage::below(&directory).map_err(DoctorError::Failed)?;
    let folder = leases
        .temporary_in(&directory, "prony-doctor")
        .map_err(failed)?;
    let bench = Bench::prepare(folder.path(), free_bytes, progress)?;
    let (measured, flushed) = bench.measure_all(&storage, began)?;
    let first = &measured[0].1;
    let (mount, disk) = (&storage.mount, storage.disk.as_ref());
    Ok(Findings {
        flushes: flushes::judge(&flushes::Evidence::of(mount, disk, first, flushed)),
        direct: bench.direct()?,
        direct_alignment: storage::direct_alignment(&bench.data_file()),
        atomic_writes: storage::atomic_writes(&bench.data_file()),
        memory_bytes: machine::memory_bytes(),
        data_bytes: bench.data_bytes,
        elapsed: began.elapsed(),
        directory,
        measured,
        storage,
    })
}

fn failed(error: impl std::fmt::Display) -> DoctorError {
    DoctorError::Failed(error.to_string())
}

/// The folder with the files of the probes.
struct Bench<'a> {
    folder: &'a Path,
    data_bytes: u64,
    log_bytes: u64,
    is_direct: bool,
    progress: &'a Progress,
}

impl<'a> Bench<'a> {
    /// Makes the file of the random and sequential operations, as large as a few seconds allow.
    fn prepare(
        folder: &'a Path,
        free_bytes: u64,
        progress: &'a Progress,
    ) -> Result<Bench<'a>, DoctorError> {
        progress.now("writing the file of the probes");
        let mut bench = Bench {
            folder,
            data_bytes: PILOT_BYTES,
            log_bytes: LOG_BYTES_MAX.min(free_bytes / SPACE_SHARE),
            is_direct: true,
            progress,
        };
        let began = Instant::now();
        match bench.make_data() {
            Err(FilesError::NoDirect(_)) => {
                bench.is_direct = false;
                // The failed attempt may have left an empty file.
                std::fs::remove_dir_all(bench.data()).map_err(failed)?;
                bench.make_data().map_err(unmade)?;
            }
            made => made.map_err(unmade)?,
        }
        let affordable = MAKING.as_secs_f64() / began.elapsed().as_secs_f64();
        let affordable = (PILOT_BYTES as f64 * affordable) as u64;
        let bytes = affordable.clamp(DATA_BYTES_MIN, DATA_BYTES_MAX.min(free_bytes / SPACE_SHARE));
        bench.data_bytes = bytes >> 20 << 20;
        std::fs::remove_dir_all(bench.data()).map_err(failed)?;
        bench.make_data().map_err(unmade)?;
        Ok(bench)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The only file of the workload's folder.
    fn data_file(&self) -> PathBuf {
        let mut entries = std::fs::read_dir(self.data()).into_iter().flatten();
        let first = entries.next().and_then(Result::ok);
        first.map_or_else(|| self.data(), |entry| entry.path())
    }

    fn make_data(&self) -> Result<(), FilesError> {
        match PROBES.iter().find(|probe| probe.files == Files::Data) {
            Some(probe) => make(self.workload(probe).as_ref(), &self.data()),
            None => Ok(()),
        }
    }

    fn workload(&self, probe: &Probe) -> Arc<dyn Workload> {
        let keys = probe.section(self.data_bytes, self.log_bytes, self.is_direct);
        workload::open("fileio", &keys).expect("a test opens every probe")
    }

    /// All probes, and how many flushes of the device the first one caused.
    fn measure_all(
        &self,
        storage: &Storage,
        began: Instant,
    ) -> Result<(Vec<Figure>, Option<u64>), DoctorError> {
        let flushes = || {
            storage
                .mount
                .counts()
                .ok()
                .and_then(|counts: DeviceCounts| counts.flushes)
        };
        let (before, mut flushed) = (flushes(), None);
        let mut all = Vec::new();
        for (n, probe) in PROBES.iter().enumerate() {
            let share = share_of_time(&PROBES[n..], began.elapsed());
            all.push((probe, self.measure(probe, probe.time.mul_f64(share))?));
            if all.len() == 1 {
                let pair = before.zip(flushes());
                flushed = pair.map(|(before, after)| after.saturating_sub(before));
            }
        }
        Ok((all, flushed))
    }

    fn measure(&self, probe: &Probe, time: Duration) -> Result<Measured, DoctorError> {
        self.progress.now(&format!("measuring: {}", probe.name));
        let workload = self.workload(probe);
        let folder = match probe.files {
            Files::Data => self.data(),
            Files::Own(name) => {
                let folder = self.folder.join(name);
                make(workload.as_ref(), &folder).map_err(unmade)?;
                folder
            }
        };
        drive(workload.as_ref(), &folder, probe.clients, time)
    }

    /// What the page cache says after the probes.
    fn direct(&self) -> Result<Direct, DoctorError> {
        if !self.is_direct {
            return Ok(Direct::Refused);
        }
        if cold::has_own_cache(&self.data()) {
            return Ok(Direct::Unknown);
        }
        let residency = cold::residency(&self.data()).map_err(failed)?;
        Ok(if residency.shows_cached_io() {
            Direct::Ignored {
                resident_bytes: residency.resident_bytes,
            }
        } else {
            Direct::Works
        })
    }
}

/// The share of their time that these probes get, so that the last one ends within the budget.
fn share_of_time(probes: &[Probe], elapsed: Duration) -> f64 {
    let planned: Duration = probes.iter().map(|probe| probe.time).sum();
    let left = BUDGET.saturating_sub(elapsed);
    (left.as_secs_f64() / planned.as_secs_f64()).clamp(SHARE_MIN, 1.0)
}

fn make(workload: &dyn Workload, folder: &Path) -> Result<(), FilesError> {
    let failed = |cause| FilesError::Failed {
        path: folder.to_path_buf(),
        cause,
    };
    std::fs::create_dir(folder).map_err(failed)?;
    let Some(files) = workload.files() else {
        return Ok(());
    };
    files.make(folder, &|_| (), &interrupt::asked).map(drop)
}

fn unmade(error: FilesError) -> DoctorError {
    match error {
        FilesError::Cancelled => DoctorError::Interrupted,
        other => failed(other),
    }
}

/// Drives the load of a probe. An operation that failed ends the examination: figures without the failed ones would look too good.
fn drive(
    workload: &dyn Workload,
    folder: &Path,
    clients: u32,
    time: Duration,
) -> Result<Measured, DoctorError> {
    let work = workload.work(&Target::Folder(folder.into()), 1);
    let work = work.ok_or_else(|| failed("the workload has no operations"))?;
    let settings = Drive {
        drain_timeout: Some(DRAIN),
        ..Drive::new(Load::closed(clients), time)
    };
    let mut nanoseconds = Histogram::new(3).map_err(failed)?;
    nanoseconds.auto(true);
    let mut unmerged = Ok(());
    let watch = Watch {
        second: &mut |second| {
            if let Err(error) = nanoseconds.add(&second.response) {
                unmerged = Err(failed(error));
            }
        },
        ..Watch::default()
    };
    let stop = AtomicBool::new(false);
    let driven = until_stopped(&stop, |stop| work.driver.drive(&settings, stop, watch));
    let driven = driven.map_err(failed)?;
    unmerged?;
    if interrupt::asked() {
        return Err(DoctorError::Interrupted);
    }
    if let Some(auditor) = work.audit {
        let ended = Ended {
            tallies: &driven.tallies,
            crashes_ns: &[],
        };
        let note = auditor
            .audit(Audited::Folder(folder), &ended)
            .map_err(failed)?;
        let violations = note.map(|note| note.violations).unwrap_or_default();
        if let Some(first) = violations.into_iter().next() {
            return Err(DoctorError::Failed(first));
        }
    }
    Ok(Measured {
        operations: driven.tallies.iter().map(Tally::done).sum(),
        elapsed: driven.elapsed,
        nanoseconds,
    })
}

#[cfg(test)]
mod tests {
    use super::flushes::Verdict;
    use super::*;
    use host::storage::{Disk, DiskKind, WriteCache};

    fn measured(operations: u64, ms: f64) -> Measured {
        let mut nanoseconds = Histogram::new(3).unwrap();
        nanoseconds.record_n((ms * 1e6) as u64, operations).unwrap();
        Measured {
            operations,
            elapsed: Duration::from_secs(2),
            nanoseconds,
        }
    }

    /// Of a disk that never was.
    pub(super) fn findings() -> Findings {
        let operations = [
            300, 4_000, 40_000, 20_000, 90_000, 18_000, 60_000, 1_500, 900,
        ];
        let directory = PathBuf::from("/");
        let line = "36 35 8:0 / / rw,noatime shared:1 - ext4 /dev/vdb rw,discard";
        let mount = host::Mount::parse(line).unwrap();
        Findings {
            storage: Storage {
                mount,
                free_bytes: Some(71_234_000_000),
                disk: Some(Disk {
                    name: "vdb".into(),
                    model: None,
                    kind: DiskKind::Virtual,
                    bytes: Some(270_600_000_000),
                    write_cache: Some(WriteCache::Back),
                    scheduler: Some("mq-deadline".into()),
                    requests: Some(256),
                    logical_block_bytes: Some(512),
                    physical_block_bytes: Some(4_096),
                }),
            },
            memory_bytes: 16 << 30,
            data_bytes: 1 << 30,
            measured: PROBES
                .iter()
                .zip(operations)
                .map(|(probe, operations)| (probe, measured(operations, 2_000.0 / operations as f64)))
                .collect(),
            direct: Direct::Works,
            direct_alignment: Some(512),
            flushes: Flushes {
                verdict: Verdict::Plausible,
                why: "a commit takes 6.667 ms, which a solid-state disk can do; only a power cut can prove it".into(),
            },
            atomic_writes: None,
            elapsed: Duration::from_secs(17),
            directory,
        }
    }

    /// A home with its leases; without a guard, since there is no prony to start.
    fn leases(home: &Path) -> Leases {
        Leases::open_with(&host::Home::at(home).unwrap(), None).unwrap()
    }

    #[test]
    fn probes_are_shorter_where_the_disk_took_long_before() {
        let of = |elapsed_s| share_of_time(&PROBES, Duration::from_secs(elapsed_s));
        assert_eq!([of(0), of(4), of(18)], [1.0, 1.0, SHARE_MIN]);
        let planned: Duration = PROBES.iter().map(|probe| probe.time).sum();
        let after_10_s = planned.mul_f64(of(10)).as_secs_f64();
        assert!((after_10_s - 8.0).abs() < 0.01, "{after_10_s}");
    }

    #[test]
    fn a_path_that_is_no_folder_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let missing = Path::new("/nowhere/at/all");
        let refused = examine(missing, &leases(home.path()), &Progress::silent());
        let says = refused.map(drop).unwrap_err().to_string();
        assert_eq!(
            says,
            "/nowhere/at/all is not a folder; name a folder on the disk"
        );
    }

    #[test]
    fn json_holds_the_figures_of_the_table() {
        let value: serde_json::Value = serde_json::from_str(&json(&findings())).unwrap();
        assert_eq!(value["probes"].as_array().unwrap().len(), PROBES.len());
        assert_eq!(value["probes"][0]["operations_per_s"], 150.0);
        assert_eq!(value["probes"][7]["bytes_per_s"], 750.0 * 1_048_576.0);
        assert_eq!(value["flushes"]["verdict"], "plausible");
        assert_eq!(value["disk"]["write_cache"], "write back");
        assert_eq!(value["atomic_writes"], serde_json::Value::Null);
    }
}
