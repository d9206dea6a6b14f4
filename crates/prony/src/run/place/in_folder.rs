//! An empty folder as the place of a trial, for workloads that need no server.
//!
//! The workload's files are made in it before the first load. Whether all their bytes are on disk is checked with the file system.

use crate::run::Progress;
use host::{Lease, disk, extents, interrupt};
use observe::{Prepared, Targets};
use record::{FlagKind, Trial};
use server::ServerError;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::{Files, Workload};

/// A leased folder, removed with the place.
pub(crate) struct FolderPlace {
    data: PathBuf,
    workload: Arc<dyn Workload>,
    _lease: Lease,
}

impl FolderPlace {
    pub(crate) fn new(workload: Arc<dyn Workload>, lease: Lease) -> FolderPlace {
        FolderPlace {
            data: lease.path().join("data"),
            workload,
            _lease: lease,
        }
    }

    /// Creates the folder with its files, unless an earlier trial of the series did.
    pub(crate) fn prepare(
        &self,
        trial: &mut Trial,
        progress: &Progress,
    ) -> Result<(), ServerError> {
        if self.data.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.data).map_err(|error| {
            ServerError::Unusable(format!("cannot create {}: {error}", self.data.display()))
        })?;
        match self.workload.files() {
            Some(files) => self.make(files, trial, progress),
            None => Ok(()),
        }
    }

    fn make(
        &self,
        files: &dyn Files,
        trial: &mut Trial,
        progress: &Progress,
    ) -> Result<(), ServerError> {
        self.has_space(files.bytes())?;
        let shown = |bytes| {
            let (done, all) = (disk::shown(bytes), disk::shown(files.bytes()));
            progress.now(&format!("writing the files: {done} of {all}"));
        };
        let made = files.make(&self.data, &shown, &interrupt::asked);
        let made = made.map_err(|error| ServerError::Unusable(error.to_string()))?;
        trial.data_bytes = files.bytes();
        for path in made.iter().filter(|_| files.are_written()) {
            check_extents(path, trial).map_err(|error| {
                ServerError::Unusable(format!("cannot read {}: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    /// # Errors
    /// The disk has too little space for the files.
    fn has_space(&self, needed_bytes: u64) -> Result<(), ServerError> {
        let free_bytes = disk::free(&self.data).unwrap_or(u64::MAX);
        if needed_bytes < free_bytes {
            return Ok(());
        }
        Err(ServerError::Unusable(format!(
            "the files need {}, but {} has only {} free; use a smaller size, or another folder",
            disk::shown(needed_bytes),
            self.data.display(),
            disk::shown(free_bytes)
        )))
    }

    /// The folder of the workload's files.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// The sampler of the machine and of the folder's disk.
    pub(crate) fn prepare_sampler(&self) -> Result<Prepared, ServerError> {
        Prepared::new(Targets {
            data_folder: Some(self.data.clone()),
            ..Targets::default()
        })
    }
}

/// Flags a file of which the file system says that parts were never written, although they were. File systems without extents say nothing.
fn check_extents(path: &Path, trial: &mut Trial) -> io::Result<()> {
    let file = File::open(path)?;
    let extents = match extents::of(&file) {
        Ok(extents) => extents,
        Err(error) if is_unknown(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    let holes_bytes = file.metadata()?.len().saturating_sub(extents.mapped_bytes);
    for (bytes, what) in [
        (extents.unwritten_bytes, "in unwritten extents"),
        (holes_bytes, "without a block on disk"),
    ] {
        if bytes > 0 {
            let (name, size) = (path.display(), disk::shown(bytes));
            let says = format!("{name} has {size} {what}, although every byte was written");
            trial.invalidate(FlagKind::TrialFailed, says);
        }
    }
    Ok(())
}

fn is_unknown(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput
    ) || error.raw_os_error() == Some(rustix::io::Errno::NOTTY.raw_os_error())
}
