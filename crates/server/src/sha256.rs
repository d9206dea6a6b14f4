//! SHA-256, as hexadecimal digits: of builds, files of rows, plans, datasets and answers.
//!
//! It is `ring`'s, which TLS needs anyway, and which is fast in every profile.

use ring::digest::{Context, SHA256};
use std::io::{self, ErrorKind, Read};

const BUFFER_BYTES: usize = 1 << 20;

/// The hash of the bytes so far.
#[derive(Clone)]
pub struct Sha256(Context);

impl Default for Sha256 {
    fn default() -> Sha256 {
        Sha256(Context::new(&SHA256))
    }
}

impl Sha256 {
    /// The hash of these bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Sha256 {
        let mut hash = Sha256::default();
        hash.update(bytes);
        hash
    }

    /// The hash of parts, as [`Sha256::update_part`] adds them.
    pub fn of_parts(parts: impl IntoIterator<Item: AsRef<[u8]>>) -> Sha256 {
        let mut hash = Sha256::default();
        parts.into_iter().for_each(|part| hash.update_part(part));
        hash
    }

    /// The hash of what is left to read.
    ///
    /// # Errors
    /// Those of `source`.
    pub fn of_rest(source: &mut impl Read) -> io::Result<Sha256> {
        let mut hash = Sha256::default();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return Ok(hash),
                Ok(count) => hash.update(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    /// Adds bytes after their length, so that the parts `ab` and `c` differ from `a` and `bc`.
    pub fn update_part(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.update((part.len() as u64).to_le_bytes());
        self.update(part);
    }

    /// All 64 digits.
    pub fn hex(self) -> String {
        self.hex_of_first(32)
    }

    /// The first 16 bytes as a number.
    pub fn number(self) -> u128 {
        let hash = self.0.finish();
        let bytes = hash.as_ref().first_chunk();
        bytes.copied().map_or(0, u128::from_le_bytes)
    }

    /// The digits of the first bytes, two for each.
    pub fn hex_of_first(self, bytes: usize) -> String {
        let hash = self.0.finish();
        let first = hash.as_ref().iter().take(bytes);
        first.map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2, appendix B.1.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_hash_of_abc_is_that_of_the_standard() {
        assert_eq!(Sha256::of("abc").hex(), ABC);
        assert_eq!(Sha256::of_rest(&mut &b"abc"[..]).unwrap().hex(), ABC);
        assert_eq!(Sha256::of("abc").hex_of_first(3), ABC[..6]);
    }

    #[test]
    fn parts_are_kept_apart() {
        let of = |parts: &[&str]| Sha256::of_parts(parts).hex();
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    }
}
