//! The volumes of a trial's data directory, of its redo log, or of its files, from `[host]`.
//!
//! Purpose: refuse a volume that this machine cannot have before any data is loaded, and make it as the file says. Outside this
//! module: how a volume works (`host::volume`), when its power is cut (`event::power_cut`).

use crate::lock;
use crate::run::RunError;
use crate::run::machine::redo_log;
use crate::run::results::recording::Recording;
use host::volume::{self, DiskOptions, Filesystem, Survive, Volume, VolumeError, VolumeOptions};
use host::{Leases, disk};
use record::event::POWER_CUT;
use record::{Flag, FlagKind};
use server::ServerError;
use spec::listed;
use spec::plan::PlannedTrial;
use spec::{DiskSpec, Experiment, FilesystemSpec, HostPatch, Requested, VolumeSpec};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// The space that a volume has beside several times its data: logs grow. The image is sparse, so only what is written takes space.
const BESIDE_DATA_BYTES: u64 = 8 << 30;
const TIMES_DATA: u64 = 4;
/// The same for files that keep their size: metadata, the journal and the scratch file of a limit's measurement.
const BESIDE_FILES_BYTES: u64 = 1 << 30;

/// The folders of the volumes in a trial's folder.
pub(crate) const DATA: &str = "volume";
pub(crate) const REDO: &str = "redo-volume";

/// A mounted volume that a trial and its events share.
#[derive(Clone)]
pub(crate) struct SharedVolume {
    volume: Arc<Mutex<Volume>>,
    /// The cut that ended the load, until the power is back.
    due: Arc<Mutex<Option<Cut>>>,
    root: PathBuf,
}

/// What survives a power cut.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) survive: Survive,
    pub(crate) seed: u64,
}

/// What a power cut did: a clause for the event's text, and numbers by names that end in their unit.
pub(crate) struct Lost {
    pub(crate) says: String,
    pub(crate) numbers: [(String, f64); 4],
}

impl SharedVolume {
    fn from_volume(volume: Volume) -> SharedVolume {
        SharedVolume {
            root: volume.data(),
            volume: Arc::new(Mutex::new(volume)),
            due: Arc::default(),
        }
    }

    /// Takes the power away: every request fails from now on.
    pub(crate) fn freeze(&self) -> Result<(), VolumeError> {
        self.lock().freeze().map(drop)
    }

    /// Brings the power back. Nothing uses the volume any more.
    pub(crate) fn cut(&self, cut: Cut) -> Result<Lost, VolumeError> {
        let began = Instant::now();
        let lost = self.lock().cut(cut.survive, cut.seed)?;
        Ok(Lost {
            says: format!(
                "power cut with survive = \"{}\" and seed {}: {} of {} unsynced bytes survived",
                cut.survive.name(),
                cut.seed,
                lost.survived_bytes,
                lost.unsynced_bytes
            ),
            numbers: [
                ("seed".into(), cut.seed as f64),
                ("unsynced_bytes".into(), lost.unsynced_bytes as f64),
                ("survived_bytes".into(), lost.survived_bytes as f64),
                ("mount_s".into(), began.elapsed().as_secs_f64()),
            ],
        })
    }

    /// Takes the power away until [`SharedVolume::power_back`].
    pub(crate) fn end_with(&self, cut: Cut) -> Result<(), VolumeError> {
        *lock(&self.due) = Some(cut);
        self.freeze()
    }

    /// Brings the power back if [`SharedVolume::end_with`] took it away.
    pub(crate) fn power_back(&self) -> Result<Option<Lost>, VolumeError> {
        let due = lock(&self.due).take();
        due.map(|cut| self.cut(cut)).transpose()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Volume> {
        lock(&self.volume)
    }

    /// The folder for the server on it.
    pub(crate) fn data(&self) -> PathBuf {
        data_in(&self.root)
    }
}

/// What a power cut works with: the volume, and the block of the trial, which varies the seed.
#[derive(Clone)]
pub struct Power {
    pub(crate) volume: SharedVolume,
    pub(crate) block: u32,
}

impl Power {
    /// The power of a mounted volume.
    pub fn new(volume: Volume, block: u32) -> Power {
        let volume = SharedVolume::from_volume(volume);
        Power { volume, block }
    }
}

/// The data directory is not the root of the file system, where ext4 has its lost+found.
fn data_in(root: &Path) -> PathBuf {
    root.join("data")
}

/// Checks every planned volume, and that every planned power cut has one.
///
/// # Errors
/// A volume of a server that prony does not start, a power cut without a volatile volume, or a machine that cannot have the volume.
pub(crate) fn check(
    experiment: &Experiment,
    trials: &[PlannedTrial],
    allow_device_write: bool,
) -> Result<(), RunError> {
    let mut checked: Vec<&VolumeSpec> = Vec::new();
    for trial in trials {
        let mistake = |of: Requested, says: String, help: &str| {
            RunError::from(of.mistake(experiment, &trial.key, says, help.to_string()))
        };
        goes_together(trial, &mistake)?;
        let volumes = [
            (Requested::Volume, trial.host.volume()),
            (Requested::RedoVolume, trial.host.redo_volume()),
        ];
        let planned = volumes.into_iter().filter_map(|(of, one)| Some((of, one?)));
        for (of, planned) in planned {
            let own = trial.server.as_ref();
            if own.is_some_and(|server| !server.build.is_managed()) {
                return Err(mistake(
                    of,
                    format!(
                        "prony does not start the server \"{}\", so its data cannot be placed on a volume",
                        trial.server_name()
                    ),
                    "exclude it from the trials with a volume (only = { server = [...] }), or remove the volume",
                ));
            }
            if let Some(device) = planned.device().filter(|_| !allow_device_write) {
                return Err(mistake(
                    of,
                    format!("the volume overwrites everything on {}", device.display()),
                    "allow it with --allow-device-write, or write kind = \"loop\"",
                ));
            }
            if !checked.contains(&planned) {
                let possible = volume::check(&options(planned, None));
                possible.map_err(|error| match error {
                    VolumeError::NoMkfs { .. } | VolumeError::InUse { .. } => {
                        mistake(of, error.to_string(), "")
                    }
                    error => RunError::Failed(error.to_string()),
                })?;
                checked.push(planned);
            }
        }
    }
    Ok(())
}

/// Makes an error at the key of a trial: its cause, and the way out.
type Mistaken<'m> = &'m dyn Fn(Requested, String, &str) -> RunError;

/// What the file requests of `[host]` beside other keys.
fn goes_together(trial: &PlannedTrial, mistake: Mistaken) -> Result<(), RunError> {
    if let Some(directory) = trial.host.directory() {
        check_directory(trial, directory, mistake)?;
    }
    let is_volatile = trial.host.volume().is_some_and(VolumeSpec::is_volatile);
    if !is_volatile && trial.events.iter().any(|event| event.kind == POWER_CUT) {
        return Err(RunError::Usage(format!(
            "{}: a \"{POWER_CUT}\" event requires a volatile volume; write volume = {{ kind = \"volatile\" }} in [host], or exclude the trial with \"only\" in the event",
            trial.key
        )));
    }
    if trial.host.redo_volume().is_none() {
        return Ok(());
    }
    if is_volatile {
        return Err(mistake(
            Requested::RedoVolume,
            "a redo log on a volume of its own would survive a power cut of the data's volume"
                .to_string(),
            "remove redo_volume, or write volume = { kind = \"loop\" }",
        ));
    }
    if places_redo_log(trial) {
        return Err(mistake(
            Requested::RedoVolume,
            format!(
                "both redo_volume and the setting {} place the redo log",
                redo_log::PLACE
            ),
            "remove one of them",
        ));
    }
    Ok(())
}

/// A folder of the user is for workloads without a server, whose files lie in a new folder in it.
fn check_directory(
    trial: &PlannedTrial,
    directory: &Path,
    mistake: Mistaken,
) -> Result<(), RunError> {
    if trial.server.is_some() {
        return Err(mistake(
            Requested::Directory,
            "\"directory\" is for workloads without a server, such as fileio".to_string(),
            "remove it, or set PRONY_HOME to place the data of servers on another disk",
        ));
    }
    match directory.is_dir() {
        true => Ok(()),
        false => Err(mistake(
            Requested::Directory,
            format!(
                "directory {} in [host] is not a folder; create it, or name another one",
                directory.display()
            ),
            "",
        )),
    }
}

fn places_redo_log(trial: &PlannedTrial) -> bool {
    let mut names = trial.settings.iter().map(|(name, _)| listed(name));
    names.any(|name| name == redo_log::PLACE)
}

fn options(planned: &VolumeSpec, recording: Option<PathBuf>) -> VolumeOptions {
    let filesystem = match planned.filesystem {
        FilesystemSpec::Ext4 => Filesystem::Ext4,
        FilesystemSpec::Xfs => Filesystem::Xfs,
    };
    let volatile = planned.volatile().map(|volatile| DiskOptions {
        lies: volatile.lies,
        slow_flush: volatile.slow_flush,
        recording: recording.filter(|_| volatile.log),
    });
    VolumeOptions {
        filesystem,
        mount_options: planned.mount_options.clone(),
        device: planned.device().map(Path::to_path_buf),
        volatile,
        is_written: false,
    }
}

/// Makes the volume `name` in a trial's folder. `fill` creates the folder for the server on it; a snapshot of the data shows how large it
/// may become.
pub(crate) fn make(
    planned: &VolumeSpec,
    snapshot: &Path,
    folder: &Path,
    name: &str,
    leases: &Leases,
    fill: impl FnOnce(&Path) -> Result<(), ServerError>,
) -> Result<SharedVolume, ServerError> {
    let unusable = |error: &dyn std::fmt::Display| ServerError::Unusable(error.to_string());
    let data_bytes = disk::used(snapshot).map_err(|error| unusable(&error))?;
    let bytes = BESIDE_DATA_BYTES + TIMES_DATA * data_bytes;
    let options = options(planned, Some(recording_in(folder)));
    let place = folder.join(name);
    let made = Volume::make(options, bytes, &place, leases, |root| {
        fill(&data_in(root)).map_err(|error| error.to_string())
    });
    made.map(SharedVolume::from_volume)
        .map_err(|error| unusable(&error))
}

/// Makes the volume of a workload's files in a trial's folder, with an empty folder for them. `is_written`: every byte of its image is
/// written first.
pub(crate) fn make_empty(
    planned: &VolumeSpec,
    files_bytes: u64,
    is_written: bool,
    folder: &Path,
    leases: &Leases,
) -> Result<SharedVolume, ServerError> {
    let options = VolumeOptions {
        is_written,
        ..options(planned, Some(recording_in(folder)))
    };
    // A tenth for the metadata of large files.
    let bytes = BESIDE_FILES_BYTES + files_bytes + files_bytes / 10;
    let made = Volume::make(options, bytes, &folder.join(DATA), leases, |root| {
        std::fs::create_dir(data_in(root)).map_err(|error| error.to_string())
    });
    made.map(SharedVolume::from_volume)
        .map_err(|error| ServerError::Unusable(error.to_string()))
}

fn recording_in(folder: &Path) -> PathBuf {
    folder.join("disk.trace")
}

/// The recording of a volume in a trial's folder. None if it is not recorded.
pub(crate) fn recording(planned: &VolumeSpec, folder: &Path) -> Option<Recording> {
    planned.volatile().filter(|volatile| volatile.log)?;
    Some(Recording {
        trace: recording_in(folder),
        image: volume::recorded_from(&folder.join(DATA)),
    })
}

/// What a reader of the trial's figures has to know.
pub(crate) fn flags(planned: &HostPatch) -> impl Iterator<Item = Flag> {
    let on_loop = |volume: &&VolumeSpec| volume.disk == DiskSpec::Loop;
    let redo = planned.redo_volume().filter(on_loop).map(|_| Flag {
        kind: FlagKind::LoopVolume,
        text: "the redo log lay on a file system of its own on a loop device".into(),
    });
    planned.volume().and_then(flag).into_iter().chain(redo)
}

fn flag(planned: &VolumeSpec) -> Option<Flag> {
    let (kind, text) = match planned.disk {
        DiskSpec::Volatile(_) => (
            FlagKind::VolatileVolume,
            "the data lay on a volatile volume, which is served by a process: its throughput and latency say nothing about a real disk and are not compared",
        ),
        DiskSpec::Loop => (
            FlagKind::LoopVolume,
            "the data lay on a file system of its own on a loop device",
        ),
        DiskSpec::Device(_) => return None,
    };
    Some(Flag {
        kind,
        text: text.into(),
    })
}
