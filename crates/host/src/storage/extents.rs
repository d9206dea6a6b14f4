//! Where a file's bytes are on disk, as its file system tells (FS_IOC_FIEMAP).
//!
//! Purpose: a benchmark of a disk must know that a file has neither holes nor allocated blocks that nothing was written to: a read of
//! those does not reach the disk, and the first write to them changes the file system's metadata too.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// The bytes of a file by the state of their blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// Bytes with a block on disk, written or not.
    pub mapped_bytes: u64,
    /// Bytes with a block on disk to which nothing was written.
    pub unwritten_bytes: u64,
}

/// `_IOWR('f', 11, struct fiemap)` of linux/fs.h.
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
/// Writes what is only in the page cache before it answers.
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
/// Extents per call.
const AT_ONCE: usize = 64;

/// `struct fiemap` of linux/fiemap.h, with its array.
#[repr(C)]
#[derive(Default)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: Array,
}

#[repr(C)]
struct Array([Extent; AT_ONCE]);

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

impl Default for Array {
    fn default() -> Array {
        Array([Extent::default(); AT_ONCE])
    }
}

/// Asks the file system for the extents of a file.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if the file system does not know them (tmpfs, FUSE, network file systems); I/O errors.
pub fn read(file: &File) -> io::Result<Extents> {
    let mut all = Extents::default();
    each(file, &mut |extent| {
        all.mapped_bytes += extent.length;
        if extent.flags & FIEMAP_EXTENT_UNWRITTEN != 0 {
            all.unwritten_bytes += extent.length;
        }
    })?;
    Ok(all)
}

/// The parts of a file with blocks on disk, written or not, in order. The last one may end behind the file.
///
/// # Errors
/// As for [`read`].
pub(crate) fn mapped(file: &File) -> io::Result<Vec<Range<u64>>> {
    let mut parts = Vec::new();
    each(file, &mut |extent| {
        parts.push(extent.logical..extent.logical + extent.length);
    })?;
    Ok(parts)
}

fn each(file: &File, with: &mut dyn FnMut(&Extent)) -> io::Result<()> {
    let mut start = 0;
    loop {
        let map = next(file, start)?;
        let extents = &map.extents.0[..(map.mapped_extents as usize).min(AT_ONCE)];
        extents.iter().for_each(&mut *with);
        match extents.last() {
            Some(last) if last.flags & FIEMAP_EXTENT_LAST == 0 => {
                start = last.logical + last.length;
            }
            _ => return Ok(()),
        }
    }
}

fn next(file: &File, start: u64) -> io::Result<Fiemap> {
    let mut map = Fiemap {
        start,
        length: u64::MAX - start,
        flags: FIEMAP_FLAG_SYNC,
        extent_count: AT_ONCE as u32,
        ..Fiemap::default()
    };
    // SAFETY: the kernel writes at most `extent_count` extents behind the header, and `map` has that many.
    match unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut map) } {
        0 => Ok(map),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FallocateFlags, fallocate};
    use std::os::unix::fs::FileExt;

    const BYTES: u64 = 1 << 20;

    /// A file on a real file system: the temporary folder can be a tmpfs, which has no extents.
    fn file() -> File {
        tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap()
    }

    #[test]
    fn a_written_file_has_every_byte_on_disk() {
        let file = file();
        file.write_all_at(&vec![1; BYTES as usize], 0).unwrap();
        let extents = read(&file).unwrap();
        assert_eq!((extents.mapped_bytes, extents.unwritten_bytes), (BYTES, 0));
    }

    #[test]
    fn what_was_only_allocated_is_unwritten() {
        let file = file();
        fallocate(&file, FallocateFlags::empty(), 0, BYTES).unwrap();
        file.write_all_at(&[1; 4_096], 65_536).unwrap();
        file.sync_all().unwrap();
        let extents = read(&file).unwrap();
        assert_eq!(extents.mapped_bytes, BYTES);
        assert_eq!(extents.unwritten_bytes, BYTES - 4_096);
    }

    #[test]
    fn a_hole_is_not_mapped() {
        let file = file();
        file.set_len(BYTES).unwrap();
        assert_eq!(read(&file).unwrap(), Extents::default());
        assert!(mapped(&file).unwrap().is_empty());
    }

    #[test]
    fn more_extents_than_one_call_returns_are_added_up() {
        let file = file();
        for block in 0..200 {
            file.write_all_at(&[1; 4_096], block * 8_192).unwrap();
        }
        assert_eq!(read(&file).unwrap().mapped_bytes, 200 * 4_096);
    }
}
