//! What the clients wrote and what was made durable, by block.
//!
//! Goal: no false alarm, whatever overlaps. Non-goal: which of two overlapping writes stayed.

use crate::fileio::places::Block;
use crate::fileio::section::{Section, SyncPolicy};
use crate::fileio::stamp::{Fault, Stamp};
use crate::held;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// So many locks: clients rarely wait for each other.
const SHARDS: usize = 64;

/// The writes of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Writes {
    /// The last one that began.
    pub(super) begun: u64,
    in_flight: u32,
    /// The last one that completed and overlapped no earlier one: an older generation must not come back.
    pub(super) kept: u64,
    /// When it completed, on the ledger's clock.
    kept_at: u64,
    /// The last one of these that was durable.
    pub(super) durable: u64,
}

/// What the clients wrote and what was made durable. 40 bytes per block.
pub(in crate::fileio) struct Ledger {
    blocks_of_a_file: u64,
    io_bytes: u64,
    pub(super) blocks: u64,
    shards: Vec<Mutex<Vec<Writes>>>,
    /// Counts completed writes.
    clock: AtomicU64,
    /// Writes that completed up to then are durable.
    durable_until: AtomicU64,
}

/// A write that is in flight.
#[must_use = "the ledger must learn how the write ended"]
pub(in crate::fileio) struct Begun {
    index: u64,
    generation: u64,
    overlaps: bool,
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fileio) enum Wrote {
    /// It may be on disk or not.
    Failed,
    Cached,
    /// With a sync that followed it.
    Durable,
}

impl Wrote {
    pub(in crate::fileio) fn of(is_done: bool, sync: SyncPolicy) -> Wrote {
        match sync {
            _ if !is_done => Wrote::Failed,
            SyncPolicy::Each | SyncPolicy::Group => Wrote::Durable,
            SyncPolicy::Never | SyncPolicy::Every(_) | SyncPolicy::End => Wrote::Cached,
        }
    }
}

/// The moment before a sync.
pub(in crate::fileio) struct SyncBegun(u64);

impl Ledger {
    pub(in crate::fileio) fn new(section: &Section) -> Ledger {
        let blocks = section.blocks_of_a_file() * u64::from(section.files);
        let of_a_shard = blocks.div_ceil(SHARDS as u64) as usize;
        let shard = || Mutex::new(vec![Writes::default(); of_a_shard]);
        Ledger {
            blocks_of_a_file: section.blocks_of_a_file(),
            io_bytes: section.io_bytes,
            blocks,
            shards: (0..SHARDS).map(|_| shard()).collect(),
            clock: AtomicU64::new(0),
            durable_until: AtomicU64::new(0),
        }
    }

    fn index(&self, block: Block) -> u64 {
        u64::from(block.file) * self.blocks_of_a_file + block.offset / self.io_bytes
    }

    fn with<T>(&self, index: u64, with: impl FnOnce(&mut Writes) -> T) -> T {
        let mut writes = held(&self.shards[index as usize % SHARDS]);
        with(&mut writes[index as usize / SHARDS])
    }

    /// Puts the stamp of the next write of this block on the bytes that are about to be written.
    pub(in crate::fileio) fn begin(&self, block: Block, bytes: &mut [u8]) -> Begun {
        let index = self.index(block);
        let begun = self.with(index, |writes| {
            writes.begun += 1;
            writes.in_flight += 1;
            Begun {
                index,
                generation: writes.begun,
                overlaps: writes.in_flight > 1,
            }
        });
        let generation = begun.generation;
        Stamp { block, generation }.put(bytes);
        begun
    }

    pub(in crate::fileio) fn ended(&self, begun: Begun, wrote: Wrote) {
        let durable_until = self.durable_until.load(SeqCst);
        self.with(begun.index, |writes| {
            writes.in_flight -= 1;
            if wrote == Wrote::Failed || begun.overlaps {
                return;
            }
            writes.settle(durable_until);
            writes.kept = begun.generation;
            writes.kept_at = self.clock.fetch_add(1, SeqCst) + 1;
            if wrote == Wrote::Durable {
                writes.durable = begun.generation;
            }
        });
    }

    /// To be called before the files are made durable.
    pub(in crate::fileio) fn sync_begins(&self) -> SyncBegun {
        SyncBegun(self.clock.load(SeqCst))
    }

    /// To be called when all files are durable.
    pub(in crate::fileio) fn sync_ended(&self, begun: SyncBegun) {
        self.durable_until.fetch_max(begun.0, SeqCst);
    }

    /// Takes what is on disk for the state before the load.
    pub(super) fn begin_with(&self, block: Block, generation: u64) {
        self.with(self.index(block), |writes| {
            *writes = Writes {
                begun: generation,
                kept: generation,
                durable: generation,
                ..Writes::default()
            };
        });
    }

    pub(super) fn writes(&self, block: Block) -> Writes {
        let durable_until = self.durable_until.load(SeqCst);
        self.with(self.index(block), |writes| {
            writes.settle(durable_until);
            *writes
        })
    }
}

impl Writes {
    /// Notes that the last completed write is durable if a sync began after it.
    fn settle(&mut self, durable_until: u64) {
        if self.kept_at <= durable_until {
            self.durable = self.durable.max(self.kept);
        }
    }

    /// What is wrong with a block that was read after the load.
    pub(super) fn judge(
        self,
        block: Block,
        found: Result<Stamp, Fault>,
        has_crashed: bool,
    ) -> Judged {
        let oldest = if has_crashed { self.durable } else { self.kept };
        let was_exposed = has_crashed && self.begun > self.durable;
        let stamp = match found {
            Ok(stamp) => stamp,
            Err(Fault::Blank) if oldest == 0 => return Judged::Right,
            Err(Fault::Blank) if has_crashed => {
                return Judged::Lost(format!("is blank, but write {oldest} was durable"));
            }
            Err(Fault::Blank) => return Judged::Wrong("was written and is blank now".into()),
            Err(Fault::Changed) if was_exposed => return Judged::Torn,
            Err(Fault::Changed) if has_crashed && oldest > 0 => {
                return Judged::Lost(format!(
                    "does not hold its checksum, but write {oldest} was durable"
                ));
            }
            Err(Fault::Changed) => {
                return Judged::Wrong("was changed: its checksum does not hold".into());
            }
        };
        let Stamp {
            block: Block { file, offset },
            generation,
        } = stamp;
        if stamp.block != block {
            Judged::Wrong(format!(
                "holds the block at offset {offset} of file {file}, which was written to the wrong place"
            ))
        } else if generation > self.begun {
            Judged::Wrong(format!(
                "holds write {generation} of this block, but only {} began",
                self.begun
            ))
        } else if generation < oldest && has_crashed {
            Judged::Lost(format!(
                "holds write {generation} of this block, but write {oldest} was durable"
            ))
        } else if generation < oldest {
            Judged::Wrong(format!(
                "is stale: it holds write {generation} of this block, but write {oldest} was completed"
            ))
        } else if generation < self.kept {
            Judged::NotSynced
        } else {
            Judged::Right
        }
    }
}

/// What a block is found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Right,
    /// After a power cut: it has an older write, but nobody was promised the newer one.
    NotSynced,
    /// After a power cut: a write that was not durable is there in part.
    Torn,
    /// After a power cut: a durable write is missing.
    Lost(String),
    Wrong(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    const IO_BYTES: usize = 512;

    fn section(text: &str) -> Section {
        let text = format!(
            "verify = true\nio_size = \"512\"\nsize = \"32K\"\ndirect = false\npattern = \"random-write\"\n{text}"
        );
        spec::read_text(&text, Section::read).unwrap()
    }

    fn block(number: u64) -> Block {
        Block {
            file: 0,
            offset: number * IO_BYTES as u64,
        }
    }

    /// One write of a block.
    fn write(ledger: &Ledger, number: u64, wrote: Wrote) -> Vec<u8> {
        let mut bytes = vec![7; IO_BYTES];
        let begun = ledger.begin(block(number), &mut bytes);
        ledger.ended(begun, wrote);
        bytes
    }

    fn judged(ledger: &Ledger, bytes: &[u8], has_crashed: bool) -> Judged {
        let writes = ledger.writes(block(0));
        writes.judge(block(0), Stamp::from_bytes(bytes), has_crashed)
    }

    fn is_wrong(judged: &Judged, says: &str) -> bool {
        matches!(judged, Judged::Wrong(text) if text.contains(says))
    }

    #[test]
    fn the_last_completed_write_must_be_there() {
        let ledger = Ledger::new(&section(""));
        let older = write(&ledger, 0, Wrote::Cached);
        let newer = write(&ledger, 0, Wrote::Cached);
        assert_eq!(judged(&ledger, &newer, false), Judged::Right);
        let stale = judged(&ledger, &older, false);
        assert!(is_wrong(&stale, "is stale: it holds write 1"), "{stale:?}");
        let blank = judged(&ledger, &[0; IO_BYTES], false);
        assert!(is_wrong(&blank, "is blank now"), "{blank:?}");
        let mut changed = newer.clone();
        changed[100] ^= 1;
        let changed = judged(&ledger, &changed, false);
        assert!(is_wrong(&changed, "its checksum does not hold"));
    }

    #[test]
    fn a_block_at_the_wrong_place_or_from_the_future_is_wrong() {
        let ledger = Ledger::new(&section(""));
        write(&ledger, 0, Wrote::Cached);
        let other = write(&ledger, 5, Wrote::Cached);
        let misplaced = judged(&ledger, &other, false);
        let says = "holds the block at offset 2560 of file 0";
        assert!(is_wrong(&misplaced, says), "{misplaced:?}");
        let mut future = vec![0; IO_BYTES];
        let stamp = Stamp {
            block: block(0),
            generation: 2,
        };
        stamp.put(&mut future);
        assert!(is_wrong(&judged(&ledger, &future, false), "only 1 began"));
    }

    #[test]
    fn either_of_two_overlapping_writes_may_stay() {
        let ledger = Ledger::new(&section(""));
        let mut bytes = [vec![1; IO_BYTES], vec![2; IO_BYTES]];
        let first = ledger.begin(block(0), &mut bytes[0]);
        let second = ledger.begin(block(0), &mut bytes[1]);
        ledger.ended(second, Wrote::Cached);
        ledger.ended(first, Wrote::Cached);
        for bytes in &bytes {
            assert_eq!(judged(&ledger, bytes, false), Judged::Right);
        }
    }

    #[test]
    fn a_failed_write_may_be_there_or_not() {
        let ledger = Ledger::new(&section(""));
        let older = write(&ledger, 0, Wrote::Cached);
        let failed = write(&ledger, 0, Wrote::Failed);
        for bytes in [older, failed] {
            assert_eq!(judged(&ledger, &bytes, false), Judged::Right);
        }
    }

    #[test]
    fn a_power_cut_may_take_what_was_not_synced_and_nothing_else() {
        let ledger = Ledger::new(&section(""));
        let [first, second, third, fourth] = [(); 4].map(|()| {
            let bytes = write(&ledger, 0, Wrote::Cached);
            if ledger.writes(block(0)).begun == 2 {
                let sync = ledger.sync_begins();
                ledger.sync_ended(sync);
            }
            bytes
        });
        let after_a_cut = |bytes: &[u8]| judged(&ledger, bytes, true);
        assert!(matches!(after_a_cut(&first), Judged::Lost(_)));
        assert_eq!(after_a_cut(&second), Judged::NotSynced);
        assert_eq!(after_a_cut(&third), Judged::NotSynced);
        assert_eq!(after_a_cut(&fourth), Judged::Right);
        let mut torn = fourth.clone();
        torn[300..].fill(0);
        assert_eq!(after_a_cut(&torn), Judged::Torn);
        assert!(is_wrong(&judged(&ledger, &second, false), "is stale"));
    }

    /// As on a disk that acknowledges flushes and forgets them, in a file that grew.
    #[test]
    fn a_durable_write_of_which_a_power_cut_left_nothing_or_a_part_is_lost() {
        let ledger = Ledger::new(&section(""));
        let blank = [0; IO_BYTES];
        write(&ledger, 0, Wrote::Cached);
        assert_eq!(judged(&ledger, &blank, true), Judged::Right);
        let mut torn = write(&ledger, 0, Wrote::Durable);
        torn[300..].fill(0);
        for bytes in [&blank[..], &torn[..]] {
            let found = judged(&ledger, bytes, true);
            assert!(
                matches!(&found, Judged::Lost(says) if says.ends_with("but write 2 was durable")),
                "{found:?}"
            );
            assert!(matches!(judged(&ledger, bytes, false), Judged::Wrong(_)));
        }
    }

    #[test]
    fn a_sync_covers_only_writes_that_completed_before_it_began() {
        let ledger = Ledger::new(&section(""));
        let first = write(&ledger, 0, Wrote::Cached);
        let sync = ledger.sync_begins();
        write(&ledger, 0, Wrote::Cached);
        ledger.sync_ended(sync);
        assert_eq!(ledger.writes(block(0)).durable, 0);
        assert_eq!(judged(&ledger, &first, true), Judged::NotSynced);
        write(&ledger, 0, Wrote::Durable);
        assert_eq!(ledger.writes(block(0)).durable, 3);
    }
}
