//! The byte channel to the server: plain, or TLS.
//!
//! Goal: a plain channel costs one extra branch. Non-goals: packets, reconnecting.

pub(crate) mod deadline;
pub(crate) mod link;
pub(crate) mod tls;

use load::Stream;
use std::io;
use std::time::Duration;
use tls::Encrypted;

/// A channel with the interface of [`Stream`]: append to `outgoing`, send, receive, read `incoming`, consume.
pub(crate) enum Channel {
    Plain(Stream),
    Encrypted(Box<Encrypted>),
}

impl Channel {
    #[inline]
    pub(crate) fn outgoing(&mut self) -> &mut Vec<u8> {
        match self {
            Channel::Plain(stream) => stream.outgoing(),
            Channel::Encrypted(stream) => stream.outgoing(),
        }
    }

    #[inline]
    pub(crate) fn incoming(&self) -> &[u8] {
        match self {
            Channel::Plain(stream) => stream.incoming(),
            Channel::Encrypted(stream) => stream.incoming(),
        }
    }

    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        match self {
            Channel::Plain(stream) => stream.consume(bytes),
            Channel::Encrypted(stream) => stream.consume(bytes),
        }
    }

    pub(crate) async fn send(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.send().await,
            Channel::Encrypted(stream) => stream.send().await,
        }
    }

    pub(crate) async fn receive(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.receive().await,
            Channel::Encrypted(stream) => stream.receive().await,
        }
    }

    /// Receives the next bytes. With TLS they may be part of a record, which adds nothing to `incoming`.
    pub(crate) async fn receive_some(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.receive().await,
            Channel::Encrypted(stream) => stream.receive_some().await,
        }
    }

    pub(crate) async fn exchange(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.exchange().await,
            Channel::Encrypted(stream) => stream.exchange().await,
        }
    }

    pub(crate) fn set_stall_timeout(&mut self, limit: Option<Duration>) {
        match self {
            Channel::Plain(stream) => stream.set_stall_timeout(limit),
            Channel::Encrypted(stream) => stream.set_stall_timeout(limit),
        }
    }
}
