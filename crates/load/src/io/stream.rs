//! The stream type for all backends.
//!
//! Goal: dispatching to the backend costs one predictable branch per operation. Non-goal: connecting ([`super::Io`]).

use super::buffers::Buffers;
use super::{Operation, blocking, epoll, uring};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A connected byte stream with a send and a receive buffer. Dropping it closes the connection.
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

    /// The send buffer. Append data to it.
    #[inline]
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.buffers().outgoing
    }

    /// The bytes that were received and not consumed.
    #[inline]
    pub fn incoming(&self) -> &[u8] {
        match &self.0 {
            Inner::Uring(stream) => stream.buffers().map_or(&[], Buffers::unread),
            Inner::Epoll(stream) => stream.buffers.unread(),
            Inner::Blocking(stream) => stream.buffers.unread(),
        }
    }

    /// Removes the first bytes of `incoming`.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.buffers().consume(bytes);
    }

    /// Sends all of `outgoing` and leaves it empty.
    ///
    /// # Errors
    /// I/O errors, and those of [`Stream::receive`].
    #[inline]
    pub fn send(&mut self) -> Running<'_> {
        self.run(Operation::Send)
    }

    /// Receives at least one byte and appends it to `incoming`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the peer closed the connection; [`io::ErrorKind::TimedOut`], see
    /// [`Stream::set_stall_timeout`]; [`io::ErrorKind::Interrupted`], see [`crate::Stopper`].
    #[inline]
    pub fn receive(&mut self) -> Running<'_> {
        self.run(Operation::Receive)
    }

    /// [`Stream::send`] and [`Stream::receive`] in one step, for a request and its reply. It does not receive before everything is
    /// sent. A server that answers before it has read the whole request needs the separate steps.
    #[inline]
    pub fn exchange(&mut self) -> Running<'_> {
        self.run(Operation::Exchange)
    }

    /// [`Stream::exchange`] for hand-written futures, which poll it until it is ready. `begun` is initially false.
    ///
    /// # Errors
    /// As [`Stream::receive`].
    #[inline]
    pub fn poll_exchange(&mut self, begun: &mut bool) -> Poll<io::Result<()>> {
        self.poll(Operation::Exchange, begun)
    }

    #[inline]
    fn poll(&mut self, operation: Operation, begun: &mut bool) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Inner::Uring(stream) => stream.poll(operation, begun),
            Inner::Epoll(stream) => stream.poll(operation, begun),
            Inner::Blocking(stream) => Poll::Ready(stream.run(operation)),
        }
    }

    #[inline]
    pub(super) fn run(&mut self, operation: Operation) -> Running<'_> {
        Running {
            stream: self,
            operation,
            begun: false,
        }
    }

    /// The result of connecting, once the socket is writable.
    pub(super) fn connected(&self) -> io::Result<()> {
        match &self.0 {
            Inner::Uring(stream) => stream.connected(),
            Inner::Epoll(stream) => stream.connected(),
            Inner::Blocking(stream) => stream.connected(),
        }
    }

    /// Sets the timeout of each operation, None for no timeout. An operation that waits longer ends with
    /// [`io::ErrorKind::TimedOut`], at most 0.2 s late, and the stream is unusable then.
    pub fn set_stall_timeout(&mut self, limit: Option<Duration>) {
        match &mut self.0 {
            Inner::Uring(stream) => stream.set_stall_timeout(limit),
            Inner::Epoll(stream) => stream.set_stall_timeout(limit),
            Inner::Blocking(stream) => stream.set_stall_timeout(limit),
        }
    }
}

/// The future of a stream's operation. It is hand-written because every query awaits one.
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
        let running = &mut *self;
        running.stream.poll(running.operation, &mut running.begun)
    }
}
