//! Notices that a server waits for disk space: on a full disk MyISAM and Aria retry every minute, forever.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// With less free space, a disk is full.
const FREE_BYTES_MIN: u64 = 1 << 20;
/// A disk that has been full for as long stays so. Crash recovery, which also takes long, needs no space for its answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The disk of a server that is being waited for.
pub(crate) struct FullDisk {
    folder: PathBuf,
    full_since: Option<Instant>,
}

impl FullDisk {
    /// The disk below the folder.
    pub(crate) fn of(folder: &Path) -> FullDisk {
        FullDisk {
            folder: folder.to_path_buf(),
            full_since: None,
        }
    }

    /// Whether the disk is full and stays so, which a waiting server does not report.
    pub(crate) fn stays_full(&mut self) -> bool {
        let free_bytes = host::disk::free(&self.folder).unwrap_or(u64::MAX);
        self.has_been_full(free_bytes, Instant::now())
    }

    fn has_been_full(&mut self, free_bytes: u64, now: Instant) -> bool {
        if free_bytes >= FREE_BYTES_MIN {
            self.full_since = None;
            return false;
        }
        now - *self.full_since.get_or_insert(now) >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_disk_that_is_full_without_a_break_stays_full() {
        let mut disk = FullDisk::of(Path::new("/"));
        let begun = Instant::now();
        let mut is_full = |free_bytes, after_s| {
            disk.has_been_full(free_bytes, begun + Duration::from_secs(after_s))
        };
        assert!(!is_full(0, 0));
        assert!(!is_full(0, 19));
        assert!(!is_full(FREE_BYTES_MIN, 19));
        assert!(!is_full(0, 20), "space was freed in between");
        assert!(is_full(0, 40));
    }
}
