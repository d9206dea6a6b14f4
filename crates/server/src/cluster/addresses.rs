//! The addresses and ports of the nodes of a cluster, chosen before the first of them starts: each must know those of all.

use crate::ServerError;
use crate::access::Port;
use host::network::Network;
use host::random_hex;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

/// Where a node listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub host: Ipv4Addr,
    /// For clients.
    pub client: u16,
    /// For the other nodes.
    pub peer: u16,
    /// For what a joining node of Galera has missed.
    pub missed: u16,
}

impl Addresses {
    /// Checks that nothing listens on its ports. They were free when they were chosen, which may be long ago: the data is copied before a
    /// node starts, and an event may start it again.
    ///
    /// # Errors
    /// Names the first port that is taken.
    pub(super) fn check(&self) -> Result<(), ServerError> {
        let is_taken = |port: &u16| {
            let bound = TcpListener::bind((self.host, *port));
            bound.is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
        };
        let mut ports = [self.client, self.peer, self.missed].into_iter();
        ports.find(is_taken).map_or(Ok(()), |port| {
            Err(ServerError::Unusable(format!(
                "another program has taken its port {}:{port} since prony chose it; run the experiment again, with other ports",
                self.host
            )))
        })
    }
}

/// Free ports for each node on the loopback interface, or on its own address. Another prony chooses none of them as long as they are held:
/// a node may start long after it.
pub(super) fn choose(
    nodes: u32,
    network: Option<&Network>,
) -> Result<(Vec<Addresses>, Vec<Port>), ServerError> {
    let mut held = Vec::new();
    let mut port = || -> Result<u16, ServerError> {
        let port = Port::find()?;
        let number = port.number;
        held.push(port);
        Ok(number)
    };
    let addresses = (1..=nodes).map(|node| {
        Ok(Addresses {
            host: network.map_or(Ipv4Addr::LOCALHOST, |network| network.address(node)),
            client: port()?,
            peer: port()?,
            missed: port()?,
        })
    });
    let addresses = addresses.collect::<Result<Vec<Addresses>, ServerError>>()?;
    Ok((addresses, held))
}

/// A random UUID (RFC 9562, version 4).
pub(super) fn uuid() -> Result<String, ServerError> {
    let digits = random_hex(16)
        .map_err(|error| ServerError::Unusable(format!("cannot read /dev/urandom: {error}")))?;
    Ok(format!(
        "{}-{}-4{}-a{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[17..20],
        &digits[20..32]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_port_has_one_use() {
        let (nodes, _held) = choose(3, None).unwrap();
        let ports = nodes
            .iter()
            .flat_map(|one| [one.client, one.peer, one.missed]);
        assert_eq!(ports.collect::<BTreeSet<_>>().len(), 9);
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let (nodes, _held) = choose(1, None).unwrap();
        let node = nodes[0];
        node.check().unwrap();
        let _taken = TcpListener::bind((node.host, node.peer)).unwrap();
        let says = node.check().unwrap_err().to_string();
        let address = format!("127.0.0.1:{}", node.peer);
        assert!(says.contains(&address), "{says}");
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let uuid = uuid().unwrap();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(&uuid[14..15] == "4" && &uuid[19..20] == "a");
    }
}
