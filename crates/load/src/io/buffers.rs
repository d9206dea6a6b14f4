//! The send and receive buffers of a stream.
//!
//! Goal: an ordinary exchange moves no bytes and allocates nothing. Non-goal: a bound on unread data, which is the reader's
//! responsibility.

use std::mem::MaybeUninit;

const OUTGOING_BYTES: usize = 4 * 1024;
const INCOMING_BYTES: usize = 16 * 1024;

/// Bytes to send and received bytes.
#[derive(Default)]
pub(super) struct Buffers {
    pub outgoing: Vec<u8>,
    /// How many bytes of `outgoing` the kernel has accepted.
    sent: usize,
    incoming: Vec<u8>,
    consumed: usize,
}

impl Buffers {
    pub(super) fn new() -> Buffers {
        Buffers {
            outgoing: Vec::with_capacity(OUTGOING_BYTES),
            sent: 0,
            incoming: Vec::with_capacity(INCOMING_BYTES),
            consumed: 0,
        }
    }

    #[inline]
    pub(super) fn unsent(&self) -> &[u8] {
        &self.outgoing[self.sent..]
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// Empties the send buffer once all of it is sent.
    #[inline]
    pub(super) fn clear_outgoing(&mut self) {
        self.outgoing.clear();
        self.sent = 0;
    }

    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        &self.incoming[self.consumed..]
    }

    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        self.consumed = (self.consumed + bytes).min(self.incoming.len());
        if self.consumed == self.incoming.len() {
            self.incoming.clear();
            self.consumed = 0;
        }
    }

    /// The free space of the receive buffer, never empty. The buffer grows when unread bytes fill three quarters of it.
    #[inline]
    pub(super) fn free_space(&mut self) -> &mut [MaybeUninit<u8>] {
        if self.incoming.capacity() - self.incoming.len() < INCOMING_BYTES / 4 {
            self.grow();
        }
        self.incoming.spare_capacity_mut()
    }

    #[cold]
    fn grow(&mut self) {
        self.incoming.drain(..self.consumed);
        self.consumed = 0;
        if self.incoming.capacity() - self.incoming.len() < INCOMING_BYTES / 4 {
            self.incoming
                .reserve(self.incoming.len().max(INCOMING_BYTES));
        }
    }

    /// # Safety
    /// The first `bytes` of the last [`Buffers::free_space`] must be initialised.
    #[inline]
    pub(super) unsafe fn received(&mut self, bytes: usize) {
        let length = self.incoming.len() + bytes;
        debug_assert!(length <= self.incoming.capacity());
        // SAFETY: the caller's promise; the free space directly follows the length, and the buffer was not reallocated since.
        unsafe { self.incoming.set_len(length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrive(buffers: &mut Buffers, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = buffers.free_space();
            let taken = space.len().min(bytes.len());
            for (place, byte) in space.iter_mut().zip(bytes) {
                place.write(*byte);
            }
            // SAFETY: `taken` bytes were just written.
            unsafe { buffers.received(taken) };
            bytes = &bytes[taken..];
        }
    }

    #[test]
    fn data_read_promptly_never_grows_the_buffer() {
        let mut buffers = Buffers::new();
        for _ in 0..100 {
            arrive(&mut buffers, &[7; 3000]);
            buffers.consume(3000);
        }
        assert_eq!(buffers.incoming.capacity(), INCOMING_BYTES);
    }

    #[test]
    fn consuming_more_than_has_arrived_empties_the_buffer() {
        let mut buffers = Buffers::new();
        arrive(&mut buffers, b"abc");
        buffers.consume(usize::MAX / 2);
        assert_eq!(buffers.unread(), b"");
    }

    proptest! {
        #[test]
        fn bytes_are_read_as_they_were_received(steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..9000), 0usize..12000), 1..40)) {
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
