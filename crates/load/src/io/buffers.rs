//! The two buffers of a stream.
//!
//! Goal: no byte is moved and nothing is allocated on the way of an ordinary exchange. Non-goal: a bound on what is
//! unread, which is the reader's.

use std::mem::MaybeUninit;

const OUTGOING_BYTES: usize = 4 * 1024;
const INCOMING_BYTES: usize = 16 * 1024;

/// Bytes to be sent, and bytes that have arrived.
#[derive(Default)]
pub struct Buffers {
    pub outgoing: Vec<u8>,
    /// How many of `outgoing` the kernel has taken.
    sent: usize,
    incoming: Vec<u8>,
    consumed: usize,
}

impl Buffers {
    pub fn new() -> Buffers {
        Buffers {
            outgoing: Vec::with_capacity(OUTGOING_BYTES),
            sent: 0,
            incoming: Vec::with_capacity(INCOMING_BYTES),
            consumed: 0,
        }
    }

    #[inline]
    pub fn unsent(&self) -> &[u8] {
        &self.outgoing[self.sent..]
    }

    pub fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// All of it is sent: room for the next.
    #[inline]
    pub fn clear_outgoing(&mut self) {
        self.outgoing.clear();
        self.sent = 0;
    }

    #[inline]
    pub fn unread(&self) -> &[u8] {
        &self.incoming[self.consumed..]
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.consumed = (self.consumed + bytes).min(self.incoming.len());
        if self.consumed == self.incoming.len() {
            self.incoming.clear();
            self.consumed = 0;
        }
    }

    /// The free tail for what arrives next, never empty. It grows when what is unread fills three quarters.
    #[inline]
    pub fn room(&mut self) -> &mut [MaybeUninit<u8>] {
        if self.incoming.capacity() - self.incoming.len() < INCOMING_BYTES / 4 {
            self.make_room();
        }
        self.incoming.spare_capacity_mut()
    }

    #[cold]
    fn make_room(&mut self) {
        self.incoming.drain(..self.consumed);
        self.consumed = 0;
        if self.incoming.capacity() - self.incoming.len() < INCOMING_BYTES / 4 {
            self.incoming
                .reserve(self.incoming.len().max(INCOMING_BYTES));
        }
    }

    /// # Safety
    /// The first `bytes` of the last [`Buffers::room`] were written.
    #[inline]
    pub unsafe fn received(&mut self, bytes: usize) {
        let length = self.incoming.len() + bytes;
        debug_assert!(length <= self.incoming.capacity());
        // SAFETY: the caller's promise; `room` lies directly behind the length and nothing has moved since.
        unsafe { self.incoming.set_len(length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrive(buffers: &mut Buffers, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = buffers.room();
            let taken = room.len().min(bytes.len());
            for (place, byte) in room.iter_mut().zip(bytes) {
                place.write(*byte);
            }
            // SAFETY: `taken` bytes were just written.
            unsafe { buffers.received(taken) };
            bytes = &bytes[taken..];
        }
    }

    #[test]
    fn what_is_read_in_time_never_grows_the_buffer() {
        let mut buffers = Buffers::new();
        for _ in 0..100 {
            arrive(&mut buffers, &[7; 3000]);
            buffers.consume(3000);
        }
        assert_eq!(buffers.incoming.capacity(), INCOMING_BYTES);
    }

    #[test]
    fn consuming_more_than_has_arrived_leaves_it_empty() {
        let mut buffers = Buffers::new();
        arrive(&mut buffers, b"abc");
        buffers.consume(usize::MAX / 2);
        assert_eq!(buffers.unread(), b"");
    }

    proptest! {
        #[test]
        fn bytes_come_out_as_they_went_in(steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..9000), 0usize..12000), 1..40)) {
            let mut buffers = Buffers::new();
            let mut expected: Vec<u8> = Vec::new();
            for (bytes, consumed) in steps {
                arrive(&mut buffers, &bytes);
                expected.extend_from_slice(&bytes);
                prop_assert_eq!(buffers.unread(), &expected[..]);
                buffers.consume(consumed);
                expected.drain(..consumed.min(expected.len()));
                prop_assert_eq!(buffers.unread(), &expected[..]);
            }
        }
    }
}
