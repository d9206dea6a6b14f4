//! A request that was written, on its way to the end of its reply.
//!
//! Goal: the usual way, a reply that arrives whole on a plain stream, is one future written by hand, so that it costs no
//! more than its parts. Non-goal: the same for any other reply, for an error or for TLS: a boxed future goes on with it.

use super::Connection;
use crate::channel::Channel;
use crate::error::WireError;
use crate::reply::{self, Done, Walk};
use std::future::{Future, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What [`Connection::execute`] and [`Connection::query`] give: await it.
#[must_use = "a request whose reply nobody awaits ends its connection"]
pub struct Ask<'c> {
    /// None: `rest` has it.
    connection: Option<&'c mut Connection>,
    /// Of the reply's first packet.
    number: u8,
    has_begun: bool,
    /// What goes on where the usual way ends.
    rest: Option<Rest<'c>>,
}

type Rest<'c> = Pin<Box<dyn Future<Output = Result<Done, WireError>> + 'c>>;

impl<'c> Ask<'c> {
    /// `written`: the number of the reply's first packet, or why nothing was written.
    #[inline]
    pub(super) fn new(connection: &'c mut Connection, written: Result<u8, WireError>) -> Ask<'c> {
        match written {
            Ok(number) => Ask {
                connection: Some(connection),
                number,
                has_begun: false,
                rest: None,
            },
            Err(error) => Ask::refused(error),
        }
    }

    #[cold]
    fn refused(error: WireError) -> Ask<'c> {
        Ask {
            connection: None,
            number: 0,
            has_begun: false,
            rest: Some(Box::pin(ready(Err(error)))),
        }
    }

    /// Leaves the usual way, at an end of the exchange or, with TLS, before its beginning.
    #[cold]
    fn go_on(
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

impl Future for Ask<'_> {
    type Output = Result<Done, WireError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ask = &mut *self;
        let Some(connection) = &mut ask.connection else {
            return ask.go_on(None, context);
        };
        let Channel::Plain(stream) = &mut connection.link.channel else {
            return ask.go_on(None, context);
        };
        let Poll::Ready(exchanged) = stream.poll_exchange(&mut ask.has_begun) else {
            return Poll::Pending;
        };
        let incoming = stream.incoming();
        match reply::whole(incoming, ask.number, connection.ends_by_ok) {
            Some(done) if exchanged.is_ok() => {
                let bytes = incoming.len();
                stream.consume(bytes);
                connection.is_under_way = false;
                Poll::Ready(Ok(done))
            }
            _ => ask.go_on(Some(exchanged), context),
        }
    }
}

impl Connection {
    /// Any channel and any reply: in parts, in several results, with an error, malformed. `exchanged`: what came of the
    /// exchange, where it has been.
    async fn finish(
        &mut self,
        number: u8,
        exchanged: Option<io::Result<()>>,
    ) -> Result<Done, WireError> {
        let exchanged = match exchanged {
            Some(exchanged) => exchanged,
            None => self.link.channel.exchange().await,
        };
        if let Err(cause) = exchanged {
            return Err(self.broken(cause));
        }
        let mut walk = Walk::new(number, self.ends_by_ok);
        loop {
            let mut at = 0;
            let walked = walk.walk(self.link.channel.incoming(), &mut at);
            self.link.channel.consume(at);
            match walked {
                Ok(true) => return self.end(Ok(walk.done)),
                Ok(false) => self.link.channel.receive().await?,
                Err(error) => return self.end(Err(error)),
            }
        }
    }
}
