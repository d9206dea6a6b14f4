//! The journal of one prony: what it has made that can outlive it, a line of JSON each, written before the thing is made.
//!
//! Goal: readable after a kill at any moment. Non-goals: surviving a crash of the machine (no process survives that
//! either, and folders are found again by their journal or stay in `work`, where nothing of value lies).
//!
//! A living prony holds the lock on its journal, and the kernel drops the lock when it dies. So a journal whose lock
//! can be had belongs to a dead prony: unlike a process id, that can neither be reused nor mean another process in
//! another container.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line: whose journal it is, and the mark in the environment of every process it starts.
    Prony {
        pid: u32,
        start_ticks: u64,
        mark: String,
    },
    Folder {
        id: u64,
        path: PathBuf,
    },
    /// A control group, which is removed like an empty folder once its processes are gone.
    Group {
        id: u64,
        path: PathBuf,
    },
    Released {
        id: u64,
    },
}

/// What a journal still holds.
#[derive(Debug, Default, PartialEq)]
pub struct Held {
    /// None: the prony died before its first line, and so before it made anything.
    pub mark: Option<String>,
    /// In the order they were leased.
    pub folders: Vec<PathBuf>,
    pub groups: Vec<PathBuf>,
}

/// A new journal, locked. Whoever works off leftovers may take an empty one for a dead prony's and remove it before
/// the lock is had; then it is made again.
pub fn create(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(path)?;
        file.lock()?;
        if is_linked(&file)? {
            return Ok(file);
        }
    }
}

/// The journal with its lock, or None where it is gone or, unless `wait`, its lock is held.
pub fn take(path: &Path, wait: bool) -> io::Result<Option<File>> {
    let file = match OpenOptions::new().append(true).read(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if wait {
        file.lock()?;
    } else {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
    }
    Ok(is_linked(&file)?.then_some(file))
}

/// Appends a line in one write. It begins with a line feed too, so that one torn before it (a full disk) stays alone.
pub fn append(mut file: &File, line: &Line) -> io::Result<()> {
    let json = serde_json::to_string(line).map_err(io::Error::other)?;
    file.write_all(format!("\n{json}\n").as_bytes())
}

/// What is leased and not released. A line that a kill has torn is passed over: what it would have told was not made yet.
pub fn read(mut file: &File) -> io::Result<Held> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let mut mark = None;
    let mut folders: Vec<(u64, PathBuf)> = Vec::new();
    let mut groups: Vec<(u64, PathBuf)> = Vec::new();
    for line in text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
    {
        match line {
            Line::Prony { mark: own, .. } => mark = Some(own),
            Line::Folder { id, path } => folders.push((id, path)),
            Line::Group { id, path } => groups.push((id, path)),
            Line::Released { id } => {
                folders.retain(|(held, _)| *held != id);
                groups.retain(|(held, _)| *held != id);
            }
        }
    }
    let paths = |held: Vec<(u64, PathBuf)>| held.into_iter().map(|(_, path)| path).collect();
    Ok(Held {
        mark,
        folders: paths(folders),
        groups: paths(groups),
    })
}

fn is_linked(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(id: u64, path: &str) -> Line {
        Line::Folder {
            id,
            path: path.into(),
        }
    }

    #[test]
    fn a_journal_tells_what_is_leased_and_not_released() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("1-2.journal");
        let file = create(&path).unwrap();
        append(
            &file,
            &Line::Prony {
                pid: 1,
                start_ticks: 2,
                mark: "m".into(),
            },
        )
        .unwrap();
        append(&file, &folder(1, "/a")).unwrap();
        append(&file, &folder(2, "/b")).unwrap();
        let group = Line::Group {
            id: 3,
            path: "/g".into(),
        };
        append(&file, &group).unwrap();
        append(&file, &Line::Released { id: 1 }).unwrap();
        drop(file);
        let held = read(&take(&path, false).unwrap().unwrap()).unwrap();
        assert_eq!(
            held,
            Held {
                mark: Some("m".into()),
                folders: vec!["/b".into()],
                groups: vec!["/g".into()],
            }
        );
    }

    #[test]
    fn a_torn_line_hides_neither_the_lines_before_nor_after_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let mut file = create(&path).unwrap();
        append(&file, &folder(1, "/a")).unwrap();
        file.write_all(b"\n{\"folder\":{\"id\":2,\"pa").unwrap();
        append(&file, &folder(3, "/c")).unwrap();
        drop(file);
        let held = read(&take(&path, false).unwrap().unwrap()).unwrap();
        assert_eq!(held.folders, [PathBuf::from("/a"), PathBuf::from("/c")]);
    }

    #[test]
    fn the_journal_of_a_living_prony_cannot_be_taken() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let file = create(&path).unwrap();
        assert!(take(&path, false).unwrap().is_none());
        drop(file);
        assert!(take(&path, false).unwrap().is_some());
    }
}
