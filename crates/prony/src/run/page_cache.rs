//! Whether a load on files measures the disk or the memory of the machine.
//!
//! Purpose: flag files that the page cache could hold, and direct I/O that went through the page cache after all. Boundaries: files are
//! made by the workload; rounds of queries have their own proof (`cold`).

use host::{cold, disk};
use record::{Flag, FlagKind, Trial};
use std::path::Path;
use workload::Files;

/// Flags buffered I/O on files that are smaller than the machine's memory.
pub(super) fn before(files: &dyn Files, memory_bytes: u64, trial: &mut Trial) {
    if files.are_direct() || files.bytes() >= memory_bytes {
        return;
    }
    let (size, memory) = (disk::shown(files.bytes()), disk::shown(memory_bytes));
    trial.flag(
        FlagKind::SmallerThanCaches,
        format!(
            "the files ({size}) are smaller than the caches: the machine has {memory} of memory and direct is false, so these are figures of the page cache; use a larger size, or direct = true"
        ),
    );
}

/// A flag if the files of a load with direct I/O are in the page cache. Such a trial has not measured the disk.
pub(super) fn after(files: &dyn Files, folder: &Path) -> Option<Flag> {
    let residency = cold::residency(folder)
        .ok()
        .filter(|_| files.are_direct())?;
    residency.shows_cached_io().then(|| Flag {
        kind: FlagKind::DirectIoCached,
        text: format!(
            "direct I/O went through the page cache: {} of {} in {} are in memory, so the file system accepts O_DIRECT and ignores it; choose another file system, or direct = false with files larger than the memory",
            disk::shown(residency.resident_bytes),
            disk::shown(residency.file_bytes),
            folder.display()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Role, TrialKey, TrialState};
    use std::sync::Arc;
    use workload::Workload;

    fn fileio(keys: &str) -> Arc<dyn Workload> {
        workload::open("fileio", &keys.parse().unwrap()).unwrap()
    }

    fn flagged(keys: &str, memory_bytes: u64) -> Vec<Flag> {
        let key = TrialKey {
            block: 0,
            server: None,
            levels: Vec::new(),
            role: Role::Measured,
        };
        let mut trial = Trial::unmeasured(key, 0);
        before(fileio(keys).files().unwrap(), memory_bytes, &mut trial);
        assert_eq!(trial.state, TrialState::Done, "a warning");
        trial.flags
    }

    #[test]
    fn buffered_files_smaller_than_the_memory_are_flagged() {
        let flags = flagged("direct = false\nsize = \"1G\"", 16 << 30);
        assert_eq!(flags.len(), 1);
        let says = "the files (1.1 GB) are smaller than the caches: the machine has 17.2 GB";
        assert!(flags[0].text.starts_with(says), "{flags:?}");
        assert!(flagged("direct = false\nsize = \"32G\"", 16 << 30).is_empty());
        assert!(flagged("direct = true\nsize = \"1G\"", 16 << 30).is_empty());
    }

    /// The flag after the files of 4 MiB were made in a folder in `place`.
    fn made_in(place: &Path, keys: &str) -> Option<Flag> {
        let folder = tempfile::tempdir_in(place).unwrap();
        let workload = fileio(&format!("size = \"4M\"\n{keys}"));
        let files = workload.files().unwrap();
        files.make(folder.path(), &|_| (), &|| false).unwrap();
        after(files, folder.path())
    }

    #[test]
    fn direct_io_that_a_file_system_in_memory_ignores_is_found() {
        // The build folder is on a disk.
        let program = std::env::current_exe().unwrap();
        assert_eq!(made_in(program.parent().unwrap(), "direct = true"), None);
        let shm = Path::new("/dev/shm");
        let is_in_memory = host::mount_below(shm).is_ok_and(|mount| mount.kind == "tmpfs");
        if is_in_memory && accepts_direct_io(shm) {
            let flag = made_in(shm, "direct = true").unwrap();
            let says = "direct I/O went through the page cache: 4.2 MB of 4.2 MB in /dev/shm/";
            assert!(flag.text.starts_with(says), "{flag:?}");
            assert_eq!(made_in(shm, "direct = false"), None);
        }
    }

    /// tmpfs does since Linux 6.6.
    fn accepts_direct_io(folder: &Path) -> bool {
        use std::os::unix::fs::OpenOptionsExt;
        let file = tempfile::NamedTempFile::new_in(folder).unwrap();
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let mut options = std::fs::File::options();
        options
            .read(true)
            .custom_flags(direct)
            .open(file.path())
            .is_ok()
    }
}
