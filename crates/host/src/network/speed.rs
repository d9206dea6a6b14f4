//! Measures the links of a network: a limit is in force, or the trial does not begin.
//!
//! Each direction is measured with one TCP connection for at least a quarter of a second and a megabyte, after the bucket is empty.

use super::{Network, NetworkError, namespace};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Sent before the measured part, to empty the buckets and to let TCP find the speed.
const BEFORE_MIN: Duration = Duration::from_millis(150);
const BEFORE_BITS: u64 = 6_000_000;
const MEASURED_MIN: Duration = Duration::from_millis(250);
const MEASURED_BITS: u64 = 8_000_000;
/// A busy machine may take too long for a part of it.
const ATTEMPTS: usize = 3;
/// The time limit of the connection and of each read.
const WITHIN: Duration = Duration::from_secs(5);
/// The shares of the limit that a link in force carries: TCP's payload is 95 % of the bits in packets of 1,514 bytes, and a quarter of a
/// second of a busy machine measures some per cent off.
const SHARE_MIN: f64 = 0.70;
const SHARE_MAX: f64 = 1.08;

/// What a link carried, in the slower of its directions.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpeed {
    /// `link of node 1`, `clients' link`
    pub link: String,
    pub limit_bits_per_s: u64,
    pub measured_bits_per_s: f64,
}

/// One end of a transfer.
#[derive(Clone, Copy)]
struct End<'n> {
    address: Ipv4Addr,
    /// None: the namespace of prony.
    namespace: Option<&'n std::path::Path>,
}

pub(super) fn verify(network: &Network) -> Result<Vec<LinkSpeed>, NetworkError> {
    let bandwidths = network.bandwidths();
    let clients = End {
        address: network.client_address(),
        namespace: None,
    };
    let node = |number| End {
        address: network.address(number),
        namespace: network.namespace(number),
    };
    let lower = |one: u64, other: Option<u64>| other.map_or(one, |other| one.min(other));
    let mut speeds = Vec::new();
    if let Some(limit) = bandwidths.link_bits_per_s {
        for number in 1..=network.nodes.len() as u32 {
            // Past the clients' link where there is a second node.
            let (other, limit) = match network.nodes.len() {
                1 => (clients, lower(limit, bandwidths.client_link_bits_per_s)),
                count => (node(number % count as u32 + 1), limit),
            };
            speeds.push(both_ways(
                &format!("link of node {number}"),
                node(number),
                other,
                limit,
            )?);
        }
    }
    if let Some(limit) = bandwidths.client_link_bits_per_s {
        let limit = lower(limit, bandwidths.link_bits_per_s);
        speeds.push(both_ways("clients' link", clients, node(1), limit)?);
    }
    Ok(speeds)
}

fn both_ways(
    link: &str,
    one: End,
    other: End,
    limit_bits_per_s: u64,
) -> Result<LinkSpeed, NetworkError> {
    let failed = |cause| NetworkError::NotMeasured {
        link: link.to_string(),
        cause,
    };
    let mut measured = 0.0;
    for _ in 0..ATTEMPTS {
        let there = transfer(one, other, limit_bits_per_s).map_err(failed)?;
        let back = transfer(other, one, limit_bits_per_s).map_err(failed)?;
        let limit = limit_bits_per_s as f64;
        measured = if there.max(back) > SHARE_MAX * limit {
            there.max(back)
        } else {
            there.min(back)
        };
        if (SHARE_MIN * limit..=SHARE_MAX * limit).contains(&measured) {
            break;
        }
    }
    let share = measured / limit_bits_per_s as f64;
    if !(SHARE_MIN..=SHARE_MAX).contains(&share) {
        return Err(NetworkError::NotLimited {
            link: link.to_string(),
            measured_mbit: measured / 1e6,
            limit_mbit: limit_bits_per_s as f64 / 1e6,
        });
    }
    Ok(LinkSpeed {
        link: link.to_string(),
        limit_bits_per_s,
        measured_bits_per_s: measured,
    })
}

/// How long this many bits take on a link of this speed, but at least `least`.
fn time_for(bits: u64, bits_per_s: u64, least: Duration) -> Duration {
    Duration::from_secs_f64(bits as f64 / bits_per_s as f64).max(least)
}

/// Bits per second from one end to the other, over a link of about this speed.
fn transfer(from: End, to: End, bits_per_s: u64) -> io::Result<f64> {
    let before = time_for(BEFORE_BITS, bits_per_s, BEFORE_MIN);
    let measured = time_for(MEASURED_BITS, bits_per_s, MEASURED_MIN);
    let listener = within(to, || TcpListener::bind((to.address, 0)))?;
    let address = listener.local_addr()?;
    let sender = within(from, || connect(address))?;
    let (receiver, _) = listener.accept()?;
    receiver.set_read_timeout(Some(WITHIN))?;
    std::thread::scope(|scope| {
        let until = Instant::now() + before + measured + WITHIN;
        let sending = scope.spawn(move || send(sender, until));
        let received = receive(receiver, before, measured);
        let sent = sending.join();
        sent.unwrap_or_else(|_| Err(io::Error::other("the sender panicked")))?;
        received
    })
}

fn within<T: Send>(end: End, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    match end.namespace {
        Some(file) => namespace::within(file, act),
        None => act(),
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_write_timeout(Some(WITHIN))?;
    Ok(stream)
}

/// Sends until the receiver has enough and closes.
fn send(mut stream: TcpStream, until: Instant) -> io::Result<()> {
    let block = vec![0; 1 << 16];
    while Instant::now() < until {
        match stream.write_all(&block) {
            Ok(()) => {}
            Err(error) if is_closed(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset
    )
}

fn receive(mut stream: TcpStream, before: Duration, measured: Duration) -> io::Result<f64> {
    read_for(before, &mut stream)?;
    let from = Instant::now();
    let bytes = read_for(measured, &mut stream)?;
    Ok(bytes as f64 * 8.0 / from.elapsed().as_secs_f64())
}

/// Reads for so long. Returns the number of bytes.
fn read_for(time: Duration, stream: &mut TcpStream) -> io::Result<usize> {
    let mut block = vec![0; 1 << 16];
    let (from, mut bytes) = (Instant::now(), 0);
    while from.elapsed() < time {
        bytes += stream.read(&mut block)?;
    }
    Ok(bytes)
}
