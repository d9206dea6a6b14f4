//! Where the data and the redo log of a trial's server, or the files of a workload, lie: in the trial's folder, or on volumes of their own.
//!
//! Purpose: copy the snapshot to its place, or make an empty one. Outside this module: how a volume is made (`run::machine::volume`).

use crate::run::machine::redo_log;
use crate::run::machine::volume::{self, Lost, Power, SharedVolume};
use crate::run::results::recording::Recording;
use host::{Leases, clone};
use server::ServerError;
use spec::HostPatch;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Filled once. The volumes are unmounted before the folder is removed.
pub(super) struct Disks {
    folder: PathBuf,
    data: OnceLock<SharedVolume>,
    redo: OnceLock<SharedVolume>,
}

impl Disks {
    /// Below the trial's folder, without volumes.
    pub(super) fn below(folder: &Path) -> Disks {
        Disks {
            folder: folder.to_path_buf(),
            data: OnceLock::new(),
            redo: OnceLock::new(),
        }
    }

    /// The data directory.
    pub(super) fn data(&self) -> PathBuf {
        match self.data.get() {
            Some(volume) => volume.data(),
            None => self.folder.join("data"),
        }
    }

    /// The data directory of a node, from 1. Those of further nodes lie beside the first one's.
    pub(super) fn data_of(&self, node: u32) -> PathBuf {
        match node {
            1 => self.data(),
            _ => self.folder.join(format!("data{node}")),
        }
    }

    /// Copies the snapshot for a further node, or makes an empty directory.
    pub(super) fn fill_further(
        &self,
        node: u32,
        snapshot: Option<&Path>,
    ) -> Result<(), ServerError> {
        let data = self.data_of(node);
        match snapshot {
            Some(snapshot) => copy(snapshot, &data, false),
            None => std::fs::create_dir_all(&data)
                .map_err(|error| unusable("cannot create a data directory", &error)),
        }
    }

    /// The folder of the redo log, if it has a volume of its own.
    pub(super) fn redo(&self) -> Option<PathBuf> {
        self.redo.get().map(SharedVolume::data)
    }

    /// Makes the planned volumes and copies the snapshot there. `without_redo_log`: the server makes one of another size.
    pub(super) fn fill(
        &self,
        snapshot: &Path,
        planned: &HostPatch,
        without_redo_log: bool,
        leases: &Leases,
    ) -> Result<(), ServerError> {
        std::fs::create_dir_all(&self.folder).map_err(|error| {
            ServerError::Unusable(format!("cannot write {}: {error}", self.folder.display()))
        })?;
        let make = |planned, name, fill: &dyn Fn(&Path) -> Result<(), ServerError>| {
            volume::make(planned, snapshot, &self.folder, name, leases, fill)
        };
        let copy = |data: &Path| copy(snapshot, data, without_redo_log);
        match planned.volume() {
            Some(volume) => {
                let _ = self.data.set(make(volume, volume::DATA, &copy)?);
            }
            None => copy(&self.folder.join("data"))?,
        }
        if let Some(volume) = planned.redo_volume() {
            let data = self.data();
            let relocate = |redo: &Path| {
                let moved = redo_log::relocate(&data, redo);
                moved.map_err(|error| unusable("cannot move the redo log", &error))
            };
            let _ = self.redo.set(make(volume, volume::REDO, &relocate)?);
        }
        Ok(())
    }

    /// Makes the planned volume, if there is one, and an empty folder for files of so many bytes. `is_written`: their blocks are on
    /// disk below the volume before the files are made.
    pub(super) fn make_empty(
        &self,
        planned: &HostPatch,
        files_bytes: u64,
        is_written: bool,
        leases: &Leases,
    ) -> Result<(), ServerError> {
        match planned.volume() {
            Some(volume) => {
                let made =
                    volume::make_empty(volume, files_bytes, is_written, &self.folder, leases)?;
                let _ = self.data.set(made);
                Ok(())
            }
            None => std::fs::create_dir_all(self.data())
                .map_err(|error| unusable("cannot create the folder of the files", &error)),
        }
    }

    /// What a power cut takes away.
    pub(super) fn power(&self, block: u32) -> Option<Power> {
        let volume = self.data.get()?.clone();
        Some(Power { volume, block })
    }

    /// Brings the power back after a cut that ended a load. None: there was none.
    pub(super) fn power_back(&self) -> Result<Option<Lost>, ServerError> {
        let back = self.data.get().map(SharedVolume::power_back);
        let back = back.transpose().map(Option::flatten);
        back.map_err(|error| ServerError::Unusable(error.to_string()))
    }

    /// The recording of the disk.
    pub(super) fn recording(&self, planned: &HostPatch) -> Option<Recording> {
        volume::recording(planned.volume()?, &self.folder)
    }

    /// How the process of a volatile disk ended; None while it runs.
    pub(super) fn broken(&self) -> Option<String> {
        self.data.get()?.lock().broken()
    }
}

fn copy(snapshot: &Path, data: &Path, without_redo_log: bool) -> Result<(), ServerError> {
    clone::folder(snapshot, data).map_err(|error| unusable("cannot copy the snapshot", &error))?;
    if without_redo_log {
        redo_log::remove(data).map_err(|error| unusable("cannot change the redo log", &error))?;
    }
    Ok(())
}

fn unusable(what: &str, error: &dyn std::fmt::Display) -> ServerError {
    ServerError::Unusable(format!("{what}: {error}"))
}
