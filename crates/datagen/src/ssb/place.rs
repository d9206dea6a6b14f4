//! Places of customers and suppliers: address, city, nation, region.
//!
//! Goal: the nations in the order of the reference generator, on which phone numbers depend. Non-goal: TPC-H's distribution of
//! nations.

use super::stream::{Stream, Uniform};

/// The nations in the order of the reference generator, each with its region.
pub(super) const NATIONS: [(&str, &str); 25] = [
    ("ALGERIA", "AFRICA"),
    ("ARGENTINA", "AMERICA"),
    ("BRAZIL", "AMERICA"),
    ("CANADA", "AMERICA"),
    ("EGYPT", "MIDDLE EAST"),
    ("ETHIOPIA", "AFRICA"),
    ("FRANCE", "EUROPE"),
    ("GERMANY", "EUROPE"),
    ("INDIA", "ASIA"),
    ("INDONESIA", "ASIA"),
    ("IRAN", "MIDDLE EAST"),
    ("IRAQ", "MIDDLE EAST"),
    ("JAPAN", "ASIA"),
    ("JORDAN", "MIDDLE EAST"),
    ("KENYA", "AFRICA"),
    ("MOROCCO", "AFRICA"),
    ("MOZAMBIQUE", "AFRICA"),
    ("PERU", "AMERICA"),
    ("CHINA", "ASIA"),
    ("ROMANIA", "EUROPE"),
    ("SAUDI ARABIA", "MIDDLE EAST"),
    ("VIETNAM", "ASIA"),
    ("RUSSIA", "EUROPE"),
    ("UNITED KINGDOM", "EUROPE"),
    ("UNITED STATES", "AMERICA"),
];

/// One of ten cities of a nation: nine characters of the nation's name and a digit, such as `UNITED KI5` or `PERU     7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct City {
    nation: usize,
    bytes: [u8; 10],
}

impl City {
    pub(super) const NATION: Uniform = Uniform::new(0, NATIONS.len() as u64 - 1);
    pub(super) const DIGIT: Uniform = Uniform::new(0, 9);

    /// City number `digit` of nation number `nation`.
    pub(super) fn new(nation: usize, digit: u64) -> City {
        let mut bytes = [b' '; 10];
        for (to, from) in bytes[..9].iter_mut().zip(NATIONS[nation].0.bytes()) {
            *to = from;
        }
        bytes[9] = b'0' + digit as u8;
        City { nation, bytes }
    }

    /// The city's name, ten bytes.
    pub fn name(&self) -> &[u8] {
        &self.bytes
    }

    /// The nation's name.
    pub fn nation(&self) -> &'static str {
        NATIONS[self.nation].0
    }

    /// The region's name.
    pub fn region(&self) -> &'static str {
        NATIONS[self.nation].1
    }
}

/// An address: 6 to 24 random characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    bytes: [u8; 24],
    length: usize,
}

impl Address {
    /// The number of draws that each row takes from the stream, used or not.
    pub(super) const DRAWS: u64 = 9;
    const LENGTH: Uniform = Uniform::new(6, 24);
    const BITS: Uniform = Uniform::new(0, (1 << 31) - 1);
    const ALPHABET: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";

    /// Draws the next address of a stream: its length, then one number per five characters, six bits per character.
    pub(super) fn new(mut stream: Stream) -> Address {
        let length = stream.draw(Address::LENGTH) as usize;
        let mut bytes = [0; 24];
        for five in bytes[..length].chunks_mut(5) {
            let mut bits = stream.draw(Address::BITS);
            for byte in five {
                *byte = Address::ALPHABET[(bits & 63) as usize];
                bits >>= 6;
            }
        }
        Address { bytes, length }
    }

    /// The address as text.
    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
