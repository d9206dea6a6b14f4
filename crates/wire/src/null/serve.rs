//! All connections of a null server on one thread.

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

/// How soon a stop is seen.
const STOP_WITHIN: Duration = Duration::from_millis(20);

const EVENTS: usize = 256;
const READ_BYTES: usize = 64 * 1024;

/// A request may have so many bytes.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// The listener among the events; connections count from 0.
const LISTENER: u64 = u64::MAX;

/// Serves until the stop, which is seen within 20 ms. Several threads may serve one listener.
///
/// # Errors
/// What the system says of the listener; connections that break are forgotten.
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
        guests: BTreeMap::new(),
        next: 0,
        due: BinaryHeap::new(),
        buffer: vec![0; READ_BYTES],
    };
    let mut events = Vec::with_capacity(EVENTS);
    while !stop.load(Ordering::Relaxed) {
        events.clear();
        let timeout = rustix::event::Timespec::try_from(serving.patience()).ok();
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&serving.poll, spare, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            match event.data.u64() {
                LISTENER => serving.accept(descriptor)?,
                guest => serving.attend(guest),
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
    guests: BTreeMap<u64, Guest>,
    next: u64,
    /// When delayed answers are due, and whose.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    buffer: Vec<u8>,
}

struct Guest {
    socket: OwnedFd,
    conversation: Conversation,
    /// Less than a whole request.
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    is_silent: bool,
}

enum Turn {
    Go,
    /// The answer waits.
    Delay,
    End,
}

impl Serving<'_> {
    /// Until the next delayed answer, and no longer than a stop may wait.
    fn patience(&self) -> Duration {
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
            let mut guest = Guest {
                socket,
                conversation,
                incoming: Vec::new(),
                outgoing,
                is_silent: false,
            };
            if guest.send() {
                self.next += 1;
                self.guests.insert(number, guest);
            }
        }
    }

    fn attend(&mut self, number: u64) {
        let Some(guest) = self.guests.get_mut(&number) else {
            return;
        };
        match guest.attend(&mut self.buffer, self.behaviour) {
            Turn::Go => {}
            Turn::Delay => {
                let at = Instant::now() + self.behaviour.delay;
                self.due.push(Reverse((at, number)));
            }
            Turn::End => {
                self.guests.remove(&number);
            }
        }
    }

    fn send_due(&mut self) {
        while let Some(Reverse((at, number))) = self.due.peek().copied() {
            if at > Instant::now() {
                return;
            }
            self.due.pop();
            let is_gone = self
                .guests
                .get_mut(&number)
                .is_some_and(|guest| !guest.send());
            if is_gone {
                self.guests.remove(&number);
            }
        }
    }
}

impl Guest {
    /// Takes what has arrived, and answers each whole request.
    fn attend(&mut self, buffer: &mut [u8], behaviour: &Behaviour) -> Turn {
        let arrived = match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Turn::End,
            Ok((count, _)) => &buffer[..count],
            Err(Errno::AGAIN | Errno::INTR) => return Turn::Go,
            Err(_) => return Turn::End,
        };
        if self.is_silent {
            return Turn::Go;
        }
        let mut is_delayed = false;
        let mut held = std::mem::take(&mut self.incoming);
        let mut left = match held.is_empty() {
            true => arrived,
            false => {
                held.extend_from_slice(arrived);
                &held[..]
            }
        };
        while let Some(bytes) = request_bytes(left) {
            let request = &left[HEADER..bytes];
            left = &left[bytes..];
            match self
                .conversation
                .answer(request, behaviour, &mut self.outgoing)
            {
                After::Answer => {}
                After::AnswerStatement => is_delayed |= !behaviour.delay.is_zero(),
                After::Close => return Turn::End,
                After::Silence => self.is_silent = true,
            }
        }
        if left.len() > REQUEST_BYTES_MAX {
            return Turn::End;
        }
        self.incoming = left.to_vec();
        match is_delayed {
            true => Turn::Delay,
            false if self.send() => Turn::Go,
            false => Turn::End,
        }
    }

    /// False where the connection is gone, or nobody takes the answers (they are small, so that nobody reads at all).
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
