//! The recordings of volatile disks that a run keeps: the writes and flushes of a trial, and the image that they began with.
//!
//! Purpose: their place in the run's folder. Outside this module: making them (`host::volume`), replaying them (`cli::crash`).

use super::folder::log_name;
use record::TrialKey;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of one trial's recording, as it is made or as it is kept.
pub(crate) struct Recording {
    pub trace: PathBuf,
    pub image: PathBuf,
}

impl Recording {
    /// The files of a trial; `logs` is the run's folder for logs, beside which the recordings are.
    pub(crate) fn of(logs: &Path, key: &TrialKey) -> Recording {
        let name = log_name(key);
        let name = name.strip_suffix(".log").unwrap_or(&name);
        let folder = logs.with_file_name("disks");
        Recording {
            trace: folder.join(format!("{name}.trace")),
            image: folder.join(format!("{name}.img")),
        }
    }

    /// Copies a recording to this place. A trial that is measured again replaces its earlier one.
    pub(crate) fn keep(&self, made: &Recording) -> io::Result<()> {
        if let Some(folder) = self.trace.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&made.trace, &self.trace)?;
        match fs::remove_file(&self.image) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        host::clone::sparse(&made.image, &self.image)
    }
}
