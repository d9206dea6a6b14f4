//! Sends and receives one packet at a time, for login and prepare, which are not on the hot path.

use super::Channel;
use crate::error::WireError;
use crate::packet::{self, CONTROL_MAX, HEADER};
use std::io;

/// A channel with the sequence number of its packets.
pub(crate) struct Link {
    pub(crate) channel: Channel,
    /// Sequence number of the next packet, whichever side sends it.
    pub(crate) number: u8,
}

impl Link {
    pub(crate) fn new(channel: Channel) -> Link {
        Link { channel, number: 0 }
    }

    /// Waits for a whole packet and returns its payload's length.
    ///
    /// # Errors
    /// As [`Link::arrived`], and I/O errors of the connection.
    pub(crate) async fn receive_packet(&mut self) -> Result<usize, WireError> {
        loop {
            if let Some(bytes) = self.arrived()? {
                return Ok(bytes);
            }
            self.channel.receive().await?;
        }
    }

    /// The length of the next packet's payload. None while it has not completely arrived.
    ///
    /// # Errors
    /// [`WireError::Protocol`] if the packet is out of order or too long for a packet that is not a row.
    pub(crate) fn arrived(&self) -> Result<Option<usize>, WireError> {
        let Some((bytes, number)) = packet::header(self.channel.incoming()) else {
            return Ok(None);
        };
        if number != self.number {
            return Err(packet::out_of_order(self.number, number));
        }
        if bytes > CONTROL_MAX {
            return Err(packet::too_long(bytes));
        }
        let is_whole = self.channel.incoming().len() >= HEADER + bytes;
        Ok(is_whole.then_some(bytes))
    }

    /// The payload of the packet whose length [`Link::arrived`] returned.
    pub(crate) fn payload(&self, bytes: usize) -> &[u8] {
        &self.channel.incoming()[HEADER..HEADER + bytes]
    }

    /// Removes that packet from the buffer.
    pub(crate) fn discard(&mut self, bytes: usize) {
        self.channel.consume(HEADER + bytes);
        self.number = self.number.wrapping_add(1);
    }

    /// Sends one packet.
    pub(crate) async fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let out = self.channel.outgoing();
        let start = packet::begin(out);
        write(out);
        self.number = packet::finish(out, start, self.number);
        self.channel.send().await
    }
}
