//! Makes the files, with every byte on disk.
//!
//! Goal: no operation of the load pays for an allocation, unless the section asks for it, and no device can compress or deduplicate
//! the data. Boundaries: the folder is prony's own and empty; whether the extents are written is checked by `run`.

use super::places::{Block, IoKind, Places};
use super::section::{Extents, Section, SyncCall, SyncPolicy};
use super::stamp::{MADE, Stamp};
use crate::interface::{Files, FilesError, Precondition};
use datagen::oltp::Distribution;
use datagen::random::stream;
use load::{Aligned, Tally};
use rustix::fs::{AtFlags, FallocateFlags, OFlags, StatxFlags, fallocate, statx};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Written at once when files are made.
const CHUNK_BYTES: u64 = 1 << 20;

/// A file of the load.
pub(super) fn path(folder: &Path, file: u32) -> PathBuf {
    folder.join(name(file))
}

pub(super) fn name(file: u32) -> String {
    format!("file-{file}")
}

/// How the load opens the files.
pub(super) fn open(section: &Section, folder: &Path, file: u32) -> io::Result<File> {
    open_to(section.pattern.writes(), section, folder, file)
}

/// With the flags of the load, also to write where the load only reads.
fn open_to(write: bool, section: &Section, folder: &Path, file: u32) -> io::Result<File> {
    let mut flags = section.flags();
    let is_dsync = section.sync == SyncPolicy::Each && section.call == SyncCall::Dsync;
    flags.set(OFlags::DSYNC, is_dsync);
    let mut options = File::options();
    options.read(true).write(write);
    options
        .custom_flags(flags.bits() as i32)
        .open(path(folder, file))
}

/// A file that is being written.
struct Out {
    number: u32,
    path: PathBuf,
    file: File,
}

impl Out {
    fn failed(&self, cause: impl Into<io::Error>) -> FilesError {
        failed(&self.path, cause.into())
    }

    fn finish(self) -> Result<PathBuf, FilesError> {
        self.file.sync_all().map_err(|cause| self.failed(cause))?;
        Ok(self.path)
    }
}

fn failed(path: &Path, cause: io::Error) -> FilesError {
    FilesError::Failed {
        path: path.to_path_buf(),
        cause,
    }
}

/// What a pass over all files needs.
struct Pass<'a> {
    section: &'a Section,
    /// A buffer for whole blocks.
    chunk: Aligned,
    /// Told the bytes that are written.
    progress: &'a dyn Fn(u64),
    cancel: &'a dyn Fn() -> bool,
}

impl Pass<'_> {
    /// Writes a whole file with data that differs from that of other passes.
    fn fill(&mut self, out: &Out, pass: u32) -> Result<(), FilesError> {
        let section = self.section;
        let before = u64::from(out.number) * section.file_bytes;
        let whole = section.whole_blocks_of_a_file();
        for offset in (0..whole).step_by(self.chunk.len()) {
            if (self.cancel)() {
                return Err(FilesError::Cancelled);
            }
            let length = (whole - offset).min(self.chunk.len() as u64);
            let part = &mut self.chunk[..length as usize];
            randomise(part, (before + offset) ^ (u64::from(pass) << 56));
            if section.verify {
                let file = out.number;
                stamp(part, section.io_bytes, Block { file, offset });
            }
            let written = out.file.write_all_at(part, offset);
            written.map_err(|cause| out.failed(cause))?;
            (self.progress)(before + offset + length);
        }
        Ok(())
    }
}

impl Files for Section {
    fn bytes(&self) -> u64 {
        self.file_bytes * u64::from(self.files)
    }

    fn new_bytes(&self) -> u64 {
        match self.distribution {
            _ if !self.pattern.is_random() => self.bytes(),
            // Of so many uniform draws, one in ten is the same as an earlier one.
            Distribution::Uniform => self.bytes() / 5,
            _ => 0,
        }
    }

    fn are_written(&self) -> bool {
        self.extents == Extents::Written
    }

    fn are_direct(&self) -> bool {
        self.direct
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    fn transferred_bytes(&self, tallies: &[Tally]) -> u64 {
        let kinds = Places::new(self, 0).kinds().into_iter().zip(tallies);
        let blocks = kinds.map(|(kind, tally)| match kind {
            IoKind::Read | IoKind::Write => tally.done(),
            // A lower bound will do: the doublewrite buffer is left out.
            IoKind::Doublewrite | IoKind::Sync => 0,
        });
        blocks.sum::<u64>() * self.io_bytes
    }

    fn precondition(&self) -> Option<Precondition> {
        self.precondition
    }

    fn make(
        &self,
        folder: &Path,
        progress: &dyn Fn(u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<Vec<PathBuf>, FilesError> {
        self.engine.check().map_err(FilesError::Unusable)?;
        let mut pass = self.pass(progress, cancel);
        let mut made = Vec::new();
        for file in 0..self.files {
            let out = self.create(folder, file)?;
            match self.extents {
                Extents::None => {}
                Extents::Unwritten => {
                    let whole = self.whole_blocks_of_a_file();
                    fallocate(&out.file, FallocateFlags::empty(), 0, whole)
                        .map_err(|error| out.failed(error))?;
                }
                Extents::Written => pass.fill(&out, 0)?,
            }
            made.push(out.finish()?);
        }
        Ok(made)
    }

    fn overwrite(
        &self,
        folder: &Path,
        pass: u32,
        progress: &dyn Fn(u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), FilesError> {
        let mut over = self.pass(progress, cancel);
        for number in 0..self.files {
            let path = path(folder, number);
            let file = open_to(true, self, folder, number);
            let file = file.map_err(|cause| failed(&path, cause))?;
            let out = Out { number, path, file };
            over.fill(&out, pass)?;
            out.finish()?;
        }
        Ok(())
    }
}

impl Section {
    /// How files are opened, beside O_DSYNC.
    fn flags(&self) -> OFlags {
        let mut flags = OFlags::NOFOLLOW;
        flags.set(OFlags::DIRECT, self.direct);
        flags
    }

    fn create(&self, folder: &Path, number: u32) -> Result<Out, FilesError> {
        let path = path(folder, number);
        let mut options = File::options();
        options
            .write(true)
            .create_new(true)
            .custom_flags(self.flags().bits() as i32);
        let file = options.open(&path).map_err(|cause| {
            let is_invalid = cause.raw_os_error() == Some(Errno::INVAL.raw_os_error());
            if self.direct && is_invalid {
                FilesError::NoDirect(folder.to_path_buf())
            } else {
                failed(&path, cause)
            }
        })?;
        self.is_aligned(&file, folder)?;
        Ok(Out { number, path, file })
    }

    fn pass<'a>(&'a self, progress: &'a dyn Fn(u64), cancel: &'a dyn Fn() -> bool) -> Pass<'a> {
        let bytes = (CHUNK_BYTES / self.io_bytes).max(1) * self.io_bytes;
        Pass {
            section: self,
            chunk: Aligned::new(bytes as usize),
            progress,
            cancel,
        }
    }

    /// # Errors
    /// The file system has no direct I/O for this file, or needs larger blocks than the operations have.
    fn is_aligned(&self, file: &File, folder: &Path) -> Result<(), FilesError> {
        // A kernel before 6.1 says nothing. Then the first operation fails with EINVAL.
        let known = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
        let known = known.ok().filter(|known| {
            let given = StatxFlags::from_bits_retain(known.stx_mask);
            self.direct && given.contains(StatxFlags::DIOALIGN)
        });
        let Some(known) = known else {
            return Ok(());
        };
        match u64::from(known.stx_dio_offset_align) {
            // It would go through the page cache.
            0 => Err(FilesError::NoDirect(folder.to_path_buf())),
            needed_bytes if self.io_bytes.is_multiple_of(needed_bytes) => Ok(()),
            needed_bytes => Err(FilesError::Unusable(format!(
                "direct I/O in {} needs operations in multiples of {needed_bytes} bytes; write io_size = \"{}\", or direct = false",
                folder.display(),
                spec::size_text(self.io_bytes.next_multiple_of(needed_bytes))
            ))),
        }
    }

    /// The part of a file that operations reach.
    fn whole_blocks_of_a_file(&self) -> u64 {
        self.blocks_of_a_file() * self.io_bytes
    }
}

/// Stamps the blocks of a part that begins with `first`.
fn stamp(part: &mut [u8], io_bytes: u64, first: Block) {
    let offsets = (first.offset..).step_by(io_bytes as usize);
    for (bytes, offset) in part.chunks_exact_mut(io_bytes as usize).zip(offsets) {
        let made = Stamp {
            block: Block { offset, ..first },
            generation: MADE,
        };
        made.put(bytes);
    }
}

/// Fills a buffer with numbers that no device can compress.
pub(super) fn randomise(buffer: &mut [u8], seed: u64) {
    use rand::Rng;
    stream(0x5eed, seed).fill_bytes(buffer);
}
