//! What a dead prony has left: its processes are killed, its folders and control groups removed, then its journal.
//!
//! Goal: the same few steps for the guard, for a clean end and for the next start. Non-goals: anything of a living prony.

use crate::{journal, process};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// What the work on leftovers found.
#[derive(Debug, Default, PartialEq)]
pub struct Swept {
    /// Dead pronys whose leftovers are gone now.
    pub pronys: usize,
    /// What could not be cleaned, one sentence each. Its journal stays, and the next start tries again.
    pub problems: Vec<String>,
}

/// Works off the journals of all dead pronys of this home. Two pronys may do so at once.
pub fn sweep(leases: &Path) -> io::Result<Swept> {
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
pub fn work_off(path: &Path, wait: bool) -> io::Result<bool> {
    let Some(locked) = journal::take(path, wait)? else {
        return Ok(false);
    };
    let held = journal::read(&locked)?;
    if let Some(mark) = &held.mark {
        process::kill_marked(mark)?;
    }
    // One that cannot be removed keeps none of the others.
    let folders = held
        .folders
        .iter()
        .rev()
        .map(|folder| remove_folder(folder));
    let groups = held.groups.iter().map(|group| remove_group(group));
    let failed: Vec<io::Error> = folders.chain(groups).filter_map(Result::err).collect();
    match failed.into_iter().next() {
        Some(error) => Err(error),
        None => {
            fs::remove_file(path)?;
            Ok(true)
        }
    }
}

/// How long a group may still hold processes that are dead: their parent collects them.
const EMPTY_WITHIN: Duration = Duration::from_secs(10);

/// Removes a control group that nothing lives in any more; nothing where it is not there.
pub fn remove_group(group: &Path) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy
                    && began.elapsed() < EMPTY_WITHIN =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => {
                let says = format!(
                    "cannot remove the control group {}: {error}",
                    group.display()
                );
                return Err(io::Error::new(error.kind(), says));
            }
            Ok(()) => return Ok(()),
        }
    }
}

/// Removes a folder with everything in it; nothing where it is not there.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("cannot remove {}: {error}", folder.display()),
        )),
        Ok(()) => Ok(()),
    }
}
