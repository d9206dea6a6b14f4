//! A buffer at an address that direct I/O accepts.

use std::ops::{Deref, DerefMut};

/// Enough for every logical block size of direct I/O.
const ALIGNMENT: usize = 4_096;

/// Bytes at an address that is a multiple of 4,096, initially zero. The address does not change when the value is moved.
#[derive(Debug, Default)]
pub struct Aligned {
    /// Longer than needed, so that it contains an aligned address.
    bytes: Box<[u8]>,
    start: usize,
    length: usize,
}

impl Aligned {
    pub fn new(length: usize) -> Aligned {
        let bytes = vec![0; length + ALIGNMENT].into_boxed_slice();
        Aligned {
            start: bytes.as_ptr().align_offset(ALIGNMENT),
            bytes,
            length,
        }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_its_length_and_a_multiple_of_4096_as_its_address() {
        for length in [0, 1, 512, 4_096, 5_000] {
            let buffer = Aligned::new(length);
            assert_eq!(buffer.len(), length);
            assert_eq!(buffer.as_ptr().addr() % ALIGNMENT, 0);
        }
        assert!(Aligned::default().is_empty());
    }
}
