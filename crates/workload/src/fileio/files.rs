//! Makes the files, with every byte on disk.
//!
//! Goal: no operation of the load pays for an allocation, unless the section asks for it, and no device can compress or deduplicate
//! the data. Boundaries: the folder is prony's own and empty; whether the extents are written is checked by `run`.

use super::section::{Extents, Section, SyncCall, SyncPolicy};
use crate::seam::{Files, FilesError};
use datagen::random::stream;
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Written at once when files are made.
const CHUNK_BYTES: u64 = 1 << 20;
/// Enough for every logical block size of direct I/O.
const ALIGNMENT: usize = 4_096;

/// A file of the load.
pub(super) fn path(folder: &Path, file: u32) -> PathBuf {
    folder.join(format!("file-{file}"))
}

/// How the load opens the files.
pub(super) fn open(section: &Section, folder: &Path, file: u32) -> io::Result<File> {
    let mut flags = OFlags::NOFOLLOW;
    flags.set(OFlags::DIRECT, section.direct);
    let is_dsync = section.sync == SyncPolicy::Each && section.call == SyncCall::Dsync;
    flags.set(OFlags::DSYNC, is_dsync);
    let mut options = File::options();
    options.read(true).write(section.pattern.writes());
    options
        .custom_flags(flags.bits() as i32)
        .open(path(folder, file))
}

impl Files for Section {
    fn bytes(&self) -> u64 {
        self.file_bytes * u64::from(self.files)
    }

    fn are_written(&self) -> bool {
        self.extents == Extents::Written
    }

    fn make(
        &self,
        folder: &Path,
        progress: &dyn Fn(u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<Vec<PathBuf>, FilesError> {
        let mut chunk = Aligned::new(CHUNK_BYTES as usize);
        let mut made = Vec::new();
        for file in 0..self.files {
            let path = path(folder, file);
            let failed = |cause| FilesError::Failed {
                path: path.clone(),
                cause,
            };
            let mut flags = OFlags::NOFOLLOW;
            flags.set(OFlags::DIRECT, self.direct);
            let mut options = File::options();
            let create = options
                .write(true)
                .create_new(true)
                .custom_flags(flags.bits() as i32);
            let out = create
                .open(&path)
                .map_err(|cause| match cause.raw_os_error() {
                    Some(code)
                        if self.direct && code == rustix::io::Errno::INVAL.raw_os_error() =>
                    {
                        FilesError::NoDirect(folder.to_path_buf())
                    }
                    _ => failed(cause),
                })?;
            let whole = self.blocks_of_a_file() * self.io_bytes;
            match self.extents {
                Extents::Unwritten => fallocate(&out, FallocateFlags::empty(), 0, whole)
                    .map_err(|error| failed(error.into()))?,
                Extents::Written => {
                    let before = u64::from(file) * self.file_bytes;
                    fill(&out, before, whole, &mut chunk, progress, cancel).map_err(|cause| {
                        match cause.kind() {
                            io::ErrorKind::Interrupted => FilesError::Cancelled,
                            _ => failed(cause),
                        }
                    })?;
                }
            }
            out.sync_all().map_err(failed)?;
            made.push(path);
        }
        Ok(made)
    }
}

/// Writes a whole file. The last chunk is rounded up to the alignment of direct I/O.
fn fill(
    out: &File,
    before: u64,
    bytes: u64,
    chunk: &mut Aligned,
    progress: &dyn Fn(u64),
    cancel: &dyn Fn() -> bool,
) -> io::Result<()> {
    for offset in (0..bytes).step_by(CHUNK_BYTES as usize) {
        if cancel() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = (bytes - offset)
            .min(CHUNK_BYTES)
            .next_multiple_of(ALIGNMENT as u64);
        let part = &mut chunk[..length as usize];
        randomise(part, before + offset);
        out.write_all_at(part, offset)?;
        progress(before + offset + length);
    }
    Ok(())
}

/// Fills a buffer with numbers that no device can compress.
pub(super) fn randomise(buffer: &mut [u8], seed: u64) {
    use rand::Rng;
    stream(0x5eed, seed).fill_bytes(buffer);
}

/// A buffer that direct I/O accepts.
pub(super) struct Aligned {
    /// Longer than needed, so that a multiple of the alignment lies in it.
    bytes: Box<[u8]>,
    start: usize,
    length: usize,
}

impl Aligned {
    pub(super) fn new(length: usize) -> Aligned {
        let bytes = vec![0; length + ALIGNMENT].into_boxed_slice();
        Aligned {
            start: bytes.as_ptr().align_offset(ALIGNMENT),
            bytes,
            length,
        }
    }
}

impl Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}
