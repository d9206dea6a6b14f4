//! What of the unsynced writes a power cut leaves on the disk.
//!
//! Purpose: the modes, and the choice that a seed makes. The same writes, mode and seed always give the same choice.
//! Outside this module: who holds the writes (`cache`).

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which unsynced writes survive a power cut. A disk owes its user nothing of what was not flushed, so each mode is legal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Survive {
    /// Nothing: the worst case.
    #[default]
    None,
    /// Everything, as after SIGKILL.
    All,
    /// The first ones in order of arrival. The seed chooses how many.
    Prefix,
    /// Each 4 KiB block of a write by the toss of a coin, since disks reorder between two flushes.
    Subset,
    /// Parts of blocks: 512 bytes or 4 KiB of each write (the seed chooses which), each by the toss of a coin.
    Torn,
}

/// What a disk writes without tearing it, in bytes.
pub(super) const SECTOR_BYTES: usize = 512;
const BLOCK_BYTES: usize = 4096;

impl Survive {
    /// All modes with their names in files and on the command line.
    pub const NAMED: [(&'static str, Survive); 5] = [
        ("none", Survive::None),
        ("all", Survive::All),
        ("prefix", Survive::Prefix),
        ("subset", Survive::Subset),
        ("torn", Survive::Torn),
    ];

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Survive> {
        let mut all = Survive::NAMED.into_iter();
        all.find(|(own, _)| *own == name).map(|(_, mode)| mode)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        record::name_of(&self, &Survive::NAMED)
    }

    /// The parts of the writes that survive, as ranges of bytes of each write. `writes` are offsets on the disk and lengths, in
    /// order of arrival.
    pub(super) fn choose(self, writes: &[(u64, usize)], seed: u64) -> Vec<Vec<Range<usize>>> {
        let mut coin = Coin(seed);
        let kept = match self {
            Survive::None => 0,
            Survive::Prefix => coin.below(writes.len() + 1),
            Survive::All | Survive::Subset | Survive::Torn => writes.len(),
        };
        let each = writes.iter().take(kept);
        each.map(|(offset, length)| match self {
            Survive::Subset => coin.parts(*offset, *length, BLOCK_BYTES),
            Survive::Torn => {
                let part_bytes = [SECTOR_BYTES, BLOCK_BYTES][coin.below(2)];
                coin.parts(*offset, *length, part_bytes)
            }
            _ => std::iter::once(0..*length).collect(),
        })
        .collect()
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): its stream never changes,
/// so a seed in a record shows the same cut again.
struct Coin(u64);

impl Coin {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `limit` - 1. The bias is below 2^-32 for the lists here.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Tosses for each part of a write. Parts are aligned on the disk, as blocks and sectors are.
    fn parts(&mut self, offset: u64, length: usize, part_bytes: usize) -> Vec<Range<usize>> {
        let mut kept = Vec::new();
        let mut from = 0;
        while from < length {
            let into_part = ((offset + from as u64) % part_bytes as u64) as usize;
            let to = length.min(from + part_bytes - into_part);
            if self.next() & 1 == 1 {
                kept.push(from..to);
            }
            from = to;
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 pages of 16 KiB.
    fn pages() -> Vec<(u64, usize)> {
        (0..200).map(|n| (n * 16_384, 16_384)).collect()
    }

    fn kept_bytes(mode: Survive, seed: u64) -> usize {
        let kept = mode.choose(&pages(), seed);
        kept.iter().flatten().map(|part| part.len()).sum()
    }

    #[test]
    fn none_keeps_nothing_and_all_keeps_everything() {
        assert_eq!(kept_bytes(Survive::None, 1), 0);
        assert_eq!(kept_bytes(Survive::All, 1), 200 * 16_384);
    }

    #[test]
    fn a_prefix_is_whole_writes_and_its_length_depends_on_the_seed() {
        let lengths: Vec<usize> = (0..20)
            .map(|seed| Survive::Prefix.choose(&pages(), seed).len())
            .collect();
        assert!(lengths.iter().all(|length| *length <= 200));
        assert!(lengths.iter().any(|length| *length != lengths[0]));
        let kept = Survive::Prefix.choose(&pages(), 3);
        let is_whole = |parts: &Vec<Range<usize>>| parts.len() == 1 && parts[0] == (0..16_384);
        assert!(kept.iter().all(is_whole));
    }

    #[test]
    fn a_subset_keeps_about_half_of_the_blocks_and_tears_none() {
        let kept = Survive::Subset.choose(&pages(), 7);
        assert!(kept.iter().flatten().all(|part| part.len() == 4096));
        let share = kept_bytes(Survive::Subset, 7) as f64 / (200.0 * 16_384.0);
        assert!((0.4..0.6).contains(&share), "{share}");
    }

    #[test]
    fn torn_writes_keep_parts_of_both_sizes() {
        let kept = Survive::Torn.choose(&pages(), 7);
        let has = |bytes| kept.iter().flatten().any(|part| part.len() == bytes);
        assert!(has(512) && has(4096));
    }

    #[test]
    fn parts_are_aligned_on_the_disk() {
        for seed in 0..50 {
            let parts = Survive::Subset.choose(&[(3584, 8192)], seed).remove(0);
            for part in parts {
                assert!([0..512, 512..4608, 4608..8192].contains(&part), "{part:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_choice() {
        for (_, mode) in Survive::NAMED {
            assert_eq!(mode.choose(&pages(), 5), mode.choose(&pages(), 5));
        }
        assert_ne!(
            Survive::Subset.choose(&pages(), 5),
            Survive::Subset.choose(&pages(), 6)
        );
    }

    #[test]
    fn every_mode_has_a_name() {
        for (name, mode) in Survive::NAMED {
            assert_eq!((Survive::named(name), mode.name()), (Some(mode), name));
        }
        assert_eq!(Survive::named("some"), None);
    }
}
