//! Clones a data folder as fast as the file system allows: by reflink, or else by a copy inside the kernel.
//!
//! Every trial thus starts from the same bytes and the same holes. Extended attributes are not copied, and the owner only if this user is root.

use super::{disk, extents};
use rustix::fs::{SeekFrom, copy_file_range, fsync, ioctl_ficlone, seek};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a folder could not be cloned.
#[derive(Debug, thiserror::Error)]
pub enum CloneError {
    #[error("cannot copy {from} to {to}: not enough disk space, {needs} needed and {has} free; free some space, or set PRONY_HOME to a larger disk", from = from.display(), to = to.display(), needs = disk::shown(*needs_bytes), has = disk::shown(*has_bytes))]
    NoSpace {
        from: PathBuf,
        to: PathBuf,
        needs_bytes: u64,
        has_bytes: u64,
    },
    #[error("cannot copy {path}: {cause}", path = path.display())]
    Failed { path: PathBuf, cause: io::Error },
}

/// How a folder was cloned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// The files share blocks until one side writes (FICLONE, ioctl_ficlonerange(2)).
    Reflink,
    /// copy_file_range(2), or read and write.
    Copy,
}

/// Clones a folder with its permissions to `to`, which must not exist, and waits until it is on disk, so that writeback
/// does not disturb the next measurement. Skips sockets and other special files.
pub fn folder(from: &Path, to: &Path) -> Result<Means, CloneError> {
    let needs_bytes = disk::used(from).map_err(failed(from))?;
    let has_bytes = disk::free(to).map_err(failed(to))?;
    let means = if can_reflink(from, to) {
        Means::Reflink
    } else {
        Means::Copy
    };
    if means == Means::Copy && needs_bytes > has_bytes {
        return Err(CloneError::NoSpace {
            from: from.to_path_buf(),
            to: to.to_path_buf(),
            needs_bytes,
            has_bytes,
        });
    }
    copy_folder(from, to, means)?;
    Ok(means)
}

/// Checks that clones of these folders, which exist at the same time, have space in a folder. Those by reflink take none at first.
///
/// # Errors
/// [`CloneError::NoSpace`], or a folder cannot be read.
pub fn fit_together(folders: &[&Path], into: &Path) -> Result<(), CloneError> {
    let has_bytes = disk::free(into).map_err(failed(into))?;
    let mut needs_bytes = 0;
    for from in folders {
        if !can_reflink(from, &into.join("data")) {
            needs_bytes += disk::used(from).map_err(failed(from))?;
        }
        if needs_bytes > has_bytes {
            return Err(CloneError::NoSpace {
                from: from.to_path_buf(),
                to: into.to_path_buf(),
                needs_bytes,
                has_bytes,
            });
        }
    }
    Ok(())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CloneError {
    let path = path.to_path_buf();
    move |cause| CloneError::Failed { path, cause }
}

/// Tries a reflink of the first non-empty file into the target's parent.
fn can_reflink(from: &Path, to: &Path) -> bool {
    let Some(parent) = to.parent().filter(|parent| parent.is_dir()) else {
        return false;
    };
    let Some(sample) = first_file(from) else {
        return false;
    };
    let trial = tempfile::Builder::new()
        .prefix(".reflink-")
        .tempfile_in(parent);
    matches!((File::open(sample), trial), (Ok(sample), Ok(trial)) if ioctl_ficlone(trial.as_file(), &sample).is_ok())
}

fn first_file(folder: &Path) -> Option<PathBuf> {
    fs::read_dir(folder)
        .ok()?
        .filter_map(Result::ok)
        .find_map(|entry| {
            let about = entry.metadata().ok()?;
            if about.is_dir() {
                first_file(&entry.path())
            } else {
                (about.is_file() && about.len() > 0).then(|| entry.path())
            }
        })
}

fn copy_folder(from: &Path, to: &Path, means: Means) -> Result<(), CloneError> {
    let about = fs::metadata(from).map_err(failed(from))?;
    let made = DirBuilder::new().mode(0o700).create(to);
    made.map_err(failed(from))?;
    for entry in fs::read_dir(from).map_err(failed(from))? {
        let entry = entry.map_err(failed(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(failed(from))?;
        if kind.is_dir() {
            copy_folder(&source, &target, means)?;
        } else if kind.is_symlink() {
            let copied = fs::read_link(&source)
                .and_then(|points_to| std::os::unix::fs::symlink(points_to, &target));
            copied.map_err(failed(&source))?;
        } else if kind.is_file() {
            copy_file(&source, &target, means).map_err(failed(&source))?;
        }
    }
    fs::set_permissions(to, about.permissions()).map_err(failed(from))?;
    keep_owner(to, &about);
    let synced = File::open(to).and_then(|folder| Ok(fsync(folder)?));
    synced.map_err(failed(from))
}

/// Copies a file with its permissions to `to`, which must not exist, and waits until it is on disk.
///
/// # Errors
/// One of them cannot be read or written.
pub fn file(from: &Path, to: &Path) -> io::Result<()> {
    copy_file(from, to, Means::Copy)
}

fn copy_file(from: &Path, to: &Path, means: Means) -> io::Result<()> {
    let source = File::open(from)?;
    let about = source.metadata()?;
    let target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)?;
    match means {
        Means::Reflink if about.len() > 0 => ioctl_ficlone(&target, &source)?,
        _ => copy_bytes(&source, &target, &about)?,
    }
    target.set_permissions(fs::Permissions::from_mode(about.mode() & 0o7777))?;
    keep_owner(to, &about);
    Ok(fsync(&target)?)
}

/// Leaves the holes of a file holes, such as those in the pages that a server compresses: if they were filled, their reads would reach the
/// disk. Blocks that are only allocated are written.
fn copy_bytes(source: &File, target: &File, about: &fs::Metadata) -> io::Result<()> {
    let length = about.len();
    let is_sparse = about.blocks() * 512 < length;
    let mapped = is_sparse.then(|| extents::mapped(source).ok()).flatten();
    // A file system that does not tell the holes of its files gets them filled.
    let parts = mapped.unwrap_or_else(|| std::iter::once(0..length).collect());
    for part in parts {
        copy_part(source, target, part.start..part.end.min(length))?;
    }
    target.set_len(length)
}

fn copy_part(source: &File, target: &File, part: Range<u64>) -> io::Result<()> {
    let (mut from, mut to) = (part.start, part.start);
    while from < part.end {
        let left = (part.end - from).min(1 << 30) as usize;
        match copy_file_range(source, Some(&mut from), target, Some(&mut to), left) {
            // The file became shorter, which happens only if a server is running on it.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            // Not supported across these file systems.
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return copy_range(source, target, from..part.end);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Copies a file to `to`, which must not exist, and leaves its holes holes.
///
/// # Errors
/// One of them cannot be read or written.
pub fn sparse(from: &Path, to: &Path) -> io::Result<()> {
    let (source, target) = (File::open(from)?, File::create_new(to)?);
    let length = source.metadata()?.len();
    if length > 0 && ioctl_ficlone(&target, &source).is_ok() {
        return Ok(());
    }
    target.set_len(length)?;
    let mut at = 0;
    loop {
        at = match seek(&source, SeekFrom::Data(at)) {
            // Only a hole is left.
            Err(Errno::NXIO) => return Ok(()),
            found => found?,
        };
        let end = seek(&source, SeekFrom::Hole(at))?;
        copy_range(&source, &target, at..end)?;
        at = end;
    }
}

fn copy_range(source: &File, target: &File, range: Range<u64>) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = range.start;
    while at < range.end {
        let part = (range.end - at).min(buffer.len() as u64) as usize;
        source.read_exact_at(&mut buffer[..part], at)?;
        target.write_all_at(&buffer[..part], at)?;
        at += part as u64;
    }
    Ok(())
}

/// Only root can set the owner; a server that runs as another user then still owns its files.
fn keep_owner(path: &Path, about: &fs::Metadata) {
    if rustix::process::geteuid().is_root() {
        let _ = std::os::unix::fs::lchown(path, Some(about.uid()), Some(about.gid()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_has_the_same_bytes_permissions_and_links() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("schema")).unwrap();
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n / 7) as u8).collect();
        fs::write(from.join("schema/t.ibd"), &bytes).unwrap();
        fs::write(from.join("empty"), "").unwrap();
        fs::set_permissions(from.join("empty"), fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("schema/t.ibd", from.join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
        folder(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("schema/t.ibd")).unwrap(), bytes);
        assert_eq!(
            fs::metadata(to.join("empty")).unwrap().mode() & 0o777,
            0o640
        );
        assert_eq!(
            fs::read_link(to.join("link")).unwrap(),
            Path::new("schema/t.ibd")
        );
        assert!(!to.join("socket").exists());
        assert!(
            fs::read_dir(place.path()).unwrap().count() == 2,
            "the reflink trial leaves no file"
        );
    }

    #[test]
    fn a_clone_keeps_the_holes_of_compressed_pages_and_writes_what_is_only_allocated() {
        use rustix::fs::{FallocateFlags, fallocate};
        // The temporary folder can be a tmpfs, which does not tell its holes.
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir(&from).unwrap();
        let table = File::create(from.join("t.ibd")).unwrap();
        for page in 0..10 {
            table.write_all_at(&[7; 65_536], page << 20).unwrap();
        }
        table.set_len(10 << 20).unwrap();
        let log = File::create(from.join("ib_logfile0")).unwrap();
        fallocate(&log, FallocateFlags::empty(), 0, 1 << 20).unwrap();
        folder(&from, &to).unwrap();
        for name in ["t.ibd", "ib_logfile0"] {
            let (source, target) = (from.join(name), to.join(name));
            assert_eq!(fs::read(source).unwrap(), fs::read(target).unwrap());
        }
        let used_bytes = |name| fs::metadata(to.join(name)).unwrap().blocks() * 512;
        assert!(used_bytes("t.ibd") < 5 << 20, "{}", used_bytes("t.ibd"));
        assert!(used_bytes("ib_logfile0") >= 1 << 20);
    }

    #[test]
    fn a_sparse_copy_has_the_same_bytes_and_takes_no_more_space() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        let file = File::create(&from).unwrap();
        file.write_all_at(&[7; 5000], 10 << 20).unwrap();
        file.set_len(64 << 20).unwrap();
        sparse(&from, &to).unwrap();
        assert_eq!(fs::read(&from).unwrap(), fs::read(&to).unwrap());
        assert!(fs::metadata(&to).unwrap().blocks() * 512 < 1 << 20);
        assert!(sparse(&from, &to).is_err(), "it never overwrites a file");
    }

    #[test]
    fn a_clone_never_overwrites_an_existing_folder() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("from")).unwrap();
        fs::create_dir(place.path().join("to")).unwrap();
        assert!(matches!(
            folder(&place.path().join("from"), &place.path().join("to")),
            Err(CloneError::Failed { .. })
        ));
    }

    #[test]
    fn copies_that_fit_one_by_one_and_not_together_are_refused() {
        use rustix::fs::{FallocateFlags, fallocate};
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        fs::create_dir(&from).unwrap();
        let file = File::create(from.join("a")).unwrap();
        let bytes = disk::free(place.path()).unwrap() / 500;
        fallocate(&file, FallocateFlags::empty(), 0, bytes).unwrap();
        let fit = |copies| fit_together(&vec![from.as_path(); copies], place.path()).is_ok();
        assert!(fit(2));
        assert_eq!(fit(1000), can_reflink(&from, &place.path().join("to")));
    }

    #[test]
    fn the_error_for_a_full_disk_shows_the_needed_and_the_free_space() {
        let error = CloneError::NoSpace {
            from: "/a".into(),
            to: "/b".into(),
            needs_bytes: 2_000_000,
            has_bytes: 1_000,
        };
        assert!(error.to_string().starts_with(
            "cannot copy /a to /b: not enough disk space, 2.0 MB needed and 1.0 kB free"
        ));
    }
}
