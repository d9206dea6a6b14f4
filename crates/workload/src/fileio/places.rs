//! Where an operation goes: the kind, the file and the offset, as pure functions of its number.
//!
//! Goal: closed and open loop, and any number of clients, do the same operations. Non-goal: order. Clients that work side by side
//! finish operations in another order than they started them.

use super::section::{Section, SyncPolicy};
use datagen::oltp::Keys;
use datagen::random::{Random, stream, unit};

/// The order and the kind of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    RandomRead,
    RandomWrite,
    SequentialRead,
    SequentialWrite,
    /// Random, reads and writes.
    Mixed,
}

impl Pattern {
    pub(super) const NAMES: [(&str, Pattern); 5] = [
        ("random-read", Pattern::RandomRead),
        ("random-write", Pattern::RandomWrite),
        ("sequential-read", Pattern::SequentialRead),
        ("sequential-write", Pattern::SequentialWrite),
        ("mixed", Pattern::Mixed),
    ];

    pub(super) fn name(self) -> &'static str {
        let mut names = Pattern::NAMES.iter();
        names
            .find(|(_, one)| *one == self)
            .map_or("", |(name, _)| name)
    }

    pub(super) fn writes(self) -> bool {
        !matches!(self, Pattern::RandomRead | Pattern::SequentialRead)
    }

    fn is_sequential(self) -> bool {
        matches!(self, Pattern::SequentialRead | Pattern::SequentialWrite)
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// Makes all files durable.
    Sync,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Sync => "sync",
        }
    }
}

/// A block of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) file: u32,
    /// In bytes.
    pub(super) offset: u64,
}

/// The operations of one load.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pattern: Pattern,
    read_share: f64,
    /// One operation of so many makes the files durable. None: no such operation.
    sync_every: Option<u64>,
    io_bytes: u64,
    blocks_of_a_file: u64,
    blocks: u64,
    /// None: in order.
    keys: Option<Keys>,
    seed: u64,
}

impl Places {
    pub(super) fn new(section: &Section, seed: u64) -> Places {
        let blocks = section.blocks_of_a_file() * u64::from(section.files);
        let is_random = !section.pattern.is_sequential();
        Places {
            pattern: section.pattern,
            read_share: section.read_share,
            sync_every: match section.sync {
                SyncPolicy::Every(operations) => Some(operations + 1),
                SyncPolicy::Never | SyncPolicy::Each => None,
            },
            io_bytes: section.io_bytes,
            blocks_of_a_file: section.blocks_of_a_file(),
            blocks,
            keys: is_random.then(|| Keys::new(section.distribution, 0, blocks as i64 - 1)),
            seed,
        }
    }

    /// The kinds of operations of the load.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let mut kinds = match self.pattern {
            Pattern::RandomRead | Pattern::SequentialRead => vec![Kind::Read],
            Pattern::RandomWrite | Pattern::SequentialWrite => vec![Kind::Write],
            Pattern::Mixed => vec![Kind::Read, Kind::Write],
        };
        kinds.extend(self.sync_every.map(|_| Kind::Sync));
        kinds
    }

    #[inline]
    pub(super) fn kind(&self, number: u64) -> Kind {
        if self
            .sync_every
            .is_some_and(|every| number % every == every - 1)
        {
            return Kind::Sync;
        }
        match self.pattern {
            Pattern::RandomRead | Pattern::SequentialRead => Kind::Read,
            Pattern::RandomWrite | Pattern::SequentialWrite => Kind::Write,
            Pattern::Mixed if unit(&mut self.draws(number)) < self.read_share => Kind::Read,
            Pattern::Mixed => Kind::Write,
        }
    }

    /// The block of a read or a write.
    #[inline]
    pub(super) fn block(&self, number: u64) -> Block {
        let block = match &self.keys {
            Some(keys) => self.drawn(keys, number),
            None => (number - self.syncs_before(number)) % self.blocks,
        };
        Block {
            file: (block / self.blocks_of_a_file) as u32,
            offset: block % self.blocks_of_a_file * self.io_bytes,
        }
    }

    /// The first draw chooses between reads and writes.
    fn drawn(&self, keys: &Keys, number: u64) -> u64 {
        let mut draws = self.draws(number);
        if self.pattern == Pattern::Mixed {
            unit(&mut draws);
        }
        keys.draw(&mut draws) as u64
    }

    fn syncs_before(&self, number: u64) -> u64 {
        self.sync_every.map_or(0, |every| number / every)
    }

    fn draws(&self, number: u64) -> Random {
        stream(self.seed, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Places {
        let section = spec::read_text(text, Section::read).unwrap();
        Places::new(&section, 7)
    }

    #[test]
    fn sequential_operations_pass_over_all_files_and_begin_again() {
        let places = places("pattern = \"sequential-read\"\nfiles = 2\nsize = \"64K\"");
        let of = |number| {
            let block = places.block(number);
            (block.file, block.offset)
        };
        let seen: Vec<_> = (0..5).map(of).collect();
        assert_eq!(seen, [(0, 0), (0, 16_384), (1, 0), (1, 16_384), (0, 0)]);
    }

    #[test]
    fn an_operation_that_syncs_does_not_skip_a_block() {
        let places = places("pattern = \"sequential-write\"\nfsync = 2\nsize = \"1M\"");
        let of = |number| match places.kind(number) {
            Kind::Sync => None,
            _ => Some(places.block(number).offset / 16_384),
        };
        let seen: Vec<_> = (0..6).map(of).collect();
        assert_eq!(seen, [Some(0), Some(1), None, Some(2), Some(3), None]);
    }

    #[test]
    fn random_operations_reach_every_block_of_every_file_and_nothing_beyond() {
        let places = places("files = 2\nsize = \"1M\"");
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..2_000 {
            let block = places.block(number);
            assert!(block.file < 2 && block.offset + 16_384 <= 512 << 10);
            seen.insert((block.file, block.offset));
        }
        assert_eq!(seen.len(), 64);
    }

    #[test]
    fn a_mixed_pattern_has_its_share_of_reads() {
        let places = places("pattern = \"mixed\"\nread_share = 0.25\nsize = \"1M\"");
        let reads = (0..10_000).filter(|number| places.kind(*number) == Kind::Read);
        let reads = reads.count();
        assert!((2_300..2_700).contains(&reads), "{reads}");
    }
}
