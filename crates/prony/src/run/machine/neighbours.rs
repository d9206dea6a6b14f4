//! Detects other prony processes of the same home that load or measure on this machine. They take CPU time and empty the page cache.
//!
//! Purpose: flag a trial that shared the machine. Outside this module: making it wait, other homes, any other process.
//!
//! Each prony process holds a lock in its own folder below `work`. The kernel releases the lock when the process dies. A process that
//! starts leaves a note in the folders of the others, so that a short overlap in the middle of a trial is noticed too.

use crate::run::RunError;
use host::{Home, Lease, Leases};
use record::{Flag, FlagKind};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const FOLDERS: &str = "measuring";
const LOCK: &str = "lock";
const NOTE: &str = "visited";
/// Names the run whose load several processes share.
const PARTY: &str = "party";

/// This prony process among the others, from `join` until it is dropped.
pub(crate) struct Neighbours {
    work: PathBuf,
    own: Lease,
    /// Of a load that is shared: the processes of one party are no neighbours of each other.
    party: Option<String>,
    _lock: File,
}

/// The time of one trial.
pub(crate) struct Stay<'a> {
    among: &'a Neighbours,
    /// Another prony process was running when the trial began.
    shared: bool,
}

impl Neighbours {
    /// `party` names the run whose load this process shares with others.
    pub(crate) fn join(
        home: &Home,
        leases: &Leases,
        party: Option<&str>,
    ) -> Result<Neighbours, RunError> {
        let own = leases.temporary(FOLDERS)?;
        let failed = |error: io::Error| {
            RunError::Failed(format!("cannot write {}: {error}", own.path().display()))
        };
        // Before the lock, which makes the folder count.
        if let Some(party) = party {
            std::fs::write(own.path().join(PARTY), party).map_err(failed)?;
        }
        let lock = locked(&own.path().join(LOCK)).map_err(failed)?;
        let joined = Neighbours {
            work: home.work(),
            own,
            party: party.map(String::from),
            _lock: lock,
        };
        for other in joined.others() {
            // A process that has just ended has no folder, and no trial to flag.
            let _ = File::create(other.join(NOTE));
        }
        Ok(joined)
    }

    /// Starts watching, at the beginning of a trial.
    pub(crate) fn stay(&self) -> Stay<'_> {
        // Removes the note before it looks: a process that starts in between is seen or leaves a new note.
        let _ = std::fs::remove_file(self.own.path().join(NOTE));
        Stay {
            among: self,
            shared: !self.others().is_empty(),
        }
    }

    /// The folders of other running prony processes.
    fn others(&self) -> Vec<PathBuf> {
        let mut all = measuring(&self.work);
        all.retain(|path| path != self.own.path() && !self.is_of_party(path));
        all
    }

    fn is_of_party(&self, folder: &Path) -> bool {
        let theirs = std::fs::read_to_string(folder.join(PARTY)).ok();
        theirs.is_some() && theirs == self.party
    }
}

/// Whether a prony process of this home loads or measures.
pub(crate) fn is_measuring(home: &Home) -> bool {
    !measuring(&home.work()).is_empty()
}

/// The folders of the prony processes that load or measure.
fn measuring(work: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(work).into_iter().flatten().flatten();
    folders
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(FOLDERS))
        .map(|entry| entry.path())
        .filter(|path| is_held(&path.join(LOCK)))
        .collect()
}

impl Stay<'_> {
    /// The flag of a shared machine, at the end of the trial.
    pub(crate) fn flag(self) -> Option<Flag> {
        let visited = self.among.own.path().join(NOTE).exists();
        (self.shared || visited).then(|| Flag {
            kind: FlagKind::SharedMachine,
            text: "another prony process was loading or measuring at the same time; it may have slowed this trial".into(),
        })
    }
}

fn locked(path: &Path) -> io::Result<File> {
    let lock = File::create(path)?;
    lock.lock()?;
    Ok(lock)
}

/// Tries a shared lock, so that two processes that check at once do not mistake each other for the owner.
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
    fn a_single_prony_process_raises_no_flag() {
        let (_folder, home, leases) = home();
        let only = Neighbours::join(&home, &leases, None).unwrap();
        assert_eq!(only.stay().flag(), None);
    }

    #[test]
    fn the_shards_of_one_run_do_not_flag_each_other() {
        let (_folder, home, leases) = home();
        let join = |party: &str| Neighbours::join(&home, &leases, Some(party)).unwrap();
        let one = join("a");
        let stay = one.stay();
        let other = join("a");
        assert_eq!(stay.flag(), None);
        assert_eq!(other.stay().flag(), None);
        let _third = join("b");
        assert!(one.stay().flag().is_some());
    }

    #[test]
    fn each_of_two_prony_processes_flags_its_trial() {
        let (_folder, home, leases) = home();
        let one = Neighbours::join(&home, &leases, None).unwrap();
        let other = Neighbours::join(&home, &leases, None).unwrap();
        for stay in [one.stay(), other.stay()] {
            assert_eq!(stay.flag().unwrap().kind, FlagKind::SharedMachine);
        }
    }

    #[test]
    fn an_overlap_within_a_trial_flags_that_trial_only() {
        let (_folder, home, leases) = home();
        let only = Neighbours::join(&home, &leases, None).unwrap();
        let stay = only.stay();
        drop(Neighbours::join(&home, &leases, None).unwrap());
        assert!(stay.flag().is_some());
        assert_eq!(only.stay().flag(), None);
    }

    #[test]
    fn the_folder_of_a_dead_process_is_ignored() {
        let (_folder, home, leases) = home();
        let dead = home.work().join("measuring-dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(LOCK), "").unwrap();
        let only = Neighbours::join(&home, &leases, None).unwrap();
        assert_eq!(only.stay().flag(), None);
    }
}
