//! The blocking backend: calls block the thread, one thread per client.
//!
//! Goal: the same behaviour as on a reactor, for workloads whose operations block anyway. Non-goal: speed. A receive costs two
//! system calls.

use super::Operation;
use super::buffers::Buffers;
use super::schedule::{Schedule, Wait};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub(super) struct Reactor {
    pub schedule: Schedule,
}

impl Reactor {
    pub(super) fn new(origin: Instant) -> io::Result<Reactor> {
        Ok(Reactor {
            schedule: Schedule::new(origin)?,
        })
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
}

pub(super) struct Stream {
    reactor: Rc<Reactor>,
    socket: OwnedFd,
    pub buffers: Box<Buffers>,
    limit: Option<Duration>,
}

impl Stream {
    pub(super) fn adopt(reactor: &Rc<Reactor>, socket: OwnedFd) -> io::Result<Stream> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Stream {
            reactor: reactor.clone(),
            socket,
            buffers: Box::new(Buffers::new()),
            limit: None,
        })
    }

    pub(super) fn run(&mut self, operation: Operation) -> io::Result<()> {
        match operation {
            Operation::Send => self.send(),
            Operation::Receive => self.receive(),
            Operation::Exchange => self.send().and_then(|()| self.receive()),
            Operation::Writable => self.wait_for(PollFlags::OUT),
        }
    }

    pub(super) fn set_stall_timeout(&mut self, limit: Option<Duration>) {
        self.limit = limit;
    }

    /// The result of connecting, once the socket is writable.
    pub(super) fn connected(&self) -> io::Result<()> {
        super::socket::outcome(&self.socket)
    }

    fn send(&mut self) -> io::Result<()> {
        while !self.buffers.unsent().is_empty() {
            match send(&self.socket, self.buffers.unsent(), SendFlags::NOSIGNAL) {
                Ok(bytes) => self.buffers.sent(bytes),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait_for(PollFlags::OUT)?,
                Err(error) => return Err(error.into()),
            }
        }
        self.buffers.clear_outgoing();
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        loop {
            self.wait_for(PollFlags::IN)?;
            match recv(&self.socket, self.buffers.free_space(), RecvFlags::empty()) {
                Ok((_, 0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((_, bytes)) => {
                    // SAFETY: `recv` initialised `bytes` bytes of the free space.
                    unsafe { self.buffers.received(bytes) };
                    return Ok(());
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn wait_for(&self, flags: PollFlags) -> io::Result<()> {
        let until = self
            .limit
            .and_then(|limit| Instant::now().checked_add(limit));
        let stopper = &self.reactor.schedule.stopper;
        loop {
            let left = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
            let mut both = [
                PollFd::new(&self.socket, flags),
                PollFd::from_borrowed_fd(stopper.wake_fd(), PollFlags::IN),
            ];
            match poll(&mut both, left.as_ref()) {
                _ if stopper.is_interrupted() => return Err(io::ErrorKind::Interrupted.into()),
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
