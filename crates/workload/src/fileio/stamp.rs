//! What a block says of itself: its place, the number of its write and a checksum.

use super::places::Block;

/// `prony blk`: the first bytes of each block.
const MAGIC: u64 = u64::from_le_bytes(*b"pronyblk");
/// Magic, checksum, file, offset, generation.
const HEADER_BYTES: usize = 40;
/// Where the bytes begin that the checksum covers.
const COVERED_FROM: usize = 16;
/// The generation of blocks as they are made. 0 is a block that nothing was written to.
pub(super) const MADE: u64 = 1;

/// What a block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) block: Block,
    /// Counts the writes of the block.
    pub(super) generation: u64,
}

/// What a block says where it has no valid stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Only zeros, or beyond the end of the file.
    Blank,
    /// No block of prony, or changed in part.
    Changed,
}

impl Stamp {
    /// Writes the stamp into a block of at least 512 bytes. The rest of it must not change any more.
    pub(super) fn put(self, bytes: &mut [u8]) {
        let fields = [
            MAGIC,
            0,
            u64::from(self.block.file),
            self.block.offset,
            self.generation,
        ];
        for (slot, field) in bytes.chunks_exact_mut(8).zip(fields) {
            slot.copy_from_slice(&field.to_le_bytes());
        }
        let sum = checksum(&bytes[COVERED_FROM..]);
        bytes[8..COVERED_FROM].copy_from_slice(&sum.to_le_bytes());
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Stamp, Fault> {
        let mut header = [0; HEADER_BYTES / 8];
        for (field, slot) in header.iter_mut().zip(bytes.chunks_exact(8)) {
            *field = word(slot);
        }
        let [magic, sum, file, offset, generation] = header;
        if magic == MAGIC && sum == checksum(&bytes[COVERED_FROM..]) {
            let file = u32::try_from(file).map_err(|_| Fault::Changed)?;
            return Ok(Stamp {
                block: Block { file, offset },
                generation,
            });
        }
        Err(if bytes.iter().all(|byte| *byte == 0) {
            Fault::Blank
        } else {
            Fault::Changed
        })
    }
}

/// Of eight bytes or less.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Each step is a bijection, so a change of any eight bytes changes the result.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, bytes| {
        (sum ^ word(bytes))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    };
    bytes.chunks(8).fold(bytes.len() as u64, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_back_and_any_changed_byte_is_noticed() {
        let stamp = Stamp {
            block: Block {
                file: 0,
                offset: 1_536,
            },
            generation: 9,
        };
        let mut bytes = vec![7; 1_001];
        stamp.put(&mut bytes);
        assert_eq!(Stamp::from_bytes(&bytes), Ok(stamp));
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            assert_eq!(Stamp::from_bytes(&bytes), Err(Fault::Changed), "{at}");
            bytes[at] ^= 1;
        }
        assert_eq!(Stamp::from_bytes(&[0; 512]), Err(Fault::Blank));
    }
}
