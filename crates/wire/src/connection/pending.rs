//! The future of a reply to a request that is already written.
//!
//! Goal: the fast path, a reply that arrives in one piece on a plain stream, is one hand-written future without overhead.
//! Non-goal: a fast path for other replies, errors and TLS, which continue in a boxed future.

use super::Connection;
use crate::channel::Channel;
use crate::error::WireError;
use crate::reply::{self, Done, Walk};
use std::future::{Future, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The pending reply of [`Connection::execute`] or [`Connection::query`]. Await it.
#[must_use = "a connection is unusable if the reply to its request is not awaited"]
pub struct PendingReply<'c> {
    /// None once `rest` has taken it.
    connection: Option<&'c mut Connection>,
    /// Sequence number of the reply's first packet.
    number: u8,
    has_begun: bool,
    /// The slow path, once the fast path was left.
    rest: Option<Rest<'c>>,
}

type Rest<'c> = Pin<Box<dyn Future<Output = Result<Done, WireError>> + 'c>>;

impl<'c> PendingReply<'c> {
    /// `written` is the sequence number of the reply's first packet, or why no request was written.
    #[inline]
    pub(super) fn new(
        connection: &'c mut Connection,
        written: Result<u8, WireError>,
    ) -> PendingReply<'c> {
        match written {
            Ok(number) => PendingReply {
                connection: Some(connection),
                number,
                has_begun: false,
                rest: None,
            },
            Err(error) => PendingReply::failed(error),
        }
    }

    #[cold]
    fn failed(error: WireError) -> PendingReply<'c> {
        PendingReply {
            connection: None,
            number: 0,
            has_begun: false,
            rest: Some(Box::pin(ready(Err(error)))),
        }
    }

    /// Leaves the fast path, after the exchange or, with TLS, before it.
    #[cold]
    fn continue_slowly(
        &mut self,
        exchanged: Option<io::Result<()>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Done, WireError>> {
        if let Some(connection) = self.connection.take() {
            let rest = connection.finish(self.number, exchanged);
            self.rest = Some(Box::pin(rest));
        }
        match &mut self.rest {
            Some(rest) => rest.as_mut().poll(context),
            None => Poll::Ready(Err(WireError::Ended)),
        }
    }
}

impl Future for PendingReply<'_> {
    type Output = Result<Done, WireError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let pending = &mut *self;
        let Some(connection) = &mut pending.connection else {
            return pending.continue_slowly(None, context);
        };
        let Channel::Plain(stream) = &mut connection.link.channel else {
            return pending.continue_slowly(None, context);
        };
        let Poll::Ready(exchanged) = stream.poll_exchange(&mut pending.has_begun) else {
            return Poll::Pending;
        };
        let incoming = stream.incoming();
        match reply::whole(incoming, pending.number, connection.ends_by_ok) {
            Some(done) if exchanged.is_ok() => {
                let bytes = incoming.len();
                stream.consume(bytes);
                connection.is_under_way = false;
                Poll::Ready(Ok(done))
            }
            _ => pending.continue_slowly(Some(exchanged), context),
        }
    }
}

impl Connection {
    /// Reads any reply on any channel: in parts, with several results, with an error, malformed. `exchanged` is the result of the
    /// exchange if it has already run.
    async fn finish(
        &mut self,
        number: u8,
        exchanged: Option<io::Result<()>>,
    ) -> Result<Done, WireError> {
        let exchanged = match exchanged {
            Some(exchanged) => exchanged,
            None => self.link.channel.exchange().await,
        };
        let walk = |own: &mut Connection, walk: &mut Walk, at: &mut usize| {
            walk.walk(own.link.channel.incoming(), at)
        };
        self.after_exchange(exchanged, number, walk).await
    }
}
