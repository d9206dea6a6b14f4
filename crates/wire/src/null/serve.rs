//! All connections of a null server on one thread: a task each, on the load engine's own executor.
//!
//! Goals: an exchange costs no more than it does the client; a stop is seen soon. Non-goal: being woken by a new connection;
//! they are looked for now and then, which only logins wait for.

use super::conversation::{After, Conversation, request_bytes};
use super::{Behaviour, Listener};
use crate::packet::HEADER;
use load::executor::{self, Spawner};
use load::{Io, Stream};
use rustix::io::Errno;
use rustix::net::{self, SocketFlags};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How often new connections, and the stop, are looked for.
const LOOK_EVERY_NS: u64 = 2_000_000;

/// Connections that are served at the least cost; more are served, too.
const CAPACITY: usize = 256;

/// Serves until the stop, which is seen within 20 ms. Several threads may serve one listener.
///
/// # Errors
/// What the system says of the listener; connections that break are forgotten.
pub fn serve(listener: &Listener, behaviour: &Behaviour, stop: &AtomicBool) -> io::Result<()> {
    let listening = listening(listener)?;
    let capacity = capacity(behaviour);
    let backend = executor::backend();
    let outcome = Cell::new(Ok(()));
    executor::run_spawning(backend, Instant::now(), None, capacity, |io, spawner| {
        let serving = Serving {
            io: io.clone(),
            spawner: spawner.clone(),
            listening,
            is_tcp: matches!(listener, Listener::Tcp(_)),
            behaviour,
        };
        let outcome = &outcome;
        spawner.spawn(async move {
            outcome.set(serving.accept_until(stop).await);
            serving.io.stopper().interrupt();
        });
    })?;
    outcome.into_inner()
}

fn listening(listener: &Listener) -> io::Result<BorrowedFd<'_>> {
    match listener {
        Listener::Unix(listener) => {
            listener.set_nonblocking(true)?;
            Ok(listener.as_fd())
        }
        Listener::Tcp(listener) => {
            listener.set_nonblocking(true)?;
            Ok(listener.as_fd())
        }
    }
}

/// A ring that keeps the sockets in its own table lets go of one late on some kernels (before 6.13), when other
/// connections wait: not where closing one is what it is asked for.
fn capacity(behaviour: &Behaviour) -> usize {
    match behaviour.reset_after {
        Some(_) => 0,
        None => CAPACITY,
    }
}

struct Serving<'a> {
    io: Io,
    spawner: Spawner<'a>,
    listening: BorrowedFd<'a>,
    is_tcp: bool,
    behaviour: &'a Behaviour,
}

impl Serving<'_> {
    async fn accept_until(&self, stop: &AtomicBool) -> io::Result<()> {
        while !stop.load(Ordering::Relaxed) {
            while let Some(socket) = self.accept()? {
                let peer = Peer::new(&self.io, socket, self.behaviour)?;
                self.spawner.spawn(async {
                    // However a connection ends, the others go on.
                    let _ = peer.serve().await;
                });
            }
            let soon_ns = self.io.now_ns() + LOOK_EVERY_NS;
            self.io.sleep_until(soon_ns).await;
        }
        Ok(())
    }

    /// None: nobody waits to be accepted.
    fn accept(&self) -> io::Result<Option<OwnedFd>> {
        loop {
            match net::accept_with(self.listening, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    if self.is_tcp {
                        net::sockopt::set_tcp_nodelay(&socket, true)?;
                    }
                    return Ok(Some(socket));
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The server's side of one connection.
struct Peer<'a> {
    io: Io,
    stream: Stream,
    conversation: Conversation,
    behaviour: &'a Behaviour,
    /// Written while the stream still holds the requests; then its buffer and this one change places.
    answers: Vec<u8>,
}

impl<'a> Peer<'a> {
    fn new(io: &Io, socket: OwnedFd, behaviour: &'a Behaviour) -> io::Result<Peer<'a>> {
        let mut stream = io.adopt(socket)?;
        Ok(Peer {
            io: io.clone(),
            conversation: Conversation::new(stream.outgoing()),
            stream,
            behaviour,
            answers: Vec::new(),
        })
    }

    /// Until it is to close the connection, or the connection breaks.
    async fn serve(mut self) -> io::Result<()> {
        loop {
            self.receive().await?;
            match self.answer() {
                After::Answer => {}
                After::AnswerStatement => self.delay().await,
                After::Close => return Ok(()),
                After::Silence => return self.stay_silent().await,
            }
            std::mem::swap(self.stream.outgoing(), &mut self.answers);
        }
    }

    /// Sends what is to be sent, and waits for more.
    async fn receive(&mut self) -> io::Result<()> {
        match self.stream.outgoing().is_empty() {
            true => self.stream.receive().await,
            false => self.stream.exchange().await,
        }
    }

    /// Answers every whole request that has arrived.
    fn answer(&mut self) -> After {
        let arrived = self.stream.incoming();
        let mut after = After::Answer;
        let mut taken = 0;
        while let Some(bytes) = request_bytes(&arrived[taken..]) {
            let request = &arrived[taken + HEADER..taken + bytes];
            let next = self
                .conversation
                .answer(request, self.behaviour, &mut self.answers);
            after = after.max(next);
            taken += bytes;
        }
        self.stream.consume(taken);
        after
    }

    async fn delay(&self) {
        if !self.behaviour.delay.is_zero() {
            let delay_ns = self.behaviour.delay.as_nanos() as u64;
            self.io.sleep_until(self.io.now_ns() + delay_ns).await;
        }
    }

    /// Until the other side hangs up.
    async fn stay_silent(mut self) -> io::Result<()> {
        loop {
            let arrived = self.stream.incoming().len();
            self.stream.consume(arrived);
            self.stream.receive().await?;
        }
    }
}
