//! What went wrong during a load: the first operation that failed, and files that another process cut short.
//!
//! Purpose: make the trial invalid with the file, the offset and the cause, since its figures are those of a disk that did not do the
//! work. Boundary: how often operations failed is counted by the load engine.

use super::files;
use super::places::IoKind;
use super::section::Section;
use crate::interface::{AuditError, Audited, Auditor, Ended};
use record::AuditNote;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The codes of failed operations are the system's error numbers above this.
const SYSTEM_ERROR: u16 = 60_000;
/// An operation that was cut short.
const SHORT: u16 = SYSTEM_ERROR + 4_999;

/// The first operation of the load that failed, in one sentence.
pub(super) type FirstFailure = Arc<OnceLock<String>>;

/// An operation that failed.
#[derive(Debug)]
pub(super) struct Fault {
    /// A write that should be durable can fail as a sync.
    pub(super) kind: IoKind,
    pub(super) file: u32,
    /// Of the first byte that was not transferred.
    pub(super) offset: u64,
    pub(super) error: io::Error,
}

impl Fault {
    pub(super) fn says(&self, section: &Section, folder: &Path) -> String {
        let path = files::path(folder, self.file);
        let place = match self.kind {
            IoKind::Sync | IoKind::Doublewrite => String::new(),
            IoKind::Read | IoKind::Write => {
                let done = self.offset % section.io_bytes;
                let start = self.offset - done;
                let after = match done {
                    0 => String::new(),
                    done => format!(", after {done} bytes"),
                };
                format!(" of {} bytes at offset {start}{after},", section.io_bytes)
            }
        };
        let error = match self.error.kind() {
            io::ErrorKind::UnexpectedEof => "the file is shorter".to_string(),
            _ => self.error.to_string(),
        };
        let kind = self.kind.name();
        format!(
            "the first {kind} that failed,{place} in {}: {error}",
            path.display()
        )
    }
}

/// The code under which the load engine counts an error.
pub(super) fn code(error: &io::Error) -> u16 {
    let number = error
        .raw_os_error()
        .and_then(|number| u16::try_from(number).ok());
    number.map_or(SHORT, |number| SYSTEM_ERROR.saturating_add(number))
}

/// Reports the first failure, and files that lost a part.
pub(super) struct Failures {
    section: Section,
    first: FirstFailure,
    /// Of all files before the load.
    before: Vec<Extent>,
}

/// The size of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    bytes: u64,
    /// Of 512 bytes, on disk.
    blocks: u64,
}

impl Extent {
    /// Whether every byte has a block on disk. The file system may count further blocks of its own.
    fn is_whole(self) -> bool {
        self.blocks * 512 >= self.bytes
    }
}

impl Failures {
    pub(super) fn new(section: &Section, first: FirstFailure) -> Failures {
        Failures {
            section: section.clone(),
            first,
            before: Vec::new(),
        }
    }

    fn extents(&self, place: &Audited) -> Result<Vec<Extent>, AuditError> {
        let Audited::Folder(folder) = place else {
            return Ok(Vec::new());
        };
        let paths = (0..self.section.files).map(|file| files::path(folder, file));
        paths.map(extent).collect()
    }
}

impl Auditor for Failures {
    fn before(&mut self, place: Audited, _: &Path) -> Result<(), AuditError> {
        self.before = self.extents(&place)?;
        Ok(())
    }

    fn audit(
        self: Box<Self>,
        place: Audited,
        ended: &Ended,
    ) -> Result<Option<AuditNote>, AuditError> {
        // Operations fail when the power goes, and what a file gained last may be gone with it.
        if !ended.crashes_ns.is_empty() {
            return Ok(None);
        }
        let after = self.extents(&place)?;
        let files = self.before.iter().zip(&after).zip(0u32..);
        let lost = files.filter_map(|((before, after), file)| lost(file, *before, *after));
        let violations: Vec<String> = self.first.get().cloned().into_iter().chain(lost).collect();
        Ok((!violations.is_empty()).then(|| AuditNote {
            violations,
            ..AuditNote::default()
        }))
    }
}

fn extent(path: PathBuf) -> Result<Extent, AuditError> {
    match std::fs::symlink_metadata(&path) {
        Ok(file) => Ok(Extent {
            bytes: file.len(),
            blocks: file.blocks(),
        }),
        Err(cause) => Err(AuditError::Folder { path, cause }),
    }
}

/// A write extends a file that was cut, so the file is whole again and has a hole.
fn lost(file: u32, before: Extent, after: Extent) -> Option<String> {
    let name = files::name(file);
    let says = if after.bytes < before.bytes {
        format!(
            "{name} has {} bytes after the load and had {}",
            after.bytes, before.bytes
        )
    } else if before.is_whole() && !after.is_whole() {
        let bytes = (before.blocks - after.blocks) * 512;
        format!("{name} lost {bytes} bytes on disk during the load")
    } else {
        return None;
    };
    Some(format!("{says}: another process cut it short"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Extent = Extent {
        bytes: 8_192,
        blocks: 16,
    };

    #[test]
    fn a_file_that_a_write_made_whole_again_is_found_by_its_hole() {
        let with_hole = Extent { blocks: 8, ..WHOLE };
        let says = lost(3, WHOLE, with_hole).unwrap();
        assert!(says.starts_with("file-3 lost 4096 bytes on disk"), "{says}");
    }

    #[test]
    fn a_file_that_never_had_all_its_blocks_on_disk_may_lose_some() {
        let sparse = Extent { blocks: 8, ..WHOLE };
        let sparser = Extent { blocks: 4, ..WHOLE };
        assert_eq!(lost(0, sparse, sparser), None);
        assert_eq!(lost(0, WHOLE, WHOLE), None);
    }

    #[test]
    fn the_place_of_a_fault_is_the_block_and_the_bytes_that_were_done() {
        let section = spec::read_text("io_size = \"4K\"", Section::read).unwrap();
        let fault = Fault {
            kind: IoKind::Write,
            file: 1,
            offset: 3 * 4_096 + 512,
            error: io::Error::from_raw_os_error(28),
        };
        let says = fault.says(&section, Path::new("/d"));
        let expected = "the first write that failed, of 4096 bytes at offset 12288, after 512 bytes, in /d/file-1: No space left on device (os error 28)";
        assert_eq!(says, expected);
    }
}
