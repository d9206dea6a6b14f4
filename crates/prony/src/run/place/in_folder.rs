//! An empty folder as the place of a trial, for workloads that need no server.

use host::Lease;
use observe::{Prepared, Targets};
use server::ServerError;
use std::path::{Path, PathBuf};

/// A leased folder, removed with the place.
pub(crate) struct FolderPlace {
    data: PathBuf,
    _lease: Lease,
}

impl FolderPlace {
    pub(crate) fn new(lease: Lease) -> FolderPlace {
        FolderPlace {
            data: lease.path().join("data"),
            _lease: lease,
        }
    }

    /// Creates the folder.
    pub(crate) fn prepare(&self) -> Result<(), ServerError> {
        std::fs::create_dir_all(&self.data).map_err(|error| {
            ServerError::Unusable(format!("cannot create {}: {error}", self.data.display()))
        })
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
