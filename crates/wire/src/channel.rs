//! The bytes between two ends: plain, or through TLS.
//!
//! Goal: plain costs one branch. Non-goals: packets, reconnecting.

use crate::tls::Encrypted;
use load::Stream;
use std::io;
use std::time::Duration;

/// As [`Stream`]: append to `outgoing`, send, receive, look at `incoming`, consume.
pub enum Channel {
    Plain(Stream),
    Encrypted(Box<Encrypted>),
}

impl Channel {
    #[inline]
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        match self {
            Channel::Plain(stream) => stream.outgoing(),
            Channel::Encrypted(stream) => stream.outgoing(),
        }
    }

    #[inline]
    pub fn incoming(&self) -> &[u8] {
        match self {
            Channel::Plain(stream) => stream.incoming(),
            Channel::Encrypted(stream) => stream.incoming(),
        }
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        match self {
            Channel::Plain(stream) => stream.consume(bytes),
            Channel::Encrypted(stream) => stream.consume(bytes),
        }
    }

    pub async fn send(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.send().await,
            Channel::Encrypted(stream) => stream.send().await,
        }
    }

    pub async fn receive(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.receive().await,
            Channel::Encrypted(stream) => stream.receive().await,
        }
    }

    /// Takes in what arrives next. Through TLS that may be a part of a record, which adds nothing to `incoming`.
    pub async fn receive_some(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.receive().await,
            Channel::Encrypted(stream) => stream.receive_some().await,
        }
    }

    pub async fn exchange(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.exchange().await,
            Channel::Encrypted(stream) => stream.exchange().await,
        }
    }

    pub fn stalled_after(&mut self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Channel::Plain(stream) => stream.stalled_after(limit),
            Channel::Encrypted(stream) => stream.stalled_after(limit),
        }
    }
}
