//! The journal of one prony process: its leases, a line of JSON each, written before the thing is made.
//!
//! It is readable after a kill at any moment. It need not survive a crash of the machine: no process survives that
//! either, and folders are found again by their journal or stay in `work`, which holds nothing of value.
//!
//! A living prony holds the lock on its journal, and the kernel drops the lock when it dies. So a journal that is not
//! locked belongs to a dead prony: unlike a process id, a lock cannot be reused or mean another process in another
//! container.

use super::kind::LeaseKind;
use crate::exposed::Exposed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first line: whose journal it is, and the mark in the environment of every process it starts.
    Prony {
        pid: u32,
        start_ticks: u64,
        mark: String,
    },
    Released {
        id: u64,
    },
    /// `{"folder": {"id": 1, "path": "/x"}}`, in the same form since the first version, so that an older and a newer
    /// prony of one home clean up after each other.
    #[serde(untagged)]
    Leased(BTreeMap<LeaseKind, LeasedPath>),
}

impl Line {
    /// The line of a new lease.
    pub(crate) fn leased(id: u64, kind: LeaseKind, path: PathBuf) -> Line {
        Line::Leased(BTreeMap::from([(kind, LeasedPath { id, path })]))
    }
}

/// A lease's number, and where the thing is.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LeasedPath {
    id: u64,
    path: PathBuf,
}

/// What a journal still holds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Held {
    /// None: the prony died before its first line, and so before it made anything.
    pub mark: Option<String>,
    /// In the order they were leased.
    leases: Vec<HeldLease>,
}

/// A lease that is not released.
#[derive(Debug, PartialEq)]
pub(crate) struct HeldLease {
    id: u64,
    pub kind: LeaseKind,
    pub path: PathBuf,
}

impl Held {
    /// Kind after kind; within a kind the last leased first, since it may lie in an earlier one.
    pub(crate) fn in_teardown_order(&self) -> impl Iterator<Item = &HeldLease> {
        let mut leases: Vec<&HeldLease> = self.leases.iter().rev().collect();
        leases.sort_by_key(|lease| lease.kind);
        leases.into_iter()
    }
}

/// Creates a journal and locks it. A cleanup may take an empty one for a dead prony's and remove it before it is locked;
/// then it is created again.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(path)?;
        file.lock()?;
        if is_linked(&file)? {
            return Ok(file);
        }
    }
}

/// The journal with its lock, or None if it is gone or, unless `wait`, its lock is held.
///
/// # Errors
/// It cannot be read, or another user can have written it.
pub(crate) fn take(path: &Path, wait: bool) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.append(true).read(true);
    let file = match options.custom_flags(libc::O_NOFOLLOW).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if let Some(how) = Exposed::from_metadata(&file.metadata()?) {
        return Err(io::Error::other(format!(
            "the journal {how}, so nothing that it names is removed; delete it"
        )));
    }
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
pub(crate) fn append(mut file: &File, line: &Line) -> io::Result<()> {
    let json = serde_json::to_string(line).map_err(io::Error::other)?;
    file.write_all(format!("\n{json}\n").as_bytes())
}

/// What is leased and not released. Skips a line that a kill has torn: what it announces was not made yet.
pub(crate) fn read(mut file: &File) -> io::Result<Held> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let mut held = Held::default();
    for line in text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
    {
        match line {
            Line::Prony { mark, .. } => held.mark = Some(mark),
            Line::Released { id } => held.leases.retain(|lease| lease.id != id),
            Line::Leased(leased) => {
                let leased = leased.into_iter();
                held.leases
                    .extend(leased.map(|(kind, LeasedPath { id, path })| HeldLease {
                        id,
                        kind,
                        path,
                    }));
            }
        }
    }
    Ok(held)
}

fn is_linked(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(id: u64, path: &str) -> Line {
        Line::leased(id, LeaseKind::Folder, path.into())
    }

    /// The paths of what is held, in teardown order.
    fn paths(held: &Held) -> Vec<&str> {
        let leases = held.in_teardown_order();
        leases.map(|lease| lease.path.to_str().unwrap()).collect()
    }

    #[test]
    fn what_is_held_is_torn_down_by_kind_and_the_last_leased_first() {
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
        for line in [
            folder(1, "/a"),
            Line::leased(2, LeaseKind::Mount, "/a/m".into()),
            folder(3, "/b"),
            Line::leased(4, LeaseKind::Group, "/g".into()),
            Line::leased(5, LeaseKind::Mount, "/a/m/n".into()),
            folder(6, "/c"),
            Line::Released { id: 3 },
        ] {
            append(&file, &line).unwrap();
        }
        drop(file);
        let held = read(&take(&path, false).unwrap().unwrap()).unwrap();
        assert_eq!(held.mark.as_deref(), Some("m"));
        assert_eq!(paths(&held), ["/a/m/n", "/a/m", "/g", "/c", "/a"]);
    }

    #[test]
    fn a_journal_of_the_first_version_is_read() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let text = "\n{\"prony\":{\"pid\":1,\"start_ticks\":2,\"mark\":\"m\"}}\n\
                    \n{\"folder\":{\"id\":1,\"path\":\"/a\"}}\n\n{\"group\":{\"id\":2,\"path\":\"/g\"}}\n\
                    \n{\"folder\":{\"id\":3,\"path\":\"/b\"}}\n\n{\"released\":{\"id\":1}}\n";
        std::fs::write(&path, text).unwrap();
        let held = read(&take(&path, false).unwrap().unwrap()).unwrap();
        assert_eq!(held.mark.as_deref(), Some("m"));
        assert_eq!(paths(&held), ["/g", "/b"]);
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
        assert_eq!(paths(&held), ["/c", "/a"]);
    }

    #[test]
    fn a_journal_that_others_can_write_is_not_read() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let place = tempfile::tempdir().unwrap();
        let (path, link) = (
            place.path().join("a.journal"),
            place.path().join("b.journal"),
        );
        let file = create(&path).unwrap();
        symlink(&path, &link).unwrap();
        assert!(take(&link, false).is_err(), "a link");
        file.set_permissions(std::fs::Permissions::from_mode(0o666))
            .unwrap();
        drop(file);
        let refused = take(&path, false).unwrap_err().to_string();
        assert!(
            refused.contains("can be changed by other users (mode 0666)"),
            "{refused}"
        );
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
