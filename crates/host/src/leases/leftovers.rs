//! Cleans up after a dead prony: kills its processes, releases its leases in teardown order, then removes its journal.
//!
//! The guard, a clean end and the next start all do these same steps. Nothing of a living prony is touched.

use super::journal::{self, Held, HeldLease};
use super::ownership::Own;
use crate::process;
use std::fs;
use std::io;
use std::path::Path;

/// What a cleanup found.
#[derive(Debug, Default, PartialEq)]
pub struct Swept {
    /// Dead prony processes whose leftovers are gone now.
    pub pronys: usize,
    /// What could not be cleaned up, one sentence each. Its journal stays, and the next start tries again.
    pub problems: Vec<String>,
}

/// Works off the journals of all dead prony processes of this home. Two prony processes may do so at once.
pub(crate) fn sweep(leases: &Path) -> io::Result<Swept> {
    let mut swept = Swept::default();
    for entry in fs::read_dir(leases)? {
        let path = entry?.path();
        if path
            .extension()
            .is_none_or(|extension| extension != "journal")
        {
            continue;
        }
        match work_off(&path, false) {
            Ok(true) => swept.pronys += 1,
            Ok(false) => {}
            Err(error) => swept.problems.push(format!(
                "leftovers of a dead prony process remain, see {}: {error}",
                path.display()
            )),
        }
    }
    Ok(swept)
}

/// Works off one journal; false where it is gone already, where it is empty (its prony was killed before its first line, or has not
/// written it yet) or, unless `wait`, where its prony lives (or another one works on it).
pub(crate) fn work_off(path: &Path, wait: bool) -> io::Result<bool> {
    let Some(locked) = journal::take(path, wait)? else {
        return Ok(false);
    };
    let held = journal::read(&locked)?;
    if let Some(mark) = &held.mark {
        process::kill_marked(mark)?;
    }
    let own = Own::of(path, held.mark.as_deref());
    let release = |lease: &HeldLease| {
        own.permits(lease.kind, &lease.path)?;
        lease.kind.release(&lease.path)
    };
    // One that cannot be released keeps none of the others.
    let failed: Vec<io::Error> = held
        .in_teardown_order()
        .filter_map(|lease| release(lease).err())
        .collect();
    match failed.into_iter().next() {
        Some(error) => Err(error),
        None => {
            fs::remove_file(path)?;
            Ok(held != Held::default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leases::journal::Line;
    use crate::leases::kind::LeaseKind;
    use crate::{Home, Leases};

    #[test]
    fn a_planted_line_deletes_nothing_outside_the_home() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::at(place.path().join("home")).unwrap();
        let (theirs, left) = (place.path().join("theirs"), home.work().join("trial-1"));
        for folder in [&theirs, &left] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("file"), "rows").unwrap();
        }
        let path = home.leases().join("1-2.journal");
        let journal = journal::create(&path).unwrap();
        for (id, folder) in [(1, &theirs), (2, &left)] {
            journal::append(
                &journal,
                &Line::leased(id, LeaseKind::Folder, folder.clone()),
            )
            .unwrap();
        }
        drop(journal);
        let leases = Leases::open_with(&home, None).unwrap();
        let problems = leases.swept().problems.join("\n");
        let says = format!(
            "its journal names {}, which prony did not make",
            theirs.display()
        );
        assert!(problems.contains(&says), "{problems}");
        assert!(theirs.join("file").exists() && path.exists());
        assert!(!left.exists(), "its own leftovers are removed");
    }

    #[test]
    fn a_journal_without_a_line_is_removed_and_counts_as_no_dead_prony() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::at(place.path()).unwrap();
        let path = home.leases().join("1-2.journal");
        drop(journal::create(&path).unwrap());
        let leases = Leases::open_with(&home, None).unwrap();
        assert_eq!((leases.swept(), path.exists()), (&Swept::default(), false));
    }

    #[test]
    fn a_killed_pronys_folder_outside_the_home_is_removed_by_its_tag() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::at(place.path().join("home")).unwrap();
        let leases = Leases::open_with(&home, None).unwrap();
        let folder = leases.temporary_in(place.path(), "prony-trial").unwrap();
        let path = folder.path().to_path_buf();
        // As after a kill: nothing is released, and the lock is gone.
        let journal = fs::read_dir(home.leases())
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let text = fs::read(journal.path()).unwrap();
        drop((folder, leases));
        fs::create_dir(&path).unwrap();
        journal::create(&journal.path()).unwrap();
        fs::write(journal.path(), text).unwrap();
        let next = Leases::open_with(&home, None).unwrap();
        assert_eq!(next.swept().problems, [""; 0]);
        assert!(!path.exists());
    }
}
