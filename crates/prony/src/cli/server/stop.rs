//! `prony server stop`: asks every prony of `prony server start` in this home to end, and waits.
//!
//! Goal: no other process is ever signalled: a number that was given to another process since has another time of start.
//! Non-goals: servers of runs and of shells, which end with what they were started for.

use crate::cli::failure::{Failure, Status, print};
use host::{Home, process};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::Duration;

/// A little longer than a server may take to write what its pool holds.
const WITHIN: Duration = Duration::from_secs(660);

const FILE: &str = "prony.json";

/// Beside an instance: whose it is.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    build: String,
    pid: u32,
    start_ticks: u64,
}

impl Note {
    pub fn of_this_prony(build: &str) -> Note {
        let pid = std::process::id();
        Note {
            build: build.to_string(),
            pid,
            start_ticks: process::start_ticks(pid).unwrap_or(0),
        }
    }

    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        std::fs::write(folder.join(FILE), text)
    }

    /// None where the folder is something else's, or is being made or removed just now.
    fn read(folder: &Path) -> Option<Note> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }
}

pub fn run() -> Result<Status, Failure> {
    let home = Home::from_environment().map_err(Failure::asked)?;
    let notes = notes(&home.work()).map_err(Failure::failed)?;
    let mut stopped = 0;
    for note in &notes {
        if process::end(note.pid, note.start_ticks, WITHIN).map_err(Failure::failed)? {
            print(&format!("{} of prony {} is stopped", note.build, note.pid));
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
    fn only_folders_with_a_note_are_instances() {
        let work = tempfile::tempdir().unwrap();
        for name in ["server-1", "trial-2"] {
            std::fs::create_dir(work.path().join(name)).unwrap();
        }
        let note = Note::of_this_prony("mariadb");
        note.write(&work.path().join("server-1")).unwrap();
        std::fs::write(work.path().join("trial-2").join(FILE), "{").unwrap();
        assert_eq!(notes(work.path()).unwrap(), [note]);
    }
}
