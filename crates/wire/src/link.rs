//! One packet at a time, for what is not hot: logging in, preparing.

use crate::channel::Channel;
use crate::error::WireError;
use crate::packet::{self, CONTROL_MAX, HEADER};
use std::io;

pub struct Link {
    pub channel: Channel,
    /// The number that the next packet has, whichever side sends it.
    pub number: u8,
}

impl Link {
    pub fn new(channel: Channel) -> Link {
        Link { channel, number: 0 }
    }

    /// Waits for a whole packet and returns its payload's length.
    ///
    /// # Errors
    /// As [`Link::arrived`], and what the system says of the connection.
    pub async fn arrive(&mut self) -> Result<usize, WireError> {
        loop {
            if let Some(bytes) = self.arrived()? {
                return Ok(bytes);
            }
            self.channel.receive().await?;
        }
    }

    /// The length of the payload that is there; none: not all of it.
    ///
    /// # Errors
    /// [`WireError::Protocol`] where it is not the packet that is due, or longer than anything but a row is.
    pub fn arrived(&self) -> Result<Option<usize>, WireError> {
        let Some((bytes, number)) = packet::header(self.channel.incoming()) else {
            return Ok(None);
        };
        if number != self.number {
            return Err(packet::out_of_order(self.number, number));
        }
        if bytes > CONTROL_MAX {
            return Err(WireError::Protocol(format!(
                "a packet of {bytes} bytes came where none has more than {CONTROL_MAX}"
            )));
        }
        let is_whole = self.channel.incoming().len() >= HEADER + bytes;
        Ok(is_whole.then_some(bytes))
    }

    /// The payload that [`Link::arrived`] told of.
    pub fn payload(&self, bytes: usize) -> &[u8] {
        &self.channel.incoming()[HEADER..HEADER + bytes]
    }

    /// Forgets it.
    pub fn pass(&mut self, bytes: usize) {
        self.channel.consume(HEADER + bytes);
        self.number = self.number.wrapping_add(1);
    }

    /// Sends one packet.
    pub async fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let out = self.channel.outgoing();
        let start = packet::begin(out);
        write(out);
        self.number = packet::finish(out, start, self.number);
        self.channel.send().await
    }
}
