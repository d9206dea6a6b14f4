//! Where an instance has its things: temporary files, socket, pid file, log, and a free port.
//!
//! Goal: paths that the server can use, whatever the folder's name. Non-goal: the data folder, which each start is given.

use crate::ServerError;
use host::{Lease, Leases, random_hex};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// `sun_path` of unix(7) has 108 bytes with its closing zero, and MariaDB wants one more.
const SOCKET_PATH_BYTES_MAX: usize = 106;

/// Below the ephemeral range (from 32768), where a port can be taken by chance between the test and the start.
const PORTS: std::ops::Range<u16> = 20_000..32_768;

/// The folder of an instance.
pub struct Place {
    folder: PathBuf,
    socket: PathBuf,
    /// Where the folder's own path is too long for a socket.
    _short: Option<Lease>,
}

impl Place {
    /// Makes the folder where it is missing.
    pub fn make(folder: &Path, leases: &Leases) -> Result<Place, ServerError> {
        std::fs::create_dir_all(folder.join("tmp")).map_err(|error| unusable(folder, &error))?;
        let folder = folder
            .canonicalize()
            .map_err(|error| unusable(folder, &error))?;
        let socket = folder.join("socket");
        if socket.as_os_str().as_bytes().len() <= SOCKET_PATH_BYTES_MAX {
            return Ok(Place {
                folder,
                socket,
                _short: None,
            });
        }
        let short = leases
            .temporary_in(Path::new("/tmp"), "prony")
            .map_err(ServerError::from)?;
        let socket = short.path().join("socket");
        Ok(Place {
            folder,
            socket,
            _short: Some(short),
        })
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    pub fn pid_file(&self) -> PathBuf {
        self.folder.join("pid")
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    /// The statements that set the password; there only while the server starts.
    pub fn first_statements(&self) -> PathBuf {
        self.folder.join("first.sql")
    }
}

fn unusable(folder: &Path, error: &io::Error) -> ServerError {
    ServerError::Unusable(format!(
        "cannot make the folder {} of a server: {error}",
        folder.display()
    ))
}

/// A port on loopback that nothing listens on now. Another program may take it before the server does; then the start is
/// tried again with another one.
pub fn free_port() -> Result<u16, ServerError> {
    let drawn = random_hex(4)
        .ok()
        .and_then(|digits| u32::from_str_radix(&digits, 16).ok())
        .unwrap_or(0);
    let count = u32::from(PORTS.end - PORTS.start);
    let ports = (0..count)
        .map(|n| PORTS.start + ((u64::from(drawn) + u64::from(n)) % u64::from(count)) as u16);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.into_iter().find(is_free).ok_or_else(|| {
        let (first, last) = (PORTS.start, PORTS.end - 1);
        ServerError::Unusable(format!(
            "no free port on 127.0.0.1 between {first} and {last}: end some servers"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Home;

    #[test]
    fn a_socket_whose_path_would_be_too_long_lies_in_a_short_leased_folder() {
        let home = tempfile::tempdir().unwrap();
        let leases = Leases::open(&Home::at(home.path()).unwrap()).unwrap();
        let place = Place::make(&home.path().join("s".repeat(100)), &leases).unwrap();
        let short = place.socket().parent().unwrap().to_path_buf();
        assert!(short.starts_with("/tmp") && short.is_dir());
        drop(place);
        assert!(!short.exists());
        let place = Place::make(&home.path().join("s"), &leases).unwrap();
        assert_eq!(
            place.socket(),
            home.path().canonicalize().unwrap().join("s/socket")
        );
    }

    #[test]
    fn a_port_that_something_listens_on_is_not_free() {
        let port = free_port().unwrap();
        assert!(PORTS.contains(&port));
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        assert_ne!(free_port().unwrap(), port);
    }
}
