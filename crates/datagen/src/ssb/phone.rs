//! Phone numbers: a nation code and three random groups.
//!
//! Goal: one type for customer and supplier, whose numbers are drawn from one stream. Non-goal: valid phone numbers.

use super::stream::{Stream, Uniform};

/// A phone number such as `25-214-662-5265`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phone {
    bytes: [u8; 15],
}

impl Phone {
    /// The stream that customers and suppliers share.
    pub(super) const STREAM: Stream = Stream::new(1_521_138_112);
    pub(super) const DRAWS: u64 = 3;
    const THREE: Uniform = Uniform::new(100, 999);
    const FOUR: Uniform = Uniform::new(1_000, 9_999);

    /// Draws the next phone number of a stream, for nation number `nation`.
    pub(super) fn new(nation: usize, stream: &mut Stream) -> Phone {
        let mut bytes = *b"  -   -   -    ";
        put(&mut bytes[0..2], 10 + nation as u64);
        put(&mut bytes[3..6], stream.draw(Phone::THREE));
        put(&mut bytes[7..10], stream.draw(Phone::THREE));
        put(&mut bytes[11..15], stream.draw(Phone::FOUR));
        Phone { bytes }
    }

    /// The number as text.
    pub fn text(&self) -> &[u8] {
        &self.bytes
    }
}

fn put(digits: &mut [u8], mut value: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}
