//! Where customers and suppliers are: address, city, nation, region.
//!
//! Goal: the nations as the reference orders them, which phone numbers depend on. Non-goals: the distribution over nations of TPC-H.

use super::stream::{Stream, Uniform};

/// The nations in the reference's order, each with its region.
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

/// One of ten cities of a nation: the nation's name in nine characters and a digit, such as `UNITED KI5` and `PERU     7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct City {
    nation: usize,
    bytes: [u8; 10],
}

impl City {
    pub(super) const NATION: Uniform = Uniform::new(0, NATIONS.len() as u64 - 1);
    pub(super) const DIGIT: Uniform = Uniform::new(0, 9);

    /// The city `digit` of the nation of that number.
    pub(super) fn new(nation: usize, digit: u64) -> City {
        let mut bytes = [b' '; 10];
        for (to, from) in bytes[..9].iter_mut().zip(NATIONS[nation].0.bytes()) {
            *to = from;
        }
        bytes[9] = b'0' + digit as u8;
        City { nation, bytes }
    }

    pub fn name(&self) -> &[u8] {
        &self.bytes
    }

    pub fn nation(&self) -> &'static str {
        NATIONS[self.nation].0
    }

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
    /// The draws of its stream that each row has, used or not.
    pub(super) const DRAWS: u64 = 9;
    const LENGTH: Uniform = Uniform::new(6, 24);
    const BITS: Uniform = Uniform::new(0, (1 << 31) - 1);
    const ALPHABET: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";

    /// The next address of a stream: its length, then a number for each five characters, six bits a character.
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

    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
