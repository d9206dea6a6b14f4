//! What a session's code awaits: connections, streams, time. One interface over io_uring, epoll and blocking calls.
//!
//! Goal: a session's code is the same on every backend, and pays for none of the others. Non-goals: protocols; what
//! operations are due when (`drive`).
//!
//! A stream owns its two buffers, so that nothing is copied and the kernel never writes into memory that was freed.

mod blocking;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Uring,
    Epoll,
    /// Every call blocks its thread: [`crate::Placement::Threads`].
    Blocking,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

/// The reactor that a session lives on. Cheap to clone; it never leaves its thread.
#[derive(Clone)]
pub struct Io(Reactor);

#[derive(Clone)]
enum Reactor {
    Blocking(blocking::Reactor),
}

/// A connected byte stream with a buffer for each direction. Dropping it closes the connection.
pub struct Stream(Inner);

enum Inner {
    Blocking(blocking::Stream),
}

impl Io {
    /// For tests and for [`crate::Placement::Threads`]: every await ends at once, after blocking. Time begins now.
    pub fn blocking() -> Io {
        Io(Reactor::Blocking(blocking::Reactor::new()))
    }

    /// Nanoseconds since the drive's beginning.
    pub fn now_ns(&self) -> u64 {
        match &self.0 {
            Reactor::Blocking(reactor) => reactor.now_ns(),
        }
    }

    /// Wakes at the time, late by what the kernel needs. A time that has passed costs nothing.
    pub async fn sleep_until(&self, at_ns: u64) {
        match &self.0 {
            Reactor::Blocking(reactor) => reactor.sleep_until(at_ns),
        }
    }

    /// # Errors
    /// What the system says; [`io::ErrorKind::TimedOut`] after `within`.
    pub async fn connect(&self, endpoint: &Endpoint, within: Duration) -> io::Result<Stream> {
        match &self.0 {
            Reactor::Blocking(_) => blocking::Stream::connect(endpoint, within)
                .map(|stream| Stream(Inner::Blocking(stream))),
        }
    }
}

impl Stream {
    /// What is to be sent: append to it.
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        match &mut self.0 {
            Inner::Blocking(stream) => &mut stream.outgoing,
        }
    }

    /// What has arrived and was not consumed.
    pub fn incoming(&self) -> &[u8] {
        match &self.0 {
            Inner::Blocking(stream) => stream.incoming(),
        }
    }

    /// Forgets the first bytes of `incoming`.
    pub fn consume(&mut self, bytes: usize) {
        match &mut self.0 {
            Inner::Blocking(stream) => stream.consume(bytes),
        }
    }

    /// Sends all of `outgoing` and leaves it empty.
    pub async fn send(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Blocking(stream) => stream.send(),
        }
    }

    /// Appends what arrives to `incoming`, at least one byte.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] where the other side closed; [`io::ErrorKind::TimedOut`], see `stalled`.
    pub async fn receive(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Blocking(stream) => stream.receive(),
        }
    }

    /// `send` and `receive` in one step: what a query does. The incoming side has to be empty.
    pub async fn exchange(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Blocking(stream) => stream.send().and_then(|()| stream.receive()),
        }
    }

    /// A receive that waits longer ends with [`io::ErrorKind::TimedOut`]; the stream is of no use then. None: forever.
    pub fn stalled_after(&mut self, limit: Option<Duration>) -> io::Result<()> {
        match &mut self.0 {
            Inner::Blocking(stream) => stream.stalled_after(limit),
        }
    }
}
