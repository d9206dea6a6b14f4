//! How a server that prony starts is reached: a free port and a random password.

use crate::ServerError;
use host::random_hex;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Below the ephemeral ports (from 32768), where a client's connection could take a port between the test and the start.
const PORTS: std::ops::Range<u16> = 20_000..32_768;

/// Generates a password, with several kinds of characters for servers with `validate_password`.
pub(crate) fn password() -> Result<String, ServerError> {
    let digits = random_hex(16)
        .map_err(|error| ServerError::Unusable(format!("cannot read /dev/urandom: {error}")))?;
    Ok(format!("Pr-{digits}"))
}

/// A loopback port that no program listens on and that no prony chooses while this is held.
pub(crate) struct Port {
    pub number: u16,
    /// A socket without a file: the kernel gives its name to one process only, and frees it however that process ends.
    _held: UnixListener,
}

impl Port {
    /// None if a program listens on it, or another one is held.
    fn hold(number: u16) -> Option<Port> {
        let name = SocketAddr::from_abstract_name(format!("prony-port-{number}")).ok()?;
        let held = UnixListener::bind_addr(&name).ok()?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        Some(Port {
            number,
            _held: held,
        })
    }

    /// Finds one, from a random place on.
    pub(crate) fn find() -> Result<Port, ServerError> {
        let random = random_hex(4)
            .ok()
            .and_then(|digits| u32::from_str_radix(&digits, 16).ok())
            .unwrap_or(0);
        let count = u32::from(PORTS.end - PORTS.start);
        let mut ports = (0..count)
            .map(|n| PORTS.start + ((u64::from(random) + u64::from(n)) % u64::from(count)) as u16);
        ports.find_map(Port::hold).ok_or_else(|| {
            let (first, last) = (PORTS.start, PORTS.end - 1);
            ServerError::Unusable(format!(
                "127.0.0.1: no free port between {first} and {last}; stop some servers"
            ))
        })
    }
}

/// Finds a loopback port that no program listens on. If another program takes it before the server does, the start is
/// repeated with another port.
pub(crate) fn free_port() -> Result<u16, ServerError> {
    Ok(Port::find()?.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_not_free() {
        let port = free_port().unwrap();
        assert!(PORTS.contains(&port));
        // Another program may have taken it meanwhile.
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        assert!(Port::hold(port).is_none());
    }

    #[test]
    fn a_port_that_is_held_is_not_chosen_again() {
        let held = Port::find().unwrap();
        let number = held.number;
        assert!(Port::hold(number).is_none());
        drop(held);
        assert!(Port::hold(number).is_some());
    }
}
