//! Whether a load on files measures the disk or the memory of the machine.
//!
//! Purpose: flag files that the page cache could hold, and operations that the page cache served or that never reached the device.
//! Boundaries: files are made by the workload; rounds of queries have their own proof (`cold`).

use host::{Mount, cold, disk};
use record::{Flag, FlagKind, Trial};
use std::path::Path;
use workload::Files;

/// Flags I/O through a cache on files that are smaller than the machine's memory. `has_own_cache`: see [`cold::has_own_cache`].
pub(crate) fn before(files: &dyn Files, has_own_cache: bool, memory_bytes: u64, trial: &mut Trial) {
    let why = match files.are_direct() {
        false => {
            "direct is false, so these are figures of the page cache; use a larger size, or direct = true"
        }
        true if has_own_cache => {
            "ZFS has a cache of its own, which direct = true need not bypass, so these may be figures of memory; use a larger size, or another file system"
        }
        true => return,
    };
    if files.bytes() >= memory_bytes {
        return;
    }
    let (size, memory) = (disk::shown(files.bytes()), disk::shown(memory_bytes));
    trial.flag(
        FlagKind::SmallerThanCaches,
        format!(
            "the files ({size}) are smaller than the caches: the machine has {memory} of memory and {why}"
        ),
    );
}

/// A flag if the files of a load with direct I/O are in the page cache. Such a trial has not measured the disk.
pub(crate) fn after(files: &dyn Files, folder: &Path) -> Option<Flag> {
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

/// A flag if a load wrote over blocks that should be new, in files that grow or consist of unwritten blocks. `are_new`: they were made for
/// this trial.
pub(crate) fn overwritten(
    files: &dyn Files,
    transferred_bytes: u64,
    are_new: bool,
) -> Option<Flag> {
    let (wrote, hold) = (disk::shown(transferred_bytes), disk::shown(files.bytes()));
    let why = match are_new {
        _ if files.are_written() => return None,
        false => "an earlier trial of the series has written to the files".to_string(),
        true if transferred_bytes > files.bytes() => {
            format!("the load wrote {wrote}, and its files hold {hold}")
        }
        true if transferred_bytes > files.new_bytes() => {
            format!("the load wrote {wrote} at random places of {hold}")
        }
        true => return None,
    };
    Some(Flag {
        kind: FlagKind::FilesOverwritten,
        text: format!(
            "{why}: the load wrote over blocks that were there, which costs the file system less than new ones; use a larger size or a shorter load, without a series"
        ),
    })
}

/// The device below the files of a load, and what it has moved since boot.
pub(crate) struct Device {
    mount: Mount,
    moved_bytes: u64,
}

impl Device {
    /// None: the operations need not reach a device, because the files have unwritten blocks, or it does not count.
    pub(crate) fn below(files: &dyn Files, folder: &Path) -> Option<Device> {
        let mount = host::mount_below(folder).ok();
        let mount = mount.filter(|_| files.are_written())?;
        Some(Device {
            moved_bytes: mount.moved_bytes()?,
            mount,
        })
    }

    /// Bytes that it has moved since `earlier`. None: it is another one, as after a power cut.
    pub(crate) fn moved_since(&self, earlier: &Device) -> Option<u64> {
        let moved_bytes = self.moved_bytes.checked_sub(earlier.moved_bytes)?;
        (self.mount == earlier.mount).then_some(moved_bytes)
    }
}

/// A device that moved less than this share of what operations transferred did not serve them. Other processes only add to it.
const MOVED_SHARE_MIN: f64 = 0.5;

/// A flag if the device below the files moved too little for the bytes that the operations transferred: direct ones did not reach it, and
/// buffered ones were served by the memory.
pub(crate) fn served_from_elsewhere(
    files: &dyn Files,
    transferred_bytes: u64,
    moved_bytes: u64,
) -> Option<Flag> {
    if moved_bytes as f64 >= MOVED_SHARE_MIN * transferred_bytes as f64 {
        return None;
    }
    let (transferred, moved) = (disk::shown(transferred_bytes), disk::shown(moved_bytes));
    Some(match files.are_direct() {
        true => Flag {
            kind: FlagKind::DirectIoCached,
            text: format!(
                "direct I/O did not reach the device below the files: the load transferred {transferred}, and the device moved only {moved}, so a cache or another device served the rest; choose another folder, or direct = false with files larger than the memory"
            ),
        },
        false => Flag {
            kind: FlagKind::SmallerThanCaches,
            text: format!(
                "the page cache held most of what the load used: it transferred {transferred}, and the device below the files moved only {moved} meanwhile, so these are figures of the page cache; measure for longer, or use fsync or direct = true"
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::trial::blank;
    use record::TrialState;
    use std::sync::Arc;
    use workload::Workload;

    fn fileio(keys: &str) -> Arc<dyn Workload> {
        workload::open("fileio", &keys.parse().unwrap()).unwrap()
    }

    fn flagged(keys: &str, has_own_cache: bool, memory_bytes: u64) -> Vec<Flag> {
        let (mut trial, fileio) = (blank(), fileio(keys));
        let files = fileio.files().unwrap();
        before(files, has_own_cache, memory_bytes, &mut trial);
        assert_eq!(trial.state, TrialState::Done, "a warning");
        trial.flags
    }

    #[test]
    fn buffered_files_smaller_than_the_memory_are_flagged() {
        let flags = flagged("direct = false\nsize = \"1G\"", false, 16 << 30);
        assert_eq!(flags.len(), 1);
        let says = "the files (1.1 GB) are smaller than the caches: the machine has 17.2 GB";
        assert!(flags[0].text.starts_with(says), "{flags:?}");
        assert!(flagged("direct = false\nsize = \"32G\"", false, 16 << 30).is_empty());
        assert!(flagged("direct = true\nsize = \"1G\"", false, 16 << 30).is_empty());
    }

    #[test]
    fn files_smaller_than_the_memory_are_flagged_on_zfs_with_direct_io_too() {
        let flags = flagged("direct = true\nsize = \"1G\"", true, 16 << 30);
        assert_eq!(flags.len(), 1);
        assert!(
            flags[0].text.contains("ZFS has a cache of its own"),
            "{flags:?}"
        );
        assert!(flagged("direct = true\nsize = \"32G\"", true, 16 << 30).is_empty());
    }

    #[test]
    fn files_whose_blocks_should_be_new_and_are_written_over_are_flagged() {
        let flagged = |extents: &str, bytes, are_new| {
            let keys =
                format!("pattern = \"sequential-write\"\nsize = \"1M\"\nextents = {extents:?}");
            let workload = fileio(&keys);
            let flag = overwritten(workload.files().unwrap(), bytes, are_new);
            flag.map(|flag| flag.text)
        };
        for extents in ["none", "unwritten"] {
            assert_eq!(flagged(extents, 1 << 20, true), None);
            let text = flagged(extents, 4_000_000, true).unwrap();
            let says = "the load wrote 4.0 MB, and its files hold 1.0 MB: the load wrote over";
            assert!(text.starts_with(says), "{text}");
            let text = flagged(extents, 1, false).unwrap();
            assert!(text.starts_with("an earlier trial of the series"), "{text}");
        }
        assert_eq!(flagged("written", 4_000_000, false), None);
    }

    #[test]
    fn random_writes_that_meet_each_other_are_flagged_before_the_files_are_full() {
        let flagged = |keys: &str, bytes| {
            let unwritten = "pattern = \"random-write\"\nextents = \"unwritten\"\nsize = \"1M\"";
            let workload = fileio(&format!("{unwritten}\n{keys}"));
            let flag = overwritten(workload.files().unwrap(), bytes, true);
            flag.map(|flag| flag.text)
        };
        assert_eq!(flagged("", 200_000), None);
        let text = flagged("", 900_000).unwrap();
        let says = "the load wrote 900.0 kB at random places of 1.0 MB: the load wrote over";
        assert!(text.starts_with(says), "{text}");
        // Most writes go to the same fifth of the blocks.
        assert!(flagged("distribution = \"pareto\"", 200_000).is_some());
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

    #[test]
    fn a_device_that_moved_under_half_of_the_transferred_bytes_did_not_serve_them() {
        let flagged = |keys: &str, transferred_bytes, moved_bytes| {
            let workload = fileio(keys);
            served_from_elsewhere(workload.files().unwrap(), transferred_bytes, moved_bytes)
        };
        let flag = flagged("direct = true", 10_000_000, 4_900_000).unwrap();
        assert_eq!(flag.kind, FlagKind::DirectIoCached);
        let says = "the load transferred 10.0 MB, and the device moved only 4.9 MB";
        assert!(flag.text.contains(says), "{flag:?}");
        // However large the files are.
        let buffered = "direct = false\nsize = \"1000G\"";
        let flag = flagged(buffered, 10_000_000, 4_900_000).unwrap();
        assert_eq!(flag.kind, FlagKind::SmallerThanCaches);
        let says = "it transferred 10.0 MB, and the device below the files moved only 4.9 MB";
        assert!(flag.text.contains(says), "{flag:?}");
        for keys in ["direct = true", "direct = false"] {
            for moved_bytes in [5_000_000, 10_000_000, 90_000_000] {
                assert_eq!(flagged(keys, 10_000_000, moved_bytes), None);
            }
            assert_eq!(flagged(keys, 0, 0), None, "an idle load");
        }
    }

    #[test]
    fn a_device_that_was_replaced_during_the_load_is_not_compared() {
        let device = |line: &str, moved_bytes| Device {
            mount: Mount::parse(line).unwrap(),
            moved_bytes,
        };
        let of = |moved_bytes| device("36 35 7:0 / /data rw - ext4 /dev/loop0 rw", moved_bytes);
        let other = device("37 35 7:1 / /data rw - ext4 /dev/loop1 rw", 900);
        assert_eq!(of(900).moved_since(&of(500)), Some(400));
        assert_eq!(other.moved_since(&of(500)), None);
        assert_eq!(of(100).moved_since(&of(500)), None, "it counts anew");
    }

    #[test]
    fn only_operations_on_written_files_must_reach_the_device() {
        let program = std::env::current_exe().unwrap();
        let folder = program.parent().unwrap();
        let is_compared =
            |keys: &str| Device::below(fileio(keys).files().unwrap(), folder).is_some();
        let counts = host::mount_below(folder).is_ok_and(|mount| mount.moved_bytes().is_some());
        assert_eq!(is_compared("direct = true"), counts);
        assert_eq!(is_compared("direct = false"), counts);
        let unwritten = "pattern = \"random-write\"\nextents = \"unwritten\"";
        assert!(!is_compared(unwritten));
        assert_eq!(
            host::mount_below(Path::new("/proc")).unwrap().moved_bytes(),
            None
        );
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
