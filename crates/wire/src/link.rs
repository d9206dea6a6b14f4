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
    /// [`WireError::Protocol`] where it is not the packet that is due, or longer than anything but a row is.
    pub async fn arrive(&mut self) -> Result<usize, WireError> {
        loop {
            if let Some((bytes, number)) = packet::header(self.channel.incoming()) {
                if number != self.number {
                    return Err(packet::out_of_order(self.number, number));
                }
                if bytes > CONTROL_MAX {
                    return Err(WireError::Protocol(format!(
                        "a packet of {bytes} bytes came where none has more than {CONTROL_MAX}"
                    )));
                }
                if self.channel.incoming().len() >= HEADER + bytes {
                    return Ok(bytes);
                }
            }
            self.channel.receive().await?;
        }
    }

    /// The payload that [`Link::arrive`] told of.
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
