//! Evicts files from the page cache, and measures whether they are gone (rule 6 of the design).
//!
//! It covers the kernel's page cache only, not the server's buffer pool, not caches inside the disk, and not those that a file system has for
//! itself ([`has_own_cache`]).

use super::{device, facts};
use rustix::fs::{Advice, fadvise, fsync};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// How files were evicted from the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// /proc/sys/vm/drop_caches: drops all clean pages of the machine.
    DropCaches,
    /// fsync and posix_fadvise(DONTNEED) per file: drops its clean pages that no process has mapped.
    Fadvise,
}

impl Eviction {
    /// The name used in the record.
    pub fn text(self) -> &'static str {
        match self {
            Eviction::DropCaches => "drop_caches",
            Eviction::Fadvise => "fadvise",
        }
    }
}

/// Evicts the files below the paths from the page cache. As root, drops the whole page cache; otherwise uses `advise`.
pub fn evict(paths: &[PathBuf]) -> io::Result<Eviction> {
    if rustix::process::geteuid().is_root() {
        rustix::fs::sync();
        // Root in a container may lack the permission; then evict file by file.
        if fs::write("/proc/sys/vm/drop_caches", "3").is_ok() {
            return Ok(Eviction::DropCaches);
        }
    }
    paths.iter().try_for_each(|path| advise(path))?;
    Ok(Eviction::Fadvise)
}

/// Evicts one file, or each file of a folder, from the page cache, and leaves the rest of the cache alone.
pub(crate) fn advise(path: &Path) -> io::Result<()> {
    each_file(path, &mut |file, _| {
        // The kernel keeps dirty pages regardless of the advice.
        fsync(file)?;
        Ok(fadvise(file, 0, None::<NonZeroU64>, Advice::DontNeed)?)
    })
}

/// Whether the file system below a path, or below its loop device, keeps files in memory of its own: ZFS does. The page cache shows nothing
/// of it, and [`evict`] leaves most of it.
pub fn has_own_cache(path: &Path) -> bool {
    facts::file_system(path).is_some_and(|lies_on| names_own_cache(&lies_on))
}

/// From a name such as `ext4 on a loop device over zfs on tank/data`.
fn names_own_cache(lies_on: &str) -> bool {
    let mut layers = lies_on.split(" over ");
    layers.any(|layer| layer.starts_with("zfs on "))
}

/// How much of a set of files is in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    pub resident_bytes: u64,
    pub file_bytes: u64,
}

/// Direct I/O that leaves at most this share of the files in the page cache went to the disk. Another program may read a part of them.
const DIRECT_SHARE_MAX: f64 = 0.01;

impl Residency {
    /// Whether direct I/O on these files went through the page cache after all, because the file system accepts O_DIRECT and ignores it.
    pub fn shows_cached_io(self) -> bool {
        self.resident_bytes as f64 > DIRECT_SHARE_MAX * self.file_bytes as f64
    }
}

/// Measures the residency of one file, or of all files of a folder, with mincore(2), in whole pages.
pub fn residency(path: &Path) -> io::Result<Residency> {
    let mut all = Residency::default();
    each_file(path, &mut |file, length| {
        all.file_bytes += length;
        all.resident_bytes += resident_bytes(file, length)?;
        Ok(())
    })?;
    Ok(all)
}

/// Files are mapped one window at a time, so that the result of mincore stays small.
const WINDOW_BYTES: u64 = 1 << 30;

fn resident_bytes(file: &File, length: u64) -> io::Result<u64> {
    let page_bytes = rustix::param::page_size() as u64;
    let mut resident = 0;
    for start in (0..length).step_by(WINDOW_BYTES as usize) {
        let bytes = WINDOW_BYTES.min(length - start);
        let pages = resident_pages(file, start, bytes)?;
        // The last page is cached whole, though the file ends inside it.
        resident += (pages * page_bytes).min(bytes);
    }
    Ok(resident)
}

fn resident_pages(file: &File, start: u64, bytes: u64) -> io::Result<u64> {
    let page_bytes = rustix::param::page_size();
    let mut answer = vec![0u8; (bytes as usize).div_ceil(page_bytes)];
    // SAFETY: a fresh mapping at an address chosen by the kernel, never read through, unmapped below; `answer` has a byte
    // for each page, as mincore(2) requires.
    let result = unsafe {
        let address = mmap(
            std::ptr::null_mut(),
            bytes as usize,
            ProtFlags::empty(),
            MapFlags::SHARED,
            file,
            start,
        )?;
        let result = libc::mincore(address, bytes as usize, answer.as_mut_ptr());
        let error = io::Error::last_os_error();
        munmap(address, bytes as usize)?;
        if result == 0 { Ok(()) } else { Err(error) }
    };
    result?;
    Ok(answer.iter().filter(|page| **page & 1 == 1).count() as u64)
}

/// Bytes that the disk below a path has read since boot, for all processes; or why they cannot be determined.
pub fn device_reads(path: &Path) -> Result<u64, String> {
    device::below(path)?.read_bytes()
}

/// Calls `with` for a file, or for each file of a folder, with its length. Skips files that vanish meanwhile.
fn each_file(path: &Path, with: &mut dyn FnMut(&File, u64) -> io::Result<()>) -> io::Result<()> {
    let about = fs::symlink_metadata(path)?;
    if about.is_dir() {
        for entry in fs::read_dir(path)? {
            match each_file(&entry?.path(), with) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => done?,
            }
        }
    } else if about.is_file() && about.len() > 0 {
        with(&File::open(path)?, about.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the build folder and not in /tmp, which may be a tmpfs.
    fn folder_on_a_disk() -> tempfile::TempDir {
        tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap()
    }

    #[test]
    fn a_written_file_is_resident_and_an_evicted_one_is_not() {
        let folder = folder_on_a_disk();
        let bytes = 1_000_001;
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/file"), vec![7; bytes]).unwrap();
        fs::write(folder.path().join("empty"), "").unwrap();
        let warm = residency(folder.path()).unwrap();
        assert_eq!(
            warm,
            Residency {
                resident_bytes: bytes as u64,
                file_bytes: bytes as u64
            }
        );
        let cold = Residency {
            resident_bytes: 0,
            ..warm
        };
        advise(folder.path()).unwrap();
        assert_eq!(residency(folder.path()).unwrap(), cold);
        // In the same test, because as root it would drop the cache of concurrent tests.
        fs::write(folder.path().join("below/file"), vec![8; bytes]).unwrap();
        evict(&[folder.path().to_path_buf()]).unwrap();
        assert_eq!(residency(folder.path()).unwrap(), cold);
    }

    #[test]
    fn reading_an_evicted_file_reads_the_disk() {
        let folder = folder_on_a_disk();
        let file = folder.path().join("file");
        fs::write(&file, vec![7; 8 << 20]).unwrap();
        advise(&file).unwrap();
        let Ok(before) = device_reads(&file) else {
            eprintln!("skipped: the build folder lies on no device that counts its reads");
            return;
        };
        assert_eq!(fs::read(&file).unwrap().len(), 8 << 20);
        assert!(device_reads(&file).unwrap() - before >= 8 << 20);
    }

    #[test]
    fn zfs_has_a_cache_of_its_own_below_a_loop_device_too() {
        for (lies_on, expected) in [
            ("zfs on tank/data", true),
            ("ext4 on a loop device over zfs on tank/data", true),
            ("ext4 on /dev/zfs", false),
            ("xfs on a loop device over ext4 on /dev/vda", false),
        ] {
            assert_eq!(names_own_cache(lies_on), expected, "{lies_on}");
        }
        assert!(!has_own_cache(Path::new("/proc")));
    }

    #[test]
    fn a_missing_path_is_an_error() {
        assert!(residency(Path::new("/nowhere/at/all")).is_err());
    }
}
