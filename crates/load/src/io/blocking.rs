//! Io by calls that block the thread: a thread per client.

use super::Endpoint;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const RECEIVE_BYTES: usize = 16 * 1024;

#[derive(Clone)]
pub struct Reactor {
    origin: Instant,
}

impl Reactor {
    pub fn new() -> Reactor {
        Reactor {
            origin: Instant::now(),
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    pub fn sleep_until(&self, at_ns: u64) {
        let left = at_ns.saturating_sub(self.now_ns());
        if left > 0 {
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

pub struct Stream {
    socket: Socket,
    pub outgoing: Vec<u8>,
    incoming: Vec<u8>,
    consumed: usize,
}

impl Stream {
    pub fn connect(endpoint: &Endpoint, within: Duration) -> io::Result<Stream> {
        let socket = match endpoint {
            Endpoint::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
            Endpoint::Tcp { host, port } => Socket::Tcp(tcp(host, *port, within)?),
        };
        Ok(Stream {
            socket,
            outgoing: Vec::with_capacity(RECEIVE_BYTES),
            incoming: Vec::with_capacity(RECEIVE_BYTES),
            consumed: 0,
        })
    }

    pub fn incoming(&self) -> &[u8] {
        &self.incoming[self.consumed..]
    }

    pub fn consume(&mut self, bytes: usize) {
        self.consumed = (self.consumed + bytes).min(self.incoming.len());
        if self.consumed == self.incoming.len() {
            self.incoming.clear();
            self.consumed = 0;
        }
    }

    pub fn send(&mut self) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(socket) => socket.write_all(&self.outgoing)?,
            Socket::Unix(socket) => socket.write_all(&self.outgoing)?,
        }
        self.outgoing.clear();
        Ok(())
    }

    pub fn receive(&mut self) -> io::Result<()> {
        self.incoming.drain(..self.consumed);
        self.consumed = 0;
        let held = self.incoming.len();
        self.incoming.resize(held + RECEIVE_BYTES, 0);
        let received = match &mut self.socket {
            Socket::Tcp(socket) => socket.read(&mut self.incoming[held..]),
            Socket::Unix(socket) => socket.read(&mut self.incoming[held..]),
        };
        self.incoming
            .truncate(held + *received.as_ref().unwrap_or(&0));
        match received {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::TimedOut.into())
            }
            other => other.map(drop),
        }
    }

    pub fn stalled_after(&mut self, limit: Option<Duration>) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(socket) => socket.set_read_timeout(limit),
            Socket::Unix(socket) => socket.set_read_timeout(limit),
        }
    }
}

fn tcp(host: &str, port: u16, within: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, within) {
            Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
