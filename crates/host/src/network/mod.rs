//! A separate network for the nodes of a cluster: a namespace for each node, and links with a limited bandwidth.
//!
//! ```text
//!   prony and its clients (this namespace)          node 1 (its namespace)
//!        pronycXXXXXXXX  <- client_link ->  switch  <- link ->  eth0
//!                                             |     <- link ->  eth0  node 2
//! ```
//!
//! The switch is a bridge in a separate namespace, so everything ends with the namespaces: an interface ends with its peer. Each end of a
//! link has a token bucket (`tc` tbf), so both directions are limited. Requires root and iproute2. Delay and loss are not available: the
//! kernel module netem is missing on many machines.

mod namespace;
mod speed;

pub use namespace::enter;
pub use speed::LinkSpeed;

use crate::{LeaseError, Leases, random};
use namespace::Namespace;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

/// The first two numbers of all addresses: a range that is reserved for benchmarks of networks (RFC 2544, appendix C.2.2).
const RANGE: [u8; 2] = [198, 18];
/// The last number of the clients' address; node n has 10 + n.
const CLIENT: u8 = 1;
const BEFORE_NODES: u8 = 10;
/// How many networks are tried, if other programs use their addresses.
const NETWORKS_TRIED: usize = 16;
/// The name of the bridge in the namespace of the switch.
const BRIDGE: &str = "switch";
/// The name of a node's end of its link.
const NODE_END: &str = "eth0";
/// The name of the switch's end of the clients' link.
const CLIENT_END: &str = "client";
/// A bucket holds what the link sends in 10 ms, and at least two of the largest packets that the kernel passes at once (tc-tbf(8), "burst").
const BURSTS_PER_S: u64 = 100;
const BURST_BYTES_MIN: u64 = 2 * 65_536;
/// How long a packet may wait in the bucket's queue before it is dropped.
const QUEUE: &str = "50ms";

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error(
        "the links of a cluster need root, because namespaces and traffic control do; run prony as root, or remove link and client_link"
    )]
    NotRoot,
    #[error(
        "the program `{0}` of the package iproute2 is missing, which makes the links of a cluster; install it: apt-get install iproute2"
    )]
    Missing(&'static str),
    #[error("{command} failed: {says}")]
    Failed { command: String, says: String },
    #[error(
        "all networks that were tried in 198.18.0.0/16 are in use on this machine; remove link and client_link"
    )]
    NoAddresses,
    #[error("{link} carries {measured_mbit:.0} Mbit/s, and its limit is {limit_mbit:.0} Mbit/s")]
    NotLimited {
        link: String,
        measured_mbit: f64,
        limit_mbit: f64,
    },
    #[error("{link} cannot be measured: {cause}")]
    NotMeasured { link: String, cause: io::Error },
    #[error(transparent)]
    Lease(#[from] LeaseError),
}

/// The bandwidths in bits per second, each in both directions; None: as fast as the kernel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bandwidths {
    pub link_bits_per_s: Option<u64>,
    pub client_link_bits_per_s: Option<u64>,
}

/// The network of a cluster. It ends when it is dropped, and with prony.
pub struct Network {
    nodes: Vec<Namespace>,
    switch: Namespace,
    third: u8,
    client_interface: String,
    bandwidths: Bandwidths,
}

impl Network {
    /// A network of this many nodes, whose links are up.
    ///
    /// # Errors
    /// Without root or iproute2, or if the kernel refuses a step. Nothing is left then.
    pub fn make(
        nodes: u32,
        bandwidths: Bandwidths,
        leases: &Leases,
    ) -> Result<Network, NetworkError> {
        if !rustix::process::geteuid().is_root() {
            return Err(NetworkError::NotRoot);
        }
        let digits = random::hex(4).map_err(|cause| NetworkError::NotMeasured {
            link: "/dev/urandom".into(),
            cause,
        })?;
        let named = |name: String| Namespace::make(&name, leases);
        let network = Network {
            switch: named("prony-switch".into())?,
            nodes: (1..=nodes)
                .map(|node| named(format!("prony-node{node}")))
                .collect::<Result<_, _>>()?,
            third: free_third()?,
            client_interface: format!("pronyc{digits}"),
            bandwidths,
        };
        network.link_all()?;
        Ok(network)
    }

    /// The address of a node, counted from 1.
    pub fn address(&self, node: u32) -> Ipv4Addr {
        self.host(BEFORE_NODES + node as u8)
    }

    /// The address of the clients.
    pub(crate) fn client_address(&self) -> Ipv4Addr {
        self.host(CLIENT)
    }

    /// The clients' interface in the namespace of prony.
    pub fn client_interface(&self) -> &str {
        &self.client_interface
    }

    pub fn bandwidths(&self) -> Bandwidths {
        self.bandwidths
    }

    /// The file of a node's namespace, counted from 1; see [`enter`].
    pub fn namespace(&self, node: u32) -> Option<&Path> {
        let index = (node as usize).checked_sub(1)?;
        self.nodes.get(index).map(Namespace::path)
    }

    /// Takes the link of a node down, counted from 1.
    pub fn cut(&self, node: u32) -> Result<(), NetworkError> {
        self.switch.ip(&["link", "set", &end_of(node), "down"])
    }

    /// Brings the link of a node up again.
    pub fn heal(&self, node: u32) -> Result<(), NetworkError> {
        self.switch.ip(&["link", "set", &end_of(node), "up"])
    }

    /// Measures the links that have a limit.
    ///
    /// # Errors
    /// A link carries more than its limit, much less, or nothing.
    pub fn verify(&self) -> Result<Vec<LinkSpeed>, NetworkError> {
        speed::verify(self)
    }

    fn host(&self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(RANGE[0], RANGE[1], self.third, last)
    }

    fn link_all(&self) -> Result<(), NetworkError> {
        let (switch, links) = (&self.switch, self.bandwidths);
        switch.ip(&["link", "add", BRIDGE, "type", "bridge"])?;
        switch.ip(&["link", "set", BRIDGE, "up"])?;
        for (index, node) in self.nodes.iter().enumerate() {
            let number = index as u32 + 1;
            let (end, address) = (end_of(number), self.address(number));
            let ends = (end.as_str(), NODE_END);
            self.link(ends, Some(node), address, links.link_bits_per_s)?;
            node.ip(&["link", "set", "lo", "up"])?;
        }
        let ends = (CLIENT_END, self.client_interface.as_str());
        let address = self.client_address();
        self.link(ends, None, address, links.client_link_bits_per_s)
    }

    /// Links an interface of a namespace, or of prony's, with the switch. `end` is the switch's end of the link.
    fn link(
        &self,
        (end, own): (&str, &str),
        namespace: Option<&Namespace>,
        address: Ipv4Addr,
        bits_per_s: Option<u64>,
    ) -> Result<(), NetworkError> {
        let (switch, pid) = (&self.switch, std::process::id().to_string());
        let place = namespace.map_or(pid.as_str(), Namespace::name);
        let add = ["link", "add", end, "type", "veth", "peer", "name", own];
        switch.ip(&[&add[..], &["netns", place]].concat())?;
        switch.ip(&["link", "set", end, "master", BRIDGE, "up"])?;
        let address = format!("{address}/24");
        ip(namespace, &["addr", "add", &address, "dev", own])?;
        ip(namespace, &["link", "set", own, "up"])?;
        if let Some(bits_per_s) = bits_per_s {
            limit(namespace, own, bits_per_s)?;
            limit(Some(switch), end, bits_per_s)?;
        }
        Ok(())
    }
}

/// The name of the switch's end of a node's link.
fn end_of(node: u32) -> String {
    format!("node{node}")
}

/// The third number of a network that no interface of this machine is in.
fn free_third() -> Result<u8, NetworkError> {
    let routes = std::fs::read_to_string("/proc/net/route").unwrap_or_default();
    let tried = (0..NETWORKS_TRIED).filter_map(|_| {
        let digits = random::hex(1).ok()?;
        u8::from_str_radix(&digits, 16).ok()
    });
    let mut free = tried.filter(|third| !is_routed(&routes, *third));
    free.next().ok_or(NetworkError::NoAddresses)
}

/// Whether a route leads to the network; `/proc/net/route` has destinations as numbers in the byte order of this machine.
fn is_routed(routes: &str, third: u8) -> bool {
    let network = u32::from_ne_bytes([RANGE[0], RANGE[1], third, 0]);
    let destination = |line: &str| {
        let field = line.split_whitespace().nth(1)?;
        u32::from_str_radix(field, 16).ok()
    };
    routes
        .lines()
        .any(|line| destination(line) == Some(network))
}

/// Limits what an interface sends.
fn limit(
    namespace: Option<&Namespace>,
    interface: &str,
    bits_per_s: u64,
) -> Result<(), NetworkError> {
    let burst_bytes = (bits_per_s / 8 / BURSTS_PER_S).max(BURST_BYTES_MIN);
    let (rate, burst) = (format!("{bits_per_s}bit"), burst_bytes.to_string());
    let mut command = Command::new("tc");
    if let Some(namespace) = namespace {
        command.args(["-n", namespace.name()]);
    }
    command.args(["qdisc", "add", "dev", interface, "root", "tbf"]);
    command.args(["rate", &rate, "burst", &burst, "latency", QUEUE]);
    run("tc", &mut command)
}

/// Runs `ip` in a namespace, or in prony's.
fn ip(namespace: Option<&Namespace>, arguments: &[&str]) -> Result<(), NetworkError> {
    match namespace {
        Some(namespace) => namespace.ip(arguments),
        None => run("ip", Command::new("ip").args(arguments)),
    }
}

/// Runs a program of iproute2, which ends at once.
fn run(program: &'static str, command: &mut Command) -> Result<(), NetworkError> {
    let words = command.get_args().map(|word| word.to_string_lossy());
    let line = format!("{program} {}", words.collect::<Vec<_>>().join(" "));
    let failed = |says: String| NetworkError::Failed {
        command: line.clone(),
        says,
    };
    let done = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NetworkError::Missing(program),
        _ => failed(error.to_string()),
    })?;
    if done.status.success() {
        Ok(())
    } else {
        Err(failed(
            String::from_utf8_lossy(&done.stderr).trim().to_string(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    fn leases() -> (tempfile::TempDir, Leases) {
        let home = tempfile::tempdir().unwrap();
        let leases = Leases::open_with(&Home::at(home.path()).unwrap(), None).unwrap();
        (home, leases)
    }

    /// A network, where this machine and this user can have one.
    fn network(nodes: u32, bandwidths: Bandwidths, leases: &Leases) -> Option<Network> {
        match Network::make(nodes, bandwidths, leases) {
            Ok(network) => Some(network),
            Err(error @ (NetworkError::NotRoot | NetworkError::Missing(_))) => {
                eprintln!("skipped: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    const LIMITED: Bandwidths = Bandwidths {
        link_bits_per_s: Some(200_000_000),
        client_link_bits_per_s: Some(100_000_000),
    };

    #[test]
    fn limited_links_carry_their_bandwidth_and_no_more() {
        let (_home, leases) = leases();
        let Some(network) = network(2, LIMITED, &leases) else {
            return;
        };
        let speeds = network.verify().unwrap();
        assert_eq!(speeds.len(), 3, "{speeds:?}");
        let interface = network.client_interface().to_string();
        let exists = || Path::new("/sys/class/net").join(&interface).exists();
        assert!(exists());
        drop(network);
        // The kernel removes the interfaces of a namespace a moment later.
        let began = Instant::now();
        while exists() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!exists());
    }

    #[test]
    fn a_cut_link_carries_nothing_until_it_is_healed() {
        let (_home, leases) = leases();
        let Some(network) = network(1, Bandwidths::default(), &leases) else {
            return;
        };
        let address = (network.address(1), 3306);
        let listener = namespace::within(network.namespace(1).unwrap(), move || {
            TcpListener::bind(address)
        });
        let listener = listener.unwrap();
        // On a busy machine a connection takes longer than what shows that the link is cut.
        let connect = |within_ms| {
            TcpStream::connect_timeout(&address.into(), Duration::from_millis(within_ms))
        };
        let mut stream = connect(10_000).unwrap();
        let mut accepted = listener.accept().unwrap().0;
        network.cut(1).unwrap();
        assert!(connect(200).is_err());
        network.heal(1).unwrap();
        stream.write_all(b"x").unwrap();
        accepted.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn a_network_that_is_routed_elsewhere_is_not_used() {
        let routes = "Iface Destination Gateway\neth0\t000712C6\t00000000\n";
        assert!(is_routed(routes, 7) && !is_routed(routes, 8));
    }

    #[test]
    fn a_step_that_fails_names_its_command() {
        let error = ip(None, &["link", "set", "pronyc-none", "up"]).unwrap_err();
        let says = error.to_string();
        assert!(
            says.starts_with("ip link set pronyc-none up failed: ") || says.contains("iproute2"),
            "{says}"
        );
    }
}
