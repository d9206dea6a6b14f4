//! Cleans up after a dead prony: kills its processes, releases its leases in teardown order, then removes its journal.
//!
//! The guard, a clean end and the next start all do these same steps. Nothing of a living prony is touched.

use crate::{journal, process};
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
                "leftovers of a dead prony stay, see {}: {error}",
                path.display()
            )),
        }
    }
    Ok(swept)
}

/// Works off one journal; false where it is gone already or, unless `wait`, its prony lives (or another one works on it).
pub(crate) fn work_off(path: &Path, wait: bool) -> io::Result<bool> {
    let Some(locked) = journal::take(path, wait)? else {
        return Ok(false);
    };
    let held = journal::read(&locked)?;
    if let Some(mark) = &held.mark {
        process::kill_marked(mark)?;
    }
    // One that cannot be released keeps none of the others.
    let failed: Vec<io::Error> = held
        .in_teardown_order()
        .filter_map(|lease| lease.kind.release(&lease.path).err())
        .collect();
    match failed.into_iter().next() {
        Some(error) => Err(error),
        None => {
            fs::remove_file(path)?;
            Ok(true)
        }
    }
}
