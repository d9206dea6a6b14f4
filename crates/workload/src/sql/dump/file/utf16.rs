//! Text in UTF-16, read as UTF-8.

use std::io::{self, BufRead, Read};

/// Units that are decoded at once.
const UNITS: usize = 32 << 10;

pub(super) struct Utf16<R> {
    from: R,
    is_big_endian: bool,
    /// The first unit of a pair, whose second one has not arrived.
    high: Option<u16>,
    /// The text that was not handed out yet, from an offset.
    text: String,
    at: usize,
}

impl<R: BufRead> Utf16<R> {
    /// `from` begins behind the byte order mark.
    pub(super) fn new(from: R, is_big_endian: bool) -> Utf16<R> {
        Utf16 {
            from,
            is_big_endian,
            high: None,
            text: String::new(),
            at: 0,
        }
    }

    /// Decodes the next part. It is empty at the end.
    fn decode(&mut self) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(2 * UNITS);
        (&mut self.from)
            .take(2 * UNITS as u64)
            .read_to_end(&mut bytes)?;
        let is_end = bytes.len() < 2 * UNITS;
        let (pairs, rest) = bytes.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(broken());
        }
        let unit = |pair: &[u8; 2]| {
            if self.is_big_endian {
                u16::from_be_bytes(*pair)
            } else {
                u16::from_le_bytes(*pair)
            }
        };
        let mut units: Vec<u16> = self.high.take().into_iter().collect();
        units.extend(pairs.iter().map(unit));
        if !is_end
            && units
                .last()
                .is_some_and(|last| (0xd800..0xdc00).contains(last))
        {
            self.high = units.pop();
        }
        self.text = String::from_utf16(&units).map_err(|_| broken())?;
        self.at = 0;
        Ok(())
    }
}

fn broken() -> io::Error {
    io::Error::other("it begins as UTF-16, and is broken: save it as UTF-8")
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.decode()?;
        }
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}
