//! Verification: every block tells its place, the write that made it and whether it is whole.
//!
//! Goal: after the load each block holds the last write that was reported as completed, or one that overlapped it; after a power cut, at
//! least the last one that was durable. Non-goal: reads during the load, which may overlap writes. Boundaries: the driver reports when
//! writes begin and end; `run` decides which findings make a trial invalid.

mod ledger;

pub(super) use ledger::{Ledger, Wrote};

use super::files;
use super::places::Block;
use super::section::Section;
use super::stamp::{Fault, Stamp};
use crate::interface::{AuditError, Audited, Auditor, Ended};
use ledger::{Judged, Writes};
use load::Aligned;
use record::AuditNote;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Wrong blocks that are named one by one.
const NAMED_MAX: usize = 10;
/// Read at once.
const CHUNK_BYTES: u64 = 1 << 20;

/// Reads all blocks before and after the load.
pub(super) struct Reader {
    pub(super) section: Section,
    pub(super) ledger: Arc<Ledger>,
    /// Reports failed operations.
    pub(super) inner: Box<dyn Auditor>,
    /// Blocks that were wrong before the load.
    pub(super) wrong_before: Wrong,
}

/// Wrong blocks: the first ones by name, and how many there are.
#[derive(Default)]
pub(super) struct Wrong {
    count: u64,
    named: Vec<String>,
}

impl Wrong {
    fn add(&mut self, folder: &Path, block: Block, says: &str) {
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            let (path, offset) = (files::path(folder, block.file), block.offset);
            let named = format!("the block at offset {offset} of {} {says}", path.display());
            self.named.push(named);
        }
    }

    /// One sentence each, and one about those that are not named.
    fn sentences(self, when: &str) -> Vec<String> {
        let more = self.count - self.named.len() as u64;
        let rest = (more > 0).then(|| format!("{more} more blocks were wrong {when}"));
        self.named.into_iter().chain(rest).collect()
    }
}

impl Auditor for Reader {
    /// Learns what the files hold, which an earlier trial of the series may have written.
    fn before(&mut self, place: Audited, temporary: &Path) -> Result<(), AuditError> {
        self.inner.before(place, temporary)?;
        let Audited::Folder(folder) = place else {
            return Ok(());
        };
        let (ledger, wrong) = (&self.ledger, &mut self.wrong_before);
        each_block(&self.section, folder, &mut |block, found| match found {
            Ok(stamp) if stamp.block == block => ledger.begin_with(block, stamp.generation),
            Ok(_) => wrong.add(folder, block, "holds another block before the load"),
            Err(Fault::Blank) => ledger.begin_with(block, 0),
            Err(Fault::Changed) => {
                wrong.add(folder, block, "was changed before the load");
            }
        })
    }

    fn audit(
        self: Box<Self>,
        place: Audited,
        ended: &Ended,
    ) -> Result<Option<AuditNote>, AuditError> {
        let Reader {
            section,
            ledger,
            inner,
            wrong_before,
        } = *self;
        let mut note = inner.audit(place, ended)?.unwrap_or_default();
        note.violations
            .extend(wrong_before.sentences("before the load"));
        let Audited::Folder(folder) = place else {
            return Ok(Some(note));
        };
        let mut seen = Seen {
            has_crashed: !ended.crashes_ns.is_empty(),
            note,
            ..Seen::default()
        };
        each_block(&section, folder, &mut |block, found| {
            seen.add(folder, block, ledger.writes(block), found);
        })?;
        Ok(Some(seen.note(ledger.blocks)))
    }
}

/// What was read back after the load.
#[derive(Default)]
struct Seen {
    has_crashed: bool,
    /// With what others have found.
    note: AuditNote,
    not_synced: u64,
    torn: u64,
    wrong: Wrong,
    lost: Wrong,
}

impl Seen {
    fn add(&mut self, folder: &Path, block: Block, writes: Writes, found: Result<Stamp, Fault>) {
        let promised = if self.has_crashed {
            writes.durable
        } else {
            writes.kept
        };
        self.note.acknowledged += u64::from(promised > 0);
        if self.has_crashed && writes.begun > writes.durable {
            self.note.unknown += 1;
            let is_newer = found.is_ok_and(|stamp| stamp.generation > writes.durable);
            self.note.unknown_kept += u64::from(is_newer);
        }
        match writes.judge(block, found, self.has_crashed) {
            Judged::Right => {}
            Judged::NotSynced => self.not_synced += 1,
            Judged::Torn => self.torn += 1,
            Judged::Lost(says) => {
                self.note.lost += 1;
                self.lost.add(folder, block, &says);
            }
            Judged::Wrong(says) => self.wrong.add(folder, block, &says),
        }
    }

    fn note(self, blocks: u64) -> AuditNote {
        let mut note = self.note;
        let (wrong, lost) = (self.wrong.count, self.lost.count);
        note.findings.push(if !self.has_crashed {
            format!("{blocks} blocks were read back, {wrong} of them wrong")
        } else {
            format!(
                "{blocks} blocks were read back after the power cut: {lost} lost a durable write, {} hold an older write than the last one, which was not durable, {} are torn, {wrong} wrong",
                self.not_synced, self.torn
            )
        });
        note.findings
            .extend(self.lost.sentences("after the power cut"));
        note.violations
            .extend(self.wrong.sentences("after the load"));
        note
    }
}

/// Calls `with` for every block of all files. What lies beyond the end of a file is blank.
fn each_block(
    section: &Section,
    folder: &Path,
    with: &mut dyn FnMut(Block, Result<Stamp, Fault>),
) -> Result<(), AuditError> {
    let io_bytes = section.io_bytes as usize;
    let at_once = (CHUNK_BYTES / section.io_bytes).max(1);
    let mut chunk = Aligned::new(io_bytes * at_once as usize);
    for file in 0..section.files {
        let path = files::path(folder, file);
        let failed = |cause| AuditError::Folder {
            path: path.clone(),
            cause,
        };
        let opened = files::open(section, folder, file).map_err(failed)?;
        from_disk(&opened).map_err(failed)?;
        for first in (0..section.blocks_of_a_file()).step_by(at_once as usize) {
            let offset = first * section.io_bytes;
            let read = read(&opened, &mut chunk, offset).map_err(failed)?;
            let blocks = (section.blocks_of_a_file() - first).min(at_once);
            for (n, bytes) in (0..blocks).zip(chunk.chunks_exact(io_bytes)) {
                let offset = offset + n * section.io_bytes;
                let is_there = (n as usize + 1) * io_bytes <= read;
                let found = if is_there {
                    Stamp::from_bytes(bytes)
                } else {
                    Err(Fault::Blank)
                };
                with(Block { file, offset }, found);
            }
        }
    }
    Ok(())
}

/// Empties the page cache of the file, so that the disk answers.
fn from_disk(file: &File) -> io::Result<()> {
    file.sync_all()?;
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Fills the buffer from an offset on, as far as the file goes.
fn read(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_blocks_beyond_ten_are_counted() {
        let mut wrong = Wrong::default();
        for number in 0..12 {
            let block = Block {
                file: 0,
                offset: number * 512,
            };
            wrong.add(Path::new("/d"), block, "is blank");
        }
        let sentences = wrong.sentences("after the load");
        assert_eq!(sentences.len(), 11);
        assert_eq!(
            sentences[1],
            "the block at offset 512 of /d/file-0 is blank"
        );
        assert_eq!(sentences[10], "2 more blocks were wrong after the load");
    }
}
