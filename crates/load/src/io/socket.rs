//! Resolves endpoints and connects sockets.

use super::Endpoint;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// A resolved address.
#[derive(Clone, Debug)]
pub(super) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// The result of a non-blocking connect.
pub(super) enum Begun {
    Connected(OwnedFd),
    /// In progress. When the socket is writable, [`outcome`] returns the result.
    Pending(OwnedFd),
    /// The server's accept queue is full.
    Busy,
}

/// Resolves an endpoint to its addresses. The resolver blocks, except for numeric addresses.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if the resolver finds none.
pub(super) fn resolve(endpoint: &Endpoint) -> io::Result<Vec<Address>> {
    match endpoint {
        Endpoint::Unix(path) => Ok(vec![Address::Unix(path.clone())]),
        Endpoint::Tcp { host, port } => {
            let found: Vec<Address> = (host.as_str(), *port)
                .to_socket_addrs()
                .map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?
                .map(Address::Tcp)
                .collect();
            if found.is_empty() {
                Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("{host} has no address"),
                ))
            } else {
                Ok(found)
            }
        }
    }
}

/// Starts connecting. The socket is non-blocking.
pub(super) fn begin(address: &Address) -> io::Result<Begun> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let family = match address {
        Address::Unix(_) => AddressFamily::UNIX,
        Address::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Address::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
    };
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    let connected = match address {
        Address::Unix(path) => connect(&socket, &SocketAddrUnix::new(path.as_path())?),
        Address::Tcp(address) => {
            sockopt::set_tcp_nodelay(&socket, true)?;
            keep_alive(&socket)?;
            connect(&socket, address)
        }
    };
    match connected {
        Ok(()) => Ok(Begun::Connected(socket)),
        Err(Errno::INPROGRESS) => Ok(Begun::Pending(socket)),
        Err(Errno::AGAIN) => Ok(Begun::Busy),
        Err(error) => Err(error.into()),
    }
}

/// A peer that has vanished without a word, as a machine without power does, ends a wait after two minutes.
fn keep_alive(socket: &OwnedFd) -> io::Result<()> {
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(60))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(10))?;
    sockopt::set_tcp_keepcnt(socket, 6)?;
    Ok(sockopt::set_socket_keepalive(socket, true)?)
}

/// The result of a pending connection.
pub(super) fn outcome(socket: &OwnedFd) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}
