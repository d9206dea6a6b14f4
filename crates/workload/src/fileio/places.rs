//! Where an operation goes: the kind, the file and the offset, as pure functions of its number.
//!
//! Goal: closed and open loop, and any number of clients, do the same operations. Non-goal: order. Clients that work side by side
//! finish operations in another order than they started them.

use super::pattern::Pattern;
use super::section::{Section, SyncPolicy};
use datagen::oltp::Keys;
use datagen::random::{Random, below, stream, unit};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IoKind {
    Read,
    Write,
    /// Writes the pages of a batch at once to the doublewrite buffer, and makes it durable.
    Doublewrite,
    /// Makes all files durable.
    Sync,
}

impl IoKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            IoKind::Read => "read",
            IoKind::Write => "write",
            IoKind::Doublewrite => "doublewrite",
            IoKind::Sync => "sync",
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
    /// None: no operation of its own makes the files durable.
    batches: Option<Batches>,
    io_bytes: u64,
    blocks_of_a_file: u64,
    blocks: u64,
    /// None: in order.
    keys: Option<Keys>,
    /// Operations after which the hot blocks move by one. None: they stay.
    move_every: Option<u64>,
    /// The last operation of the load makes the files durable.
    syncs_at_end: bool,
    seed: u64,
}

/// Reads and writes between two operations that make the files durable.
#[derive(Clone, Copy, Debug)]
struct Batches {
    /// Operations of a batch, with its sync at the end and the doublewrite at its beginning.
    length: u64,
    has_doublewrite: bool,
}

impl Batches {
    fn from_section(section: &Section) -> Option<Batches> {
        match section.sync {
            SyncPolicy::Every(operations) => Some(Batches {
                length: operations + 1 + u64::from(section.doublewrite),
                has_doublewrite: section.doublewrite,
            }),
            SyncPolicy::Never | SyncPolicy::Each | SyncPolicy::Group | SyncPolicy::End => None,
        }
    }

    /// What an operation is instead of a read or a write.
    fn kind(&self, number: u64) -> Option<IoKind> {
        match number % self.length {
            0 if self.has_doublewrite => Some(IoKind::Doublewrite),
            at if at == self.length - 1 => Some(IoKind::Sync),
            _ => None,
        }
    }
}

/// Blocks of which an ascending pattern reads one.
const GAP_BLOCKS: u64 = 4;

impl Places {
    pub(super) fn new(section: &Section, seed: u64) -> Places {
        let blocks = section.blocks_of_a_file() * u64::from(section.files);
        let is_random = section.pattern.is_random();
        Places {
            pattern: section.pattern,
            read_share: section.read_share,
            batches: Batches::from_section(section),
            io_bytes: section.io_bytes,
            blocks_of_a_file: section.blocks_of_a_file(),
            blocks,
            keys: is_random.then(|| Keys::new(section.distribution, 0, blocks as i64 - 1)),
            move_every: section.move_every,
            syncs_at_end: section.sync == SyncPolicy::End,
            seed,
        }
    }

    /// The kinds of operations of the load. A sync at the end is the last one.
    pub(super) fn kinds(&self) -> Vec<IoKind> {
        let mut kinds = Vec::new();
        kinds.extend(self.pattern.reads().then_some(IoKind::Read));
        kinds.extend(self.pattern.writes().then_some(IoKind::Write));
        if let Some(batches) = &self.batches {
            kinds.extend(batches.has_doublewrite.then_some(IoKind::Doublewrite));
        }
        if self.batches.is_some() || self.syncs_at_end {
            kinds.push(IoKind::Sync);
        }
        kinds
    }

    #[inline]
    pub(super) fn kind(&self, number: u64) -> IoKind {
        if let Some(kind) = self.batches.and_then(|batches| batches.kind(number)) {
            return kind;
        }
        match self.pattern {
            Pattern::RandomRead | Pattern::SequentialRead | Pattern::AscendingRead => IoKind::Read,
            Pattern::RandomWrite | Pattern::SequentialWrite => IoKind::Write,
            Pattern::Mixed if unit(&mut self.draws(number)) < self.read_share => IoKind::Read,
            Pattern::Mixed => IoKind::Write,
        }
    }

    /// The block of a read or a write.
    #[inline]
    pub(super) fn block(&self, number: u64) -> Block {
        let block = match &self.keys {
            Some(keys) => self.drawn(keys, number),
            None if self.pattern == Pattern::AscendingRead => self.ascending(number),
            None => number - self.syncs_before(number),
        };
        self.nth(block)
    }

    /// The block of this number over all files, which begin again after the last one.
    #[inline]
    pub(super) fn nth(&self, block: u64) -> Block {
        let block = block % self.blocks;
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
        keys.draw(&mut draws) as u64 + self.moved(number)
    }

    /// The blocks by which the hot ones have moved.
    fn moved(&self, number: u64) -> u64 {
        self.move_every.map_or(0, |every| number / every)
    }

    /// One block of each group.
    fn ascending(&self, number: u64) -> u64 {
        let gap = GAP_BLOCKS.min(self.blocks);
        let group = number % (self.blocks / gap);
        group * gap + below(&mut self.draws(number), gap)
    }

    fn syncs_before(&self, number: u64) -> u64 {
        self.batches.map_or(0, |batches| number / batches.length)
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
            IoKind::Sync => None,
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

    /// 1,024 blocks, of which the 204 hot ones move by one block every 20 operations.
    const MOVING: &str =
        "size = \"16M\"\ndistribution = \"pareto\"\npareto_share = 0.2\nmove_every = 20";

    #[test]
    fn the_hot_blocks_get_their_share_of_operations_wherever_they_have_moved() {
        let places = places(MOVING);
        let is_hot = |number: &u64| {
            let block = places.block(*number).offset >> 14;
            let from_the_first_hot_block = (block + 1_024 - number / 20 % 1_024) % 1_024;
            from_the_first_hot_block < 205
        };
        // A pass over the file and a half, in parts of a tenth.
        for part in 0..15 {
            let hot = (part * 2_048..(part + 1) * 2_048).filter(is_hot).count();
            assert!((1_550..1_730).contains(&hot), "{part}: {hot}");
        }
    }

    #[test]
    fn every_block_of_the_file_is_hot_once_in_a_pass() {
        let places = places(MOVING);
        let mut counts = [0u32; 1_024];
        for number in 0..1_024 * 20 {
            counts[(places.block(number).offset >> 14) as usize] += 1;
        }
        let is_even = counts.iter().all(|count| (1..60).contains(count));
        assert!(is_even, "20 operations on each: {counts:?}");
    }

    #[test]
    fn a_batch_begins_with_its_doublewrite_and_ends_with_a_sync() {
        let places = places("pattern = \"random-write\"\nfsync = 3\ndoublewrite = true");
        let kinds: Vec<IoKind> = (0..6).map(|number| places.kind(number)).collect();
        let (write, doublewrite) = (IoKind::Write, IoKind::Doublewrite);
        let batch = [doublewrite, write, write, write, IoKind::Sync, doublewrite];
        assert_eq!(kinds, batch);
        assert_eq!(places.kinds(), [write, doublewrite, IoKind::Sync]);
    }

    #[test]
    fn ascending_reads_leave_gaps_and_stay_within_the_files() {
        let places = places("pattern = \"ascending-read\"\nsize = \"16M\"");
        let blocks: Vec<u64> = (0..256)
            .map(|number| places.block(number).offset >> 14)
            .collect();
        assert!(blocks.is_sorted() && blocks[255] < 1_024);
        let gaps: std::collections::BTreeSet<u64> =
            blocks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, (1..=7).collect());
        assert!(places.block(256).offset >> 14 < 4, "it begins again");
    }

    #[test]
    fn a_mixed_pattern_has_its_share_of_reads() {
        let places = places("pattern = \"mixed\"\nread_share = 0.25\nsize = \"1M\"");
        let reads = (0..10_000).filter(|number| places.kind(*number) == IoKind::Read);
        let reads = reads.count();
        assert!((2_300..2_700).contains(&reads), "{reads}");
    }
}
