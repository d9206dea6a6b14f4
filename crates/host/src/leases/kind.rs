//! What a lease can hold, and how each kind is released.
//!
//! A new kind is one variant and one release function. Processes have no kind: they carry the journal's mark and are
//! killed before anything is released. Making leases is the job of `leases`, releasing those of a dead prony that of
//! `leftovers`.

use crate::storage::device::mounts;
use crate::storage::loops;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a lease can hold. The variants are in teardown order: everything of one kind is released before anything of the
/// next. Daemons of FUSE file systems carry the mark, so they are dead by then, and the kernel fails what waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeaseKind {
    /// A mount point.
    Mount,
    /// The loop devices over the file at this path.
    Loop,
    /// The mount point of a volatile disk's FUSE file system.
    Disk,
    /// A control group.
    Group,
    /// The file of a named network namespace, which ends with all its interfaces.
    Namespace,
    /// A folder with everything in it.
    Folder,
}

impl LeaseKind {
    /// Releases what is at this path. Does nothing where it is gone already.
    pub(crate) fn release(self, path: &Path) -> io::Result<()> {
        let (what, released) = match self {
            LeaseKind::Mount | LeaseKind::Disk => ("unmount", unmount(path)),
            LeaseKind::Loop => ("detach the loop device from", loops::detach(path)),
            LeaseKind::Group => ("remove the control group", remove_group(path)),
            LeaseKind::Namespace => ("remove the network namespace", remove_namespace(path)),
            LeaseKind::Folder => ("remove", remove_folder(path)),
        };
        match released {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("cannot {what} {}: {error}", path.display()),
            )),
            Ok(()) => Ok(()),
        }
    }
}

/// How long something may stay busy: the parents of killed processes have to collect them.
const IDLE_WITHIN: Duration = Duration::from_secs(10);

fn until_idle(attempt: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(error)
                if error.kind() == ErrorKind::ResourceBusy && began.elapsed() < IDLE_WITHIN =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

fn remove_group(group: &Path) -> io::Result<()> {
    until_idle(|| fs::remove_dir(group))
}

/// The file is a mount point (ip-netns(8)). Without it the namespace lives as long as a process in it, and those are killed by then.
fn remove_namespace(file: &Path) -> io::Result<()> {
    fs::symlink_metadata(file)?;
    unmount(file)?;
    fs::remove_file(file)
}

/// A mount that stays busy is detached: its path is free at once, and the kernel drops it with its last user.
fn unmount(point: &Path) -> io::Result<()> {
    let c_point = CString::new(point.as_os_str().as_bytes())?;
    let unmount = |flags| {
        // SAFETY: a path that ends with a zero byte, and flags.
        match unsafe { libc::umount2(c_point.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    match until_idle(|| unmount(0)) {
        Err(error) if error.kind() == ErrorKind::ResourceBusy => unmount(libc::MNT_DETACH),
        // Not a mount point: the prony was killed before it mounted anything.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        done => done,
    }
}

/// Refuses a folder with a mount in it, since that would delete what is mounted there.
fn remove_folder(folder: &Path) -> io::Result<()> {
    let real = fs::canonicalize(folder)?;
    let mounts = mounts()?;
    match mounts.iter().find(|mount| mount.point.starts_with(&real)) {
        Some(mount) => Err(io::Error::other(format!(
            "{} is still mounted",
            mount.point.display()
        ))),
        None => fs::remove_dir_all(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [LeaseKind; 6] = [
        LeaseKind::Mount,
        LeaseKind::Loop,
        LeaseKind::Disk,
        LeaseKind::Group,
        LeaseKind::Namespace,
        LeaseKind::Folder,
    ];

    #[test]
    fn kinds_are_released_mounts_first_and_folders_last() {
        let mut kinds = ALL;
        kinds.reverse();
        kinds.sort();
        assert_eq!(kinds, ALL);
    }

    #[test]
    fn releasing_what_is_gone_already_succeeds() {
        let place = tempfile::tempdir().unwrap();
        for kind in ALL {
            kind.release(&place.path().join("gone")).unwrap();
        }
    }

    #[test]
    fn unmounting_a_folder_that_is_no_mount_point_leaves_it_alone() {
        let place = tempfile::tempdir().unwrap();
        // Without root's rights the kernel does not look at the folder.
        if rustix::process::geteuid().is_root() {
            LeaseKind::Mount.release(place.path()).unwrap();
        }
        assert!(place.path().exists());
    }
}
