//! `prony server stop`: stops every `prony server start` process of this home, and waits until it ended.
//!
//! Purpose: never signal another process. A process ID that was reused belongs to a process with another start time.
//! Outside this module: servers of runs and of shells, which end with the run or the shell.

use crate::cli::failure::{Failure, Status, print};
use host::{Home, process};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::Duration;

/// A little longer than a server may take to flush its buffer pool.
const WITHIN: Duration = Duration::from_secs(660);

const FILE: &str = "prony.json";

/// The file in an instance's folder that names its prony process.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    build: String,
    pid: u32,
    start_ticks: u64,
}

impl Note {
    pub(super) fn of_this_prony(build: &str) -> Note {
        let pid = std::process::id();
        Note {
            build: build.to_string(),
            pid,
            start_ticks: process::start_ticks(pid).unwrap_or(0),
        }
    }

    /// # Errors
    /// The file cannot be written, for instance on a full disk.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let file = folder.join(FILE);
        let text = serde_json::to_string(self).map_err(io::Error::other);
        let written = text.and_then(|text| std::fs::write(&file, text));
        written.map_err(|error| {
            Failure::failed(format!(
                "cannot write {}: {error}; free disk space, or set PRONY_HOME to a folder on another disk",
                file.display()
            ))
        })
    }

    /// None if the folder is not an instance, or is just being created or removed.
    fn read(folder: &Path) -> Option<Note> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }
}

pub(super) fn run() -> Result<Status, Failure> {
    let home = Home::from_environment().map_err(Failure::usage)?;
    let notes = notes(&home.work()).map_err(Failure::failed)?;
    let mut stopped = 0;
    for note in &notes {
        if process::end(note.pid, note.start_ticks, WITHIN).map_err(Failure::failed)? {
            print(&format!(
                "stopped {} of prony process {}",
                note.build, note.pid
            ));
            stopped += 1;
        }
    }
    if stopped == 0 {
        print(&format!(
            "no server of `prony server start` runs in {}",
            home.root().display()
        ));
    }
    Ok(Status::Done)
}

fn notes(work: &Path) -> io::Result<Vec<Note>> {
    let entries = std::fs::read_dir(work)?;
    Ok(entries
        .filter_map(|entry| Note::read(&entry.ok()?.path()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_with_a_note_is_an_instance() {
        let work = tempfile::tempdir().unwrap();
        for name in ["server-1", "trial-2"] {
            std::fs::create_dir(work.path().join(name)).unwrap();
        }
        let note = Note::of_this_prony("mariadb");
        note.write(&work.path().join("server-1")).unwrap();
        std::fs::write(work.path().join("trial-2").join(FILE), "{").unwrap();
        assert_eq!(notes(work.path()).unwrap(), [note]);
    }

    #[test]
    fn a_note_that_cannot_be_written_is_named_with_the_way_out() {
        let work = tempfile::tempdir().unwrap();
        let gone = work.path().join("gone");
        let failure = Note::of_this_prony("mariadb").write(&gone).unwrap_err();
        let says = format!("{failure:?}");
        for part in ["gone/prony.json: ", "free disk space, or set PRONY_HOME"] {
            assert!(says.contains(part), "{part}: {says}");
        }
    }
}
