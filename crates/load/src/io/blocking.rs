//! The blocking backend: calls block the thread, one thread per client.
//!
//! Goal: the same behaviour as on a reactor, for workloads whose operations block anyway and for sessions. A receive is one system
//! call: the socket has a timeout, after which the call returns and the wait is checked. Non-goals: many streams per thread;
//! waits that end immediately.

use super::attempts::{Access, Attempt, INTERRUPTED};
use super::buffers::Buffers;
use super::clock::timespec;
use super::schedule::{Schedule, Wait};
use super::socket::{self, Address};
use super::{Endpoint, Operation};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often a wait is checked.
const SWEEP: Duration = Duration::from_millis(100);
/// How long waits continue after the interruption of the process, so that KILL QUERY can end their statements.
const GRACE: Duration = Duration::from_secs(1);

/// Looks after a receive without a deadline in which nothing has arrived for this time. An error ends the receive.
pub type OnSilence = Box<dyn FnMut(Duration) -> io::Result<()> + Send>;

pub(super) struct Reactor {
    pub schedule: Schedule,
    /// When every wait ends. None for never.
    deadline: Cell<Option<Instant>>,
    /// Whether the process was interrupted.
    is_interrupted: fn() -> bool,
    /// When a wait first noticed the interruption.
    noticed: Cell<Option<Instant>>,
    watch: RefCell<Option<OnSilence>>,
}

impl Reactor {
    pub(super) fn new(origin: Instant, is_interrupted: fn() -> bool) -> io::Result<Reactor> {
        let schedule = Schedule::new(origin)?;
        schedule.pulse.mute();
        Ok(Reactor {
            schedule,
            deadline: Cell::new(None),
            is_interrupted,
            noticed: Cell::new(None),
            watch: RefCell::new(None),
        })
    }

    pub(super) fn on_silence(&self, watch: OnSilence) {
        self.watch.replace(Some(watch));
    }

    /// Sets when every wait ends, and starts the grace period of an interruption again.
    pub(super) fn set_deadline(&self, at: Option<Instant>) {
        self.deadline.set(at);
        self.noticed.set(None);
    }

    pub(super) fn sleep_until(&self, at_ns: u64) {
        loop {
            let left_ns = at_ns.saturating_sub(self.schedule.now_ns());
            if left_ns == 0 || self.schedule.stopper.is_interrupted() {
                return;
            }
            self.pause(Duration::from_nanos(left_ns));
        }
    }

    /// Waits for an interrupt from another thread, or for the next timer.
    pub(super) fn turn(&self) {
        match self.schedule.wait() {
            Wait::No => {}
            Wait::For(time) => self.pause(time),
            Wait::Forever => self.pause(Duration::from_millis(1)),
        }
    }

    fn pause(&self, time: Duration) {
        let mut wake_fd = [PollFd::from_borrowed_fd(
            self.schedule.stopper.wake_fd(),
            PollFlags::IN,
        )];
        // A signal can end the pause early, which is harmless.
        let _ = poll(&mut wake_fd, Some(&timespec(time)));
    }

    /// Resolves an endpoint. A host name is resolved on another thread, because nothing can interrupt the resolver.
    pub(super) fn resolve(&self, endpoint: &Endpoint, until_ns: u64) -> io::Result<Vec<Address>> {
        match endpoint {
            Endpoint::Tcp { host, .. } if host.parse::<IpAddr>().is_err() => {}
            _ => return socket::resolve(endpoint),
        }
        let (sender, resolved) = mpsc::sync_channel(1);
        let endpoint = endpoint.clone();
        let resolver = move || {
            // Nobody receives it after a timeout.
            let _ = sender.send(socket::resolve(&endpoint));
        };
        std::thread::Builder::new().spawn(resolver)?;
        let left = Duration::from_nanos(until_ns.saturating_sub(self.schedule.now_ns()));
        let until = Instant::now().checked_add(left);
        loop {
            match resolved.recv_timeout(SWEEP) {
                Ok(addresses) => return addresses,
                Err(RecvTimeoutError::Timeout) => self.check(until)?,
                Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::NotFound.into()),
            }
        }
    }

    /// # Errors
    /// Why a wait has to end now.
    fn check(&self, until: Option<Instant>) -> io::Result<()> {
        if self.schedule.stopper.is_interrupted() || self.is_past_grace() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match until {
            Some(until) if Instant::now() >= until => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }

    /// # Errors
    /// Why the watch ends a receive that nothing else ends.
    fn look(&self, silent: Duration, until: Option<Instant>) -> io::Result<()> {
        match self.watch.borrow_mut().as_mut() {
            Some(watch) if until.is_none() => watch(silent),
            _ => Ok(()),
        }
    }

    fn is_past_grace(&self) -> bool {
        if !(self.is_interrupted)() {
            return false;
        }
        let noticed = self.noticed.get().unwrap_or_else(Instant::now);
        self.noticed.set(Some(noticed));
        noticed.elapsed() >= GRACE
    }
}

pub(super) struct Stream {
    reactor: Rc<Reactor>,
    socket: OwnedFd,
    pub buffers: Box<Buffers>,
    limit: Option<Duration>,
}

impl Stream {
    pub(super) fn adopt(reactor: &Rc<Reactor>, socket: OwnedFd) -> io::Result<Stream> {
        rustix::io::ioctl_fionbio(&socket, false)?;
        for direction in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            sockopt::set_socket_timeout(&socket, direction, Some(SWEEP))?;
        }
        Ok(Stream {
            reactor: reactor.clone(),
            socket,
            buffers: Box::new(Buffers::new()),
            limit: None,
        })
    }

    pub(super) fn run(&mut self, operation: Operation) -> io::Result<()> {
        let until = self.until();
        match operation {
            Operation::Send => self.send(until),
            Operation::Receive => self.receive(until),
            Operation::Exchange => self.send(until).and_then(|()| self.receive(until)),
            Operation::Writable => self.wait_until_writable(until),
        }
    }

    pub(super) fn set_stall_timeout(&mut self, limit: Option<Duration>) {
        self.limit = limit;
    }

    /// The result of connecting, once the socket is writable.
    pub(super) fn connected(&self) -> io::Result<()> {
        socket::outcome(&self.socket)
    }

    /// When an operation that begins now has to end.
    fn until(&self) -> Option<Instant> {
        let limited = self
            .limit
            .and_then(|limit| Instant::now().checked_add(limit));
        match (limited, self.reactor.deadline.get()) {
            (Some(limited), Some(deadline)) => Some(limited.min(deadline)),
            (limited, deadline) => limited.or(deadline),
        }
    }

    fn send(&mut self, until: Option<Instant>) -> io::Result<()> {
        while !self.buffers.unsent().is_empty() {
            match send(&self.socket, self.buffers.unsent(), SendFlags::NOSIGNAL) {
                Ok(bytes) => self.buffers.sent(bytes),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
            // Also after a part: a peer that reads a byte now and then makes each call succeed.
            if !self.buffers.unsent().is_empty() {
                self.reactor.check(until)?;
            }
        }
        self.buffers.clear_outgoing();
        Ok(())
    }

    fn receive(&mut self, until: Option<Instant>) -> io::Result<()> {
        let mut silent_since = None;
        loop {
            // Also before the first call: a peer that never pauses makes each call succeed.
            self.reactor.check(until)?;
            match recv(&self.socket, self.buffers.free_space(), RecvFlags::empty()) {
                Ok((_, 0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((_, bytes)) => {
                    // SAFETY: `recv` initialised `bytes` bytes of the free space.
                    unsafe { self.buffers.received(bytes) };
                    return Ok(());
                }
                Err(Errno::INTR | Errno::AGAIN) => {
                    let since = silent_since.get_or_insert_with(Instant::now);
                    self.reactor.look(since.elapsed(), until)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn wait_until_writable(&self, until: Option<Instant>) -> io::Result<()> {
        let stopper = &self.reactor.schedule.stopper;
        loop {
            self.reactor.check(until)?;
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let pause = timespec(left.map_or(SWEEP, |left| left.min(SWEEP)));
            let mut both = [
                PollFd::new(&self.socket, PollFlags::OUT),
                PollFd::from_borrowed_fd(stopper.wake_fd(), PollFlags::IN),
            ];
            match poll(&mut both, Some(&pause)) {
                Ok(_) if !both[0].revents().is_empty() => return Ok(()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// An attempt at a file operation, as a system call. Returns its result, or a negative error number.
pub(super) fn attempt(file: Option<&File>, attempt: Attempt, buffer: &mut [u8]) -> i32 {
    let Some(file) = file else {
        return -libc::EBADF;
    };
    let part = &mut buffer[attempt.skip..];
    let done = match attempt.access {
        Access::Read => file.read_at(part, attempt.offset),
        Access::Write => file.write_at(part, attempt.offset),
        Access::Sync => file.sync_all().map(|()| 0),
        Access::SyncData => file.sync_data().map(|()| 0),
        Access::Nothing => return -libc::EINVAL,
    };
    match done {
        Ok(bytes) => bytes as i32,
        Err(error) => error.raw_os_error().map_or(INTERRUPTED, |code| -code),
    }
}
