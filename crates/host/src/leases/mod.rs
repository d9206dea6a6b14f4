//! Leases: everything that could outlive prony is written to a journal, which a guard process reads, before it is made.
//!
//! However prony and its guard ended (kill -9 included), nothing of it is left when the next prony has started. What
//! is meant to stay (builds, snapshots, results) is made in a leased folder and renamed in the end.

pub mod guard;
mod journal;
pub(crate) mod kind;
mod leftovers;
mod ownership;

pub use leftovers::Swept;

use crate::process::{self, attached};
use crate::{Home, random};
use guard::Guard;
use journal::Line;
use kind::LeaseKind;
use std::ffi::{CString, OsStr};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The leases of this prony. Cheap to clone; what they hold ends with the last clone and the last lease.
#[derive(Clone)]
pub struct Leases {
    shared: Arc<Shared>,
}

struct Shared {
    work: PathBuf,
    path: PathBuf,
    /// None while it is being dropped.
    journal: Option<File>,
    guard: Option<Guard>,
    mark: String,
    next_id: AtomicU64,
    swept: Swept,
}

/// Holds a folder, a control group, a device or a mount until it is dropped. A folder may be renamed before.
#[must_use = "what is leased is released when the lease is dropped"]
pub struct Lease {
    shared: Arc<Shared>,
    id: u64,
    kind: LeaseKind,
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error(
        "cannot write the journal {path}: {cause}; without it nothing is started, since a killed prony could leave it behind"
    )]
    Journal { path: PathBuf, cause: io::Error },
    #[error("the guard process cannot be started: {0}")]
    Guard(io::Error),
    #[error("cannot make the folder {path}: {cause}")]
    Folder { path: PathBuf, cause: io::Error },
    #[error("cannot mount {filesystem} on {path}: {cause}")]
    Mount {
        filesystem: String,
        path: PathBuf,
        cause: io::Error,
    },
}

impl Leases {
    /// Works off what dead prony processes have left in this home, then starts a journal and its guard.
    pub fn open(home: &Home) -> Result<Leases, LeaseError> {
        // The unit tests of this library have no prony to start; there the journal alone must do.
        let program = if cfg!(test) {
            None
        } else {
            attached::program()
        };
        Leases::open_with(home, program.as_deref())
    }

    /// `open` with the program that knows the verb `guard`, or without a guard: then the next start cleans up.
    pub fn open_with(home: &Home, guard_program: Option<&Path>) -> Result<Leases, LeaseError> {
        let broken = |path: &Path| {
            let path = path.to_path_buf();
            move |cause| LeaseError::Journal { path, cause }
        };
        let swept = leftovers::sweep(&home.leases()).map_err(broken(&home.leases()))?;
        let mark = random::hex(16).map_err(broken(Path::new("/dev/urandom")))?;
        let pid = std::process::id();
        let start_ticks = process::start_ticks(pid).unwrap_or(0);
        // The mark keeps two of one process apart (tests).
        let path = home
            .leases()
            .join(format!("{pid}-{start_ticks}-{}.journal", &mark[..8]));
        let file = journal::create(&path).map_err(broken(&path))?;
        journal::append(
            &file,
            &Line::Prony {
                pid,
                start_ticks,
                mark: mark.clone(),
            },
        )
        .map_err(broken(&path))?;
        let guard = guard_program
            .map(|program| Guard::start(program, &path))
            .transpose()
            .map_err(LeaseError::Guard)?;
        let shared = Shared {
            work: home.work(),
            path,
            journal: Some(file),
            guard,
            mark,
            next_id: AtomicU64::new(1),
            swept,
        };
        Ok(Leases {
            shared: Arc::new(shared),
        })
    }

    /// What dead prony processes had left when this one started.
    pub fn swept(&self) -> &Swept {
        &self.shared.swept
    }

    /// The id of the guard process, where there is one.
    pub fn guard_pid(&self) -> Option<u32> {
        self.shared.guard.as_ref().map(Guard::pid)
    }

    /// A lease for a folder that is about to be made.
    pub fn folder(&self, path: impl AsRef<Path>) -> Result<Lease, LeaseError> {
        // The guard works from another folder.
        let path = std::path::absolute(path).map_err(|cause| self.shared.unwritten(cause))?;
        self.lease(path, LeaseKind::Folder)
    }

    /// A new control group below `parent`, a folder of the kernel's. It can be removed once no process is in it.
    pub(crate) fn control_group(&self, parent: &Path) -> Result<Lease, LeaseError> {
        let digits = random::hex(6).map_err(unusable(parent))?;
        let lease = self.lease(parent.join(format!("prony-{digits}")), LeaseKind::Group)?;
        std::fs::create_dir(lease.path()).map_err(unusable(parent))?;
        Ok(lease)
    }

    /// Mounts a file system on an existing folder. `options` are as for mount(8): those of all file systems (`noatime`) and its own
    /// (`size=64m`). Requires root.
    pub fn mount(
        &self,
        point: &Path,
        source: &str,
        filesystem: &str,
        options: &str,
    ) -> Result<Lease, LeaseError> {
        let refused = |cause| LeaseError::Mount {
            filesystem: filesystem.to_string(),
            path: point.to_path_buf(),
            cause,
        };
        let real = std::fs::canonicalize(point).map_err(refused)?;
        let lease = self.lease(real, LeaseKind::Mount)?;
        mount(source, lease.path(), filesystem, options).map_err(refused)?;
        Ok(lease)
    }

    /// A lease of something that is about to be made at this absolute path.
    pub(crate) fn lease(&self, path: PathBuf, kind: LeaseKind) -> Result<Lease, LeaseError> {
        let id = self.shared.next_id.fetch_add(1, Relaxed);
        let written = self.shared.append(&Line::leased(id, kind, path.clone()));
        written.map_err(|cause| self.shared.unwritten(cause))?;
        Ok(Lease {
            shared: Arc::clone(&self.shared),
            id,
            kind,
            path,
        })
    }

    /// A new empty leased folder under `work`, for this user alone, whose name begins with `name`.
    pub fn temporary(&self, name: &str) -> Result<Lease, LeaseError> {
        self.temporary_in(&self.shared.work, name)
    }

    /// A new empty leased folder in `parent`, whose name begins with `name`: for what is renamed within one file system.
    pub fn temporary_in(&self, parent: &Path, name: &str) -> Result<Lease, LeaseError> {
        let name = self.tagged(name).map_err(unusable(parent))?;
        let lease = self.folder(parent.join(name))?;
        DirBuilder::new()
            .mode(0o700)
            .create(lease.path())
            .map_err(unusable(lease.path()))?;
        Ok(lease)
    }

    /// A unique name for a leased folder. One outside the home needs such a name, which begins with `prony`: by it a later prony
    /// knows what it may remove.
    pub fn tagged(&self, name: &str) -> io::Result<String> {
        let tag = ownership::tag(&self.shared.mark).unwrap_or_default();
        Ok(format!(
            "{name}-{tag}{}",
            random::hex(ownership::RANDOM_DIGITS / 2)?
        ))
    }

    /// A command whose process, with all that it starts, ends with prony: it carries the mark, and it is the leader of a
    /// process group of its own, so that the terminal's Ctrl-C reaches prony alone. Its standard input is empty.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env(process::MARK, &self.shared.mark)
            .process_group(0)
            .stdin(Stdio::null());
        command
    }
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> LeaseError {
    let path = path.to_path_buf();
    move |cause| LeaseError::Folder { path, cause }
}

fn mount(source: &str, point: &Path, filesystem: &str, options: &str) -> io::Result<()> {
    let source = CString::new(source)?;
    let point = CString::new(point.as_os_str().as_bytes())?;
    let filesystem = CString::new(filesystem)?;
    let (flags, options) = flags_of(options);
    let options = CString::new(options)?;
    // SAFETY: four texts that end with a zero byte and outlive the call.
    let status = unsafe {
        libc::mount(
            source.as_ptr(),
            point.as_ptr(),
            filesystem.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The options that the kernel takes as flags (mount(2)); mount(8) converts them too.
const FLAGS: [(&str, libc::c_ulong); 10] = [
    ("defaults", 0),
    ("rw", 0),
    ("noatime", libc::MS_NOATIME),
    ("nodiratime", libc::MS_NODIRATIME),
    ("relatime", libc::MS_RELATIME),
    ("strictatime", libc::MS_STRICTATIME),
    ("lazytime", MS_LAZYTIME),
    ("sync", libc::MS_SYNCHRONOUS),
    ("dirsync", libc::MS_DIRSYNC),
    ("nodev", libc::MS_NODEV),
];
/// include/uapi/linux/mount.h
const MS_LAZYTIME: libc::c_ulong = 1 << 25;

/// Splits options into the kernel's flags and those of the file system.
fn flags_of(options: &str) -> (libc::c_ulong, String) {
    let mut flags = 0;
    let mut own = Vec::new();
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match FLAGS.iter().find(|(name, _)| *name == option) {
            Some((_, flag)) => flags |= flag,
            None => own.push(option),
        }
    }
    (flags, own.join(","))
}

impl Shared {
    fn unwritten(&self, cause: io::Error) -> LeaseError {
        LeaseError::Journal {
            path: self.path.clone(),
            cause,
        }
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        match &self.journal {
            Some(file) => journal::append(file, line),
            None => Ok(()),
        }
    }
}

/// A clean end goes the way of every other: the guard works off the journal, which holds nothing any more as a rule.
impl Drop for Shared {
    fn drop(&mut self) {
        self.journal = None;
        self.guard = None;
        // Where there was no guard, or it was killed. What fails now is tried again by the next start.
        let _ = leftovers::work_off(&self.path, true);
    }
}

impl Lease {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A release that cannot be written (a full disk) is made up for by the folder: the guard removes what is there.
    fn release(&self) {
        let _ = self.shared.append(&Line::Released { id: self.id });
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What could not be released stays leased, and the guard tries again.
        if self.kind.release(&self.path).is_ok() {
            self.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::device;

    #[test]
    fn a_folder_dropped_before_its_mount_is_removed_after_it() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can mount");
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let leases = Leases::open_with(&Home::at(home.path()).unwrap(), None).unwrap();
        let folder = leases.temporary("volume").unwrap();
        let path = folder.path().to_path_buf();
        let mount = leases.mount(&path, "none", "tmpfs", "size=1m").unwrap();
        std::fs::write(path.join("data"), "rows").unwrap();
        drop(folder);
        assert!(path.join("data").exists(), "nothing mounted is deleted");
        drop(mount);
        let mounts = device::mounts().unwrap();
        assert!(path.exists() && mounts.iter().all(|mount| mount.point != path));
        drop(leases);
        assert!(!path.exists());
    }

    #[test]
    fn options_of_every_file_system_become_flags() {
        let (flags, own) = flags_of("noatime,dioread_nolock,,lazytime,size=1m");
        assert_eq!(flags, libc::MS_NOATIME | MS_LAZYTIME);
        assert_eq!(own, "dioread_nolock,size=1m");
    }

    #[test]
    fn a_file_system_that_does_not_exist_is_not_mounted() {
        let home = tempfile::tempdir().unwrap();
        let leases = Leases::open_with(&Home::at(home.path()).unwrap(), None).unwrap();
        let says = leases
            .mount(home.path(), "none", "no-such-fs", "")
            .map(drop);
        let says = says.unwrap_err().to_string();
        assert!(says.starts_with("cannot mount no-such-fs on "), "{says}");
    }
}
