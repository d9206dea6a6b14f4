//! Asynchronous I/O for sessions: connections, streams, timers, files. One interface for io_uring, epoll, Linux AIO and blocking calls.
//!
//! Goal: the same session code on every backend, without overhead from the others. Non-goals: protocols; scheduling operations
//! (`drive`); futures of other libraries, which nothing here would wake.
//!
//! A stream owns its buffers, so nothing is copied. It lends them to the reactor while an operation is in flight, so the kernel
//! never writes to freed memory. A stream whose operation was cancelled (its future was dropped) is unusable: every later
//! operation fails.

mod aio;
mod aligned;
mod attempts;
mod blocking;
mod buffers;
mod clock;
mod epoll;
mod pulse;
mod schedule;
mod socket;
mod stopper;
mod stream;
mod transfer;
mod uring;

pub use aligned::Aligned;
pub use blocking::OnSilence;
pub(crate) use pulse::{Gap, Pulse};
pub use stopper::Stopper;
pub use stream::{Running, Stream};
pub use transfer::{Cut, Transfer};

use schedule::{Schedule, Yielding};
use socket::{Address, Begun};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stream::Inner;

/// How long a client waits before it connects again when the server's accept queue is full.
const BUSY_NS: u64 = 2_000_000;

/// How I/O is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Uring,
    /// Streams only.
    Epoll,
    /// Linux AIO: files only.
    Aio,
    /// Every call blocks its thread: [`crate::Placement::Threads`].
    Blocking,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

/// A handle to the reactor of the current thread. Cheap to clone; it never leaves its thread.
#[derive(Clone)]
pub struct Io {
    reactor: Reactor,
    /// Cache of resolved names, because the resolver blocks the whole reactor.
    resolved: Rc<RefCell<HashMap<Endpoint, Vec<Address>>>>,
}

#[derive(Clone)]
enum Reactor {
    Uring(Rc<uring::Reactor>),
    Epoll(Rc<epoll::Reactor>),
    Aio(Rc<aio::Reactor>),
    Blocking(Rc<blocking::Reactor>),
}

/// An operation of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Send,
    Receive,
    Exchange,
    /// Waits until the socket is writable, which completes a pending connection.
    Writable,
}

impl Io {
    /// Makes a reactor. Times are relative to `origin`; `capacity` is the expected number of streams or transfers, not a limit.
    ///
    /// # Errors
    /// If the kernel lacks what the backend needs, see [`crate::executor::backend`].
    pub fn new(backend: Backend, origin: Instant, capacity: usize) -> io::Result<Io> {
        let reactor = match backend {
            Backend::Uring => Reactor::Uring(Rc::new(uring::Reactor::new(origin, capacity)?)),
            Backend::Epoll => Reactor::Epoll(Rc::new(epoll::Reactor::new(origin, capacity)?)),
            Backend::Aio => Reactor::Aio(Rc::new(aio::Reactor::new(origin, capacity)?)),
            Backend::Blocking => {
                Reactor::Blocking(Rc::new(blocking::Reactor::new(origin, || false)?))
            }
        };
        Ok(Io::from_reactor(reactor))
    }

    fn from_reactor(reactor: Reactor) -> Io {
        Io {
            reactor,
            resolved: Rc::default(),
        }
    }

    /// Makes a blocking reactor whose waits also end with [`io::ErrorKind::Interrupted`] one second after `is_interrupted`
    /// returns true, at most 0.2 s late.
    ///
    /// # Errors
    /// If this process has no file descriptor left.
    pub fn interruptible(is_interrupted: fn() -> bool) -> io::Result<Io> {
        let reactor = blocking::Reactor::new(Instant::now(), is_interrupted)?;
        Ok(Io::from_reactor(Reactor::Blocking(Rc::new(reactor))))
    }

    /// Sets when every wait of a blocking reactor ends with [`io::ErrorKind::TimedOut`], at most 0.2 s late; None for never.
    /// The second after an interruption begins again. Other backends ignore it.
    pub fn set_deadline(&self, at: Option<Instant>) {
        if let Reactor::Blocking(reactor) = &self.reactor {
            reactor.set_deadline(at);
        }
    }

    /// Has `watch` called about every 0.2 s of a receive that has no deadline and in which nothing arrives, with the time since it
    /// began. Its error ends the receive. Other backends ignore it.
    pub fn on_silence(&self, watch: OnSilence) {
        if let Reactor::Blocking(reactor) = &self.reactor {
            reactor.on_silence(watch);
        }
    }

    /// Makes a blocking reactor, for tests and [`crate::Placement::Threads`]: futures block and are then ready. Time starts now.
    ///
    /// # Panics
    /// If this process has no file descriptor left.
    pub fn blocking() -> Io {
        Io::new(Backend::Blocking, Instant::now(), 0).expect("a free file descriptor")
    }

    #[inline]
    pub(crate) fn schedule(&self) -> &Schedule {
        match &self.reactor {
            Reactor::Uring(reactor) => &reactor.schedule,
            Reactor::Epoll(reactor) => &reactor.schedule,
            Reactor::Aio(reactor) => &reactor.schedule,
            Reactor::Blocking(reactor) => &reactor.schedule,
        }
    }

    /// Nanoseconds since the origin.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.schedule().now_ns()
    }

    /// A handle that ends every wait of this reactor from another thread.
    pub fn stopper(&self) -> Stopper {
        self.schedule().stopper.clone()
    }

    /// Whether its [`Stopper`] was used. From then on every wait ends immediately.
    #[inline]
    pub fn is_interrupted(&self) -> bool {
        self.schedule().stopper.is_interrupted()
    }

    /// Sleeps until `at_ns`, plus the kernel's wake-up latency. Returns immediately for a time in the past. An interrupt ends it early.
    pub async fn sleep_until(&self, at_ns: u64) {
        match &self.reactor {
            Reactor::Blocking(reactor) => reactor.sleep_until(at_ns),
            _ => self.schedule().sleep_until(at_ns).await,
        }
    }

    /// Lets every other ready task of this reactor run first, for code that would otherwise never wait.
    pub async fn yield_now(&self) {
        match &self.reactor {
            Reactor::Blocking(_) => std::thread::yield_now(),
            _ => Yielding::new(self.schedule()).await,
        }
    }

    /// Connects to an endpoint. The first call for a host name blocks the reactor while the name is resolved.
    ///
    /// # Errors
    /// The I/O error of the last address; [`io::ErrorKind::TimedOut`] after `within`, at most 0.2 s late;
    /// [`io::ErrorKind::Interrupted`]; [`io::ErrorKind::NotFound`] for an unknown host or a missing socket file.
    pub async fn connect(&self, endpoint: &Endpoint, within: Duration) -> io::Result<Stream> {
        let until_ns = self.now_ns().saturating_add(within.as_nanos() as u64);
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in self.resolve(endpoint, until_ns)? {
            match self.connect_to(&address, until_ns).await {
                Ok(stream) => return Ok(stream),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn resolve(&self, endpoint: &Endpoint, until_ns: u64) -> io::Result<Vec<Address>> {
        if let Some(addresses) = self.resolved.borrow().get(endpoint) {
            return Ok(addresses.clone());
        }
        let addresses = match &self.reactor {
            Reactor::Blocking(reactor) => reactor.resolve(endpoint, until_ns)?,
            _ => socket::resolve(endpoint)?,
        };
        let mut resolved = self.resolved.borrow_mut();
        resolved.insert(endpoint.clone(), addresses.clone());
        Ok(addresses)
    }

    async fn connect_to(&self, address: &Address, until_ns: u64) -> io::Result<Stream> {
        loop {
            if self.is_interrupted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match socket::begin(address)? {
                Begun::Connected(socket) => return self.adopt(socket),
                Begun::Pending(socket) => return self.finish(socket, until_ns).await,
                Begun::Busy if self.now_ns() >= until_ns => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Begun::Busy => {
                    let soon_ns = self.now_ns() + BUSY_NS;
                    self.sleep_until(soon_ns.min(until_ns)).await;
                }
            }
        }
    }

    async fn finish(&self, socket: OwnedFd, until_ns: u64) -> io::Result<Stream> {
        let mut stream = self.adopt(socket)?;
        let left_ns = until_ns.saturating_sub(self.now_ns());
        stream.set_stall_timeout(Some(Duration::from_nanos(left_ns)));
        stream.run(Operation::Writable).await?;
        stream.connected()?;
        stream.set_stall_timeout(None);
        Ok(stream)
    }

    /// Makes a stream from a connected socket, such as an accepted one or half of a pair.
    ///
    /// # Errors
    /// I/O errors of registering the socket; [`io::ErrorKind::Unsupported`] on Linux AIO.
    pub fn adopt(&self, socket: OwnedFd) -> io::Result<Stream> {
        Ok(Stream(match &self.reactor {
            Reactor::Uring(reactor) => Inner::Uring(uring::Stream::adopt(reactor, socket)?),
            Reactor::Epoll(reactor) => Inner::Epoll(epoll::Stream::adopt(reactor, socket)?),
            Reactor::Aio(_) => return Err(io::ErrorKind::Unsupported.into()),
            Reactor::Blocking(reactor) => {
                Inner::Blocking(blocking::Stream::adopt(reactor, socket)?)
            }
        }))
    }

    /// Makes a transfer between a buffer and files. All transfers of a reactor should share their files, which are registered once.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] on epoll.
    pub fn transfer(&self, files: &Arc<[File]>, mut buffer: Aligned) -> io::Result<Transfer> {
        // Submitting to a device whose queue is full blocks.
        self.schedule().pulse.mute();
        let backend = match &self.reactor {
            Reactor::Uring(reactor) => {
                let place = reactor.place(files, &mut buffer);
                transfer::Inner::Uring(reactor.clone(), place)
            }
            Reactor::Aio(reactor) => transfer::Inner::Aio(reactor.clone(), reactor.occupy()),
            Reactor::Blocking(reactor) => transfer::Inner::Blocking(reactor.clone()),
            Reactor::Epoll(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Transfer::new(backend, files, buffer))
    }

    pub(crate) fn turn(&self) -> io::Result<()> {
        match &self.reactor {
            Reactor::Uring(reactor) => reactor.turn(),
            Reactor::Epoll(reactor) => reactor.turn(),
            Reactor::Aio(reactor) => reactor.turn(),
            Reactor::Blocking(reactor) => {
                reactor.turn();
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
