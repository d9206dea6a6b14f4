//! The interface by which the machine reaches an address, and its counts.
//!
//! Sources: `/proc/net/route`, `/proc/net/snmp` (proc_pid_net(5)), and `/sys/class/net` (Documentation/ABI/testing/sysfs-class-net). IPv4
//! only. The interfaces are those of the namespace of prony.

use std::cmp::Reverse;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};

const FOLDER: &str = "/sys/class/net";

/// A network interface of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    name: String,
}

/// What an interface has carried since it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub received_packets: u64,
    pub sent_packets: u64,
}

impl Interface {
    /// The interface of this name.
    pub fn named(name: &str) -> Interface {
        Interface {
            name: name.to_string(),
        }
    }

    /// The interface that leads to an address; None if no route does, and for the machine's own addresses.
    pub fn to(address: Ipv4Addr) -> Option<Interface> {
        if is_own(address) {
            return None;
        }
        let routes = fs::read_to_string("/proc/net/route").ok()?;
        route(&routes, address).map(Interface::named)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// None if it is gone.
    pub fn carried(&self) -> Option<Carried> {
        let count = |name: &str| number(&self.file("statistics").join(name));
        Some(Carried {
            received_bytes: count("rx_bytes")?,
            sent_bytes: count("tx_bytes")?,
            received_packets: count("rx_packets")?,
            sent_packets: count("tx_packets")?,
        })
    }

    /// The speed of the hardware in each direction; None for interfaces without hardware.
    pub fn bits_per_s(&self) -> Option<u64> {
        let mbit = number(&self.file("speed"))?;
        (mbit > 0).then(|| mbit * 1_000_000)
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(FOLDER).join(&self.name).join(name)
    }
}

/// Whether it lies above others, which count its bytes too: a bond, a bridge, a VLAN.
pub(super) fn is_stacked(name: &str) -> bool {
    let files = fs::read_dir(Path::new(FOLDER).join(name));
    let is_lower = |file: fs::DirEntry| file.file_name().as_encoded_bytes().starts_with(b"lower_");
    files.is_ok_and(|files| files.flatten().any(is_lower))
}

/// Whether packets to the address stay on this machine: they cross the loopback interface, whatever its route says.
fn is_own(address: Ipv4Addr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The interface of the route with the longest mask that contains the address; of several, that with the lowest metric, as the kernel
/// chooses.
fn route(routes: &str, address: Ipv4Addr) -> Option<&str> {
    let address = u32::from_ne_bytes(address.octets());
    let parsed = routes.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (interface, destination) = (fields.next()?, fields.next()?);
        let metric: u32 = fields.nth(4)?.parse().ok()?;
        let mask = u32::from_str_radix(fields.next()?, 16).ok()?;
        let destination = u32::from_str_radix(destination, 16).ok()?;
        (address & mask == destination).then_some((mask.count_ones(), metric, interface))
    });
    parsed
        .max_by_key(|(length, metric, _)| (*length, Reverse(*metric)))
        .map(|(_, _, name)| name)
}

/// TCP segments of the namespace that were sent again since boot, of all connections.
pub fn retransmitted_segments() -> Option<u64> {
    retransmitted(&fs::read_to_string("/proc/net/snmp").ok()?)
}

/// The file has two lines for TCP: names, then values.
fn retransmitted(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = pairs.find(|(name, _)| *name == "RetransSegs")?;
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    const ROUTES: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        pronyc01\t000712C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";

    #[test]
    fn the_narrowest_route_counts() {
        let of = |address: [u8; 4]| route(ROUTES, Ipv4Addr::from(address));
        assert_eq!(of([198, 18, 7, 11]), Some("pronyc01"));
        assert_eq!(of([198, 18, 8, 11]), Some("eth0"));
        assert_eq!(Interface::to(Ipv4Addr::LOCALHOST), None);
    }

    #[test]
    fn of_two_default_routes_that_with_the_lower_metric_counts() {
        let routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
            eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
            wlan0\t00000000\t0100000A\t0003\t0\t0\t600\t00000000\t0\t0\t0\n";
        assert_eq!(route(routes, Ipv4Addr::new(198, 18, 8, 11)), Some("eth0"));
    }

    #[test]
    fn no_interface_leads_to_an_address_of_the_machine_itself() {
        // Sends nothing; chooses the machine's address on the way there, if there is one.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let way = socket.connect((Ipv4Addr::new(198, 51, 100, 1), 9));
        let own = way.and_then(|()| socket.local_addr());
        if let Ok(SocketAddr::V4(own)) = own {
            assert_eq!(Interface::to(*own.ip()), None, "{own}");
        }
    }

    #[test]
    fn the_retransmissions_are_read_by_their_name() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: OutSegs RetransSegs InErrs\nTcp: 100 7 0\n";
        assert_eq!(retransmitted(snmp), Some(7));
        assert_eq!(retransmitted("Tcp: OutSegs\nTcp: 1\n"), None);
        assert!(retransmitted_segments().is_some());
    }

    #[test]
    fn an_interface_that_is_gone_has_no_counts() {
        assert_eq!(Interface::named("pronyc-none").carried(), None);
        assert!(Interface::named("lo").carried().is_some());
        assert!(!is_stacked("pronyc-none") && !is_stacked("lo"));
    }
}
