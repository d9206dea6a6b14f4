//! The event loop of a null server: all connections on one thread.

use super::conversation::{After, Conversation, request_bytes};
use super::{Behaviour, Listener};
use crate::packet::HEADER;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Upper bound for noticing a stop.
const STOP_WITHIN: Duration = Duration::from_millis(20);

const EVENTS: usize = 256;
/// Minimum free space for a receive.
const READ_BYTES: usize = 4 * 1024;

/// Identifies the listener among the events. Connections are numbered from 0.
const LISTENER: u64 = u64::MAX;

/// Serves until `stop` is set, which is noticed within 20 ms. Several threads may serve one listener.
///
/// # Errors
/// I/O errors of the listener. Broken connections are dropped without an error.
pub fn serve(listener: &Listener, behaviour: &Behaviour, stop: &AtomicBool) -> io::Result<()> {
    let descriptor = match listener {
        Listener::Unix(listener) => {
            listener.set_nonblocking(true)?;
            listener.as_fd()
        }
        Listener::Tcp(listener) => {
            listener.set_nonblocking(true)?;
            listener.as_fd()
        }
    };
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
    epoll::add(&poll, descriptor, EventData::new_u64(LISTENER), flags)?;
    let mut serving = Serving {
        poll,
        is_tcp: matches!(listener, Listener::Tcp(_)),
        behaviour,
        peers: BTreeMap::new(),
        next: 0,
        due: BinaryHeap::new(),
    };
    let mut events = Vec::with_capacity(EVENTS);
    while !stop.load(Ordering::Relaxed) {
        events.clear();
        let timeout = rustix::event::Timespec::try_from(serving.timeout()).ok();
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&serving.poll, spare, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            match event.data.u64() {
                LISTENER => serving.accept(descriptor)?,
                peer => serving.handle(peer),
            }
        }
        serving.send_due();
    }
    Ok(())
}

struct Serving<'a> {
    poll: OwnedFd,
    is_tcp: bool,
    behaviour: &'a Behaviour,
    peers: BTreeMap<u64, Peer>,
    next: u64,
    /// Due times of delayed answers with their connections.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
}

/// One client.
struct Peer {
    socket: OwnedFd,
    conversation: Conversation,
    /// Received bytes. Between events less than one whole request.
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    is_silent: bool,
}

enum Turn {
    Go,
    /// The answer is delayed.
    Delay,
    End,
}

impl Serving<'_> {
    /// The time until the next delayed answer, at most [`STOP_WITHIN`].
    fn timeout(&self) -> Duration {
        match self.due.peek() {
            Some(Reverse((at, _))) => at
                .saturating_duration_since(Instant::now())
                .min(STOP_WITHIN),
            None => STOP_WITHIN,
        }
    }

    fn accept(&mut self, listener: BorrowedFd) -> io::Result<()> {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = match net::accept_with(listener, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
            if self.is_tcp {
                net::sockopt::set_tcp_nodelay(&socket, true)?;
            }
            let number = self.next;
            epoll::add(
                &self.poll,
                &socket,
                EventData::new_u64(number),
                EventFlags::IN,
            )?;
            let mut outgoing = Vec::new();
            let conversation = Conversation::new(&mut outgoing);
            let mut peer = Peer {
                socket,
                conversation,
                incoming: Vec::new(),
                outgoing,
                is_silent: false,
            };
            if peer.send() {
                self.next += 1;
                self.peers.insert(number, peer);
            }
        }
    }

    fn handle(&mut self, number: u64) {
        let Some(peer) = self.peers.get_mut(&number) else {
            return;
        };
        match peer.handle(self.behaviour) {
            Turn::Go => {}
            Turn::Delay => {
                let at = Instant::now() + self.behaviour.delay;
                self.due.push(Reverse((at, number)));
            }
            Turn::End => {
                self.peers.remove(&number);
            }
        }
    }

    fn send_due(&mut self) {
        while let Some(Reverse((at, number))) = self.due.peek().copied() {
            if at > Instant::now() {
                return;
            }
            self.due.pop();
            let is_gone = self.peers.get_mut(&number).is_some_and(|peer| !peer.send());
            if is_gone {
                self.peers.remove(&number);
            }
        }
    }
}

impl Peer {
    /// Receives what has arrived and sends the immediate answers.
    fn handle(&mut self, behaviour: &Behaviour) -> Turn {
        if !self.receive() {
            return Turn::End;
        }
        if self.is_silent {
            self.incoming.clear();
            return Turn::Go;
        }
        let after = self.answer(behaviour);
        self.is_silent = after == After::Silence;
        match after {
            After::Close => Turn::End,
            After::AnswerStatement if !behaviour.delay.is_zero() => Turn::Delay,
            _ if self.send() => Turn::Go,
            _ => Turn::End,
        }
    }

    /// False if the connection is closed.
    fn receive(&mut self) -> bool {
        self.incoming.reserve(READ_BYTES);
        let spare = rustix::buffer::spare_capacity(&mut self.incoming);
        match net::recv(&self.socket, spare, RecvFlags::empty()) {
            Ok((0, _)) => false,
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => true,
            Err(_) => false,
        }
    }

    /// Answers each whole request that has arrived.
    fn answer(&mut self, behaviour: &Behaviour) -> After {
        let mut after = After::Answer;
        let mut taken = 0;
        while let Some(bytes) = request_bytes(&self.incoming[taken..]) {
            let request = &self.incoming[taken + HEADER..taken + bytes];
            let next = self
                .conversation
                .answer(request, behaviour, &mut self.outgoing);
            after = after.max(next);
            taken += bytes;
        }
        self.incoming.drain(..taken);
        after
    }

    /// False if the connection is closed or the socket is full. Answers are small, so a full socket means that the client does not
    /// read.
    fn send(&mut self) -> bool {
        if self.outgoing.is_empty() {
            return true;
        }
        let sent = net::send(&self.socket, &self.outgoing, SendFlags::NOSIGNAL);
        let is_sent = sent == Ok(self.outgoing.len());
        self.outgoing.clear();
        is_sent
    }
}
