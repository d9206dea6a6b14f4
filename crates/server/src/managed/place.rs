//! The folder of a server instance (temporary files, socket, pid file, log).
//!
//! The socket path fits the system's limit however long the folder's path is. The data folder is not part of it: each
//! start names its own.

use crate::ServerError;
use host::{Lease, Leases};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// `sun_path` of unix(7) has 108 bytes including the terminating zero, and MariaDB needs one more.
const SOCKET_PATH_BYTES_MAX: usize = 106;

/// Where statements may read and write files.
const FILES: &str = "files";

/// The folder of an instance.
pub(super) struct InstanceFolder {
    folder: PathBuf,
    socket: PathBuf,
    /// A short folder in /tmp, if the instance folder's path is too long for a socket.
    _short: Option<Lease>,
}

impl InstanceFolder {
    /// Uses this folder, and creates it if it is missing.
    pub(super) fn make(folder: &Path, leases: &Leases) -> Result<InstanceFolder, ServerError> {
        for inner in ["tmp", FILES] {
            std::fs::create_dir_all(folder.join(inner))
                .map_err(|error| unusable(folder, &error))?;
        }
        let folder = folder
            .canonicalize()
            .map_err(|error| unusable(folder, &error))?;
        let own = folder.join("socket");
        let is_long = own.as_os_str().as_bytes().len() > SOCKET_PATH_BYTES_MAX;
        let short = is_long.then(|| leases.temporary_in(Path::new("/tmp"), "prony"));
        let short = short.transpose()?;
        Ok(InstanceFolder {
            socket: short
                .as_ref()
                .map_or(own, |short| short.path().join("socket")),
            folder,
            _short: short,
        })
    }

    /// The socket.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The folder for temporary files.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// The folder where statements may read and write files.
    pub(super) fn files(&self) -> PathBuf {
        self.folder.join(FILES)
    }

    /// The pid file.
    pub(super) fn pid_file(&self) -> PathBuf {
        self.folder.join("pid")
    }

    /// The server's error log.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    /// The SQL file that sets the password; it exists only while the server starts.
    pub(super) fn init_file(&self) -> PathBuf {
        self.folder.join("first.sql")
    }
}

fn unusable(folder: &Path, error: &io::Error) -> ServerError {
    ServerError::Unusable(format!(
        "cannot create the server folder {}: {error}; free disk space or set PRONY_HOME to a writable folder",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Home;

    #[test]
    fn a_long_folder_path_puts_the_socket_into_a_short_leased_folder() {
        let home = tempfile::tempdir().unwrap();
        let leases = Leases::open(&Home::at(home.path()).unwrap()).unwrap();
        let place = InstanceFolder::make(&home.path().join("s".repeat(100)), &leases).unwrap();
        let short = place.socket().parent().unwrap().to_path_buf();
        assert!(short.starts_with("/tmp") && short.is_dir());
        drop(place);
        assert!(!short.exists());
        let place = InstanceFolder::make(&home.path().join("s"), &leases).unwrap();
        assert_eq!(
            place.socket(),
            home.path().canonicalize().unwrap().join("s/socket")
        );
    }
}
