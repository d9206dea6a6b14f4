//! One stream over every backend.
//!
//! Goal: choosing the backend costs an operation one predictable branch. Non-goal: connecting ([`super::Io`]).

use super::buffers::Buffers;
use super::{Operation, blocking, epoll, uring};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A connected byte stream with a buffer for each direction. Dropping it closes the connection.
pub struct Stream(pub(super) Inner);

pub(super) enum Inner {
    Uring(uring::Stream),
    Epoll(epoll::Stream),
    Blocking(blocking::Stream),
}

impl Stream {
    #[inline]
    fn buffers(&mut self) -> &mut Buffers {
        match &mut self.0 {
            Inner::Uring(stream) => stream.buffers_mut(),
            Inner::Epoll(stream) => &mut stream.buffers,
            Inner::Blocking(stream) => &mut stream.buffers,
        }
    }

    /// What is to be sent: append to it.
    #[inline]
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.buffers().outgoing
    }

    /// What has arrived and was not consumed.
    #[inline]
    pub fn incoming(&self) -> &[u8] {
        match &self.0 {
            Inner::Uring(stream) => stream.buffers().map_or(&[], Buffers::unread),
            Inner::Epoll(stream) => stream.buffers.unread(),
            Inner::Blocking(stream) => stream.buffers.unread(),
        }
    }

    /// Forgets the first bytes of `incoming`.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.buffers().consume(bytes);
    }

    /// Sends all of `outgoing` and leaves it empty.
    ///
    /// # Errors
    /// What the system says, and those of [`Stream::receive`].
    #[inline]
    pub fn send(&mut self) -> Running<'_> {
        self.run(Operation::Send)
    }

    /// Appends what arrives to `incoming`, at least one byte.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] where the other side closed; [`io::ErrorKind::TimedOut`], see
    /// [`Stream::stalled_after`]; [`io::ErrorKind::Interrupted`], see [`crate::Stopper`].
    #[inline]
    pub fn receive(&mut self) -> Running<'_> {
        self.run(Operation::Receive)
    }

    /// [`Stream::send`] and [`Stream::receive`] in one step: what a query does. Nothing is received before all is
    /// sent: a server that answers before it has read the question through needs the two steps.
    #[inline]
    pub fn exchange(&mut self) -> Running<'_> {
        self.run(Operation::Exchange)
    }

    #[inline]
    pub(super) fn run(&mut self, operation: Operation) -> Running<'_> {
        Running {
            stream: self,
            operation,
            begun: false,
        }
    }

    /// What came of connecting, after it was writable.
    pub(super) fn connected(&self) -> io::Result<()> {
        match &self.0 {
            Inner::Uring(stream) => stream.connected(),
            Inner::Epoll(stream) => stream.connected(),
            Inner::Blocking(stream) => stream.connected(),
        }
    }

    /// An operation that waits longer ends with [`io::ErrorKind::TimedOut`], at most 0.2 s late; the stream is of no
    /// use then. None: forever.
    ///
    /// # Errors
    /// What the system says.
    pub fn stalled_after(&mut self, limit: Option<Duration>) -> io::Result<()> {
        match &mut self.0 {
            Inner::Uring(stream) => stream.stalled_after(limit),
            Inner::Epoll(stream) => stream.stalled_after(limit),
            Inner::Blocking(stream) => {
                stream.stalled_after(limit);
                Ok(())
            }
        }
    }
}

/// An operation of a stream: await it. A future written by hand, since it is on the way of every query.
#[must_use = "nothing happens until it is awaited"]
pub struct Running<'a> {
    stream: &'a mut Stream,
    operation: Operation,
    begun: bool,
}

impl Future for Running<'_> {
    type Output = io::Result<()>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Running {
            stream,
            operation,
            begun,
        } = &mut *self;
        match &mut stream.0 {
            Inner::Uring(stream) => stream.poll(*operation, begun),
            Inner::Epoll(stream) => stream.poll(*operation, begun),
            Inner::Blocking(stream) => Poll::Ready(stream.run(*operation)),
        }
    }
}
