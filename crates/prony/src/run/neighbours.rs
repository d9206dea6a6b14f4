//! Other pronys of the same home that load or measure on this machine: they take processor time and empty the file cache.
//!
//! Goal: a trial that was not alone says so. Non-goals: making it wait, other homes, and whatever else the machine does.
//!
//! Each prony holds a lock in a folder of its own below `work`, which the kernel drops when it dies. One that comes leaves
//! a note in the folders of those that are there, so that also a short visit in the middle of a trial is noticed.

use super::RunError;
use host::{Home, Lease, Leases};
use record::{Flag, FlagKind};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const FOLDERS: &str = "measuring";
const LOCK: &str = "lock";
const NOTE: &str = "visited";

/// This prony among the others, from `join` on until it is dropped.
pub struct Neighbours {
    work: PathBuf,
    own: Lease,
    _lock: File,
}

/// The time of one trial.
pub struct Stay<'a> {
    among: &'a Neighbours,
    /// Somebody was there when it began.
    shared: bool,
}

impl Neighbours {
    pub fn join(home: &Home, leases: &Leases) -> Result<Neighbours, RunError> {
        let own = leases.temporary(FOLDERS)?;
        let lock = locked(&own.path().join(LOCK)).map_err(|error| {
            RunError::Failed(format!("cannot write {}: {error}", own.path().display()))
        })?;
        let joined = Neighbours {
            work: home.work(),
            own,
            _lock: lock,
        };
        for other in joined.others() {
            // One that has just ended has no folder any more, and no trial to be disturbed.
            let _ = File::create(other.join(NOTE));
        }
        Ok(joined)
    }

    /// At the beginning of a trial.
    pub fn stay(&self) -> Stay<'_> {
        // First the note, then the look: whoever comes between the two is seen, or leaves a new one.
        let _ = std::fs::remove_file(self.own.path().join(NOTE));
        Stay {
            among: self,
            shared: !self.others().is_empty(),
        }
    }

    /// The folders of the living.
    fn others(&self) -> Vec<PathBuf> {
        let folders = std::fs::read_dir(&self.work)
            .into_iter()
            .flatten()
            .flatten();
        folders
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(FOLDERS))
            .map(|entry| entry.path())
            .filter(|path| path != self.own.path() && is_held(&path.join(LOCK)))
            .collect()
    }
}

impl Stay<'_> {
    /// At the end of the trial: what its reader has to know.
    pub fn flag(self) -> Option<Flag> {
        let visited = self.among.own.path().join(NOTE).exists();
        (self.shared || visited).then(|| Flag {
            kind: FlagKind::SharedMachine,
            text: "another prony was loading or measuring at the same time; its work is in these times".into(),
        })
    }
}

fn locked(path: &Path) -> io::Result<File> {
    let lock = File::create(path)?;
    lock.lock()?;
    Ok(lock)
}

/// Shared, so that two that look at once do not take each other for the owner.
fn is_held(lock: &Path) -> bool {
    File::open(lock)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home, Leases) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        let leases = Leases::open(&home).unwrap();
        (folder, home, leases)
    }

    #[test]
    fn a_prony_alone_says_nothing() {
        let (_folder, home, leases) = home();
        let only = Neighbours::join(&home, &leases).unwrap();
        assert_eq!(only.stay().flag(), None);
    }

    #[test]
    fn both_of_two_pronys_say_so() {
        let (_folder, home, leases) = home();
        let one = Neighbours::join(&home, &leases).unwrap();
        let other = Neighbours::join(&home, &leases).unwrap();
        for stay in [one.stay(), other.stay()] {
            assert_eq!(stay.flag().unwrap().kind, FlagKind::SharedMachine);
        }
    }

    #[test]
    fn a_visit_in_the_middle_of_a_trial_is_noticed_and_the_next_trial_is_alone() {
        let (_folder, home, leases) = home();
        let only = Neighbours::join(&home, &leases).unwrap();
        let stay = only.stay();
        drop(Neighbours::join(&home, &leases).unwrap());
        assert!(stay.flag().is_some());
        assert_eq!(only.stay().flag(), None);
    }

    #[test]
    fn what_a_dead_prony_left_is_no_neighbour() {
        let (_folder, home, leases) = home();
        let dead = home.work().join("measuring-dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(LOCK), "").unwrap();
        let only = Neighbours::join(&home, &leases).unwrap();
        assert_eq!(only.stay().flag(), None);
    }
}
