//! A network namespace with a name (ip-netns(8)), leased, and how a process or a thread enters it.

use super::{NetworkError, run};
use crate::leases::kind::LeaseKind;
use crate::{Lease, LeaseError, Leases};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `ip` keeps the files of named namespaces.
const FOLDER: &str = "/run/netns";

/// A namespace that ends when it is dropped, as soon as no process is in it.
pub(super) struct Namespace {
    name: String,
    lease: Lease,
}

impl Namespace {
    /// A new namespace whose name begins with `name`.
    pub(super) fn make(name: &str, leases: &Leases) -> Result<Namespace, NetworkError> {
        let path = PathBuf::from(FOLDER);
        let unusable = |cause| LeaseError::Folder { path, cause };
        let name = leases.tagged(name).map_err(unusable)?;
        let lease = leases.lease(Path::new(FOLDER).join(&name), LeaseKind::Namespace)?;
        run("ip", Command::new("ip").args(["netns", "add", &name]))?;
        Ok(Namespace { name, lease })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn path(&self) -> &Path {
        self.lease.path()
    }

    /// Runs `ip` in the namespace.
    pub(super) fn ip(&self, arguments: &[&str]) -> Result<(), NetworkError> {
        let mut command = Command::new("ip");
        run("ip", command.args(["-n", &self.name]).args(arguments))
    }
}

/// Makes the command's process enter the namespace of this file between fork and exec.
///
/// # Errors
/// There is no such file.
pub fn enter(command: &mut Command, namespace: &Path) -> io::Result<()> {
    let file = File::open(namespace)?;
    // SAFETY: between fork and exec it only calls setns(2) on an open descriptor.
    unsafe { command.pre_exec(move || set(&file)) };
    Ok(())
}

/// Calls `act` on a new thread in the namespace. A socket stays in the namespace of the thread that made it.
pub(super) fn within<T: Send>(
    namespace: &Path,
    act: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let file = File::open(namespace)?;
    std::thread::scope(|scope| {
        let acting = scope.spawn(|| set(&file).and_then(|()| act()));
        let ended = acting.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
    })
}

fn set(file: &File) -> io::Result<()> {
    // SAFETY: an open descriptor, and a kind of namespace.
    match unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
