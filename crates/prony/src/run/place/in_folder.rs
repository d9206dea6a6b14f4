//! An empty folder as the place of a trial, for workloads that need no server; on a volume of its own if the file says so.
//!
//! The workload's files are made in it before the first load. Whether all their bytes are on disk is checked with the file system.

use super::disks::Disks;
use crate::run::Progress;
use crate::run::event::{Action, Means, PreparedEvents};
use crate::run::machine::changes::Changes;
use crate::run::machine::limits::{self, Held};
use crate::run::machine::volume;
use crate::run::place::{Look, Nodes, Place, coldness};
use host::{Entered, Lease, Leases, disk, extents, facts, interrupt};
use observe::{Prepared, Targets};
use record::event::POWER_CUT;
use record::{AuditNote, Flag, FlagKind, Trial};
use server::ServerError;
use spec::plan::PlannedTrial;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::{AuditError, Audited, Files, Target, Workload};

/// A leased folder, removed with the place after its volume.
pub(crate) struct FolderPlace {
    planned: PlannedTrial,
    /// The limits of prony while it generates the load, from the first one.
    held: Option<Held>,
    changes: Arc<Changes>,
    /// What lies below the files, as the kernel shows it, before the first load.
    below: BTreeMap<String, String>,
    disks: Disks,
    workload: Arc<dyn Workload>,
    leases: Leases,
    lease: Lease,
}

impl FolderPlace {
    pub(crate) fn new(
        planned: PlannedTrial,
        workload: Arc<dyn Workload>,
        leases: Leases,
        lease: Lease,
    ) -> FolderPlace {
        FolderPlace {
            disks: Disks::below(lease.path()),
            held: None,
            changes: Arc::new(Changes::new(
                workload.files().map_or(0, |files| files.bytes()),
            )),
            below: BTreeMap::new(),
            planned,
            workload,
            leases,
            lease,
        }
    }

    fn make(
        &self,
        files: &dyn Files,
        trial: &mut Trial,
        progress: &Progress,
    ) -> Result<(), ServerError> {
        has_space(&self.data(), files.bytes())?;
        let shown = |bytes| {
            let (done, all) = (disk::shown(bytes), disk::shown(files.bytes()));
            progress.now(&format!("writing the files: {done} of {all}"));
        };
        let made = files.make(&self.data(), &shown, &interrupt::asked);
        let made = made.map_err(|error| ServerError::Unusable(error.to_string()))?;
        trial.data_bytes = files.bytes();
        for path in made.iter().filter(|_| files.are_written()) {
            check_extents(path, trial).map_err(|error| {
                ServerError::Unusable(format!("cannot read {}: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    fn hold(&mut self) -> Result<(), ServerError> {
        let data_bytes = self.workload.files().map_or(0, |files| files.bytes());
        let limits = limits::resolve(&self.planned.limits, data_bytes);
        let later = limits::later(&self.planned, data_bytes);
        if limits.are_none() && later.is_empty() {
            return Ok(());
        }
        let held = Held::hold_for_files(&limits, &later, &self.data(), &self.leases);
        let held = held.map_err(|error| ServerError::Unusable(error.to_string()))?;
        let (group, planned) = (held.group.clone(), self.planned.limits);
        self.changes.of(group, planned);
        self.held = Some(held);
        Ok(())
    }

    /// The folder of the workload's files.
    fn data(&self) -> PathBuf {
        self.disks.data()
    }
}

impl Nodes for FolderPlace {}

impl Place<'_> for FolderPlace {
    fn continue_with(&mut self, planned: PlannedTrial) {
        self.planned = planned;
    }

    /// Creates the folder with its files, unless an earlier trial of the series did.
    fn prepare(&mut self, trial: &mut Trial, progress: &Progress) -> Result<(), ServerError> {
        trial.flags.extend(volume::flags(&self.planned.host));
        if self.data().exists() {
            return Ok(());
        }
        let workload = self.workload.clone();
        let files = workload.files();
        let bytes = files.map_or(0, |files| files.bytes());
        let is_on_device = (self.planned.host.volume()).is_some_and(|one| one.device().is_some());
        if !is_on_device {
            has_space(self.lease.path(), bytes)?;
        }
        // Blocks that the files do not write are written below the volume, or their first write would also allocate space there.
        let is_written = files.is_some_and(|files| !files.are_written());
        let host = &self.planned.host;
        self.disks
            .make_empty(host, bytes, is_written, &self.leases)?;
        match files {
            Some(files) => self.make(files, trial, progress),
            None => Ok(()),
        }
    }

    /// Sets and verifies the planned limits, and empties the page cache, before the first load. Records what lies below the files.
    fn start(&mut self, trial: &mut Trial, _preload: bool) -> Result<(), ServerError> {
        if self.below.is_empty() {
            self.hold()?;
            let evicted = coldness::empty_page_cache(&self.data());
            self.below = facts::below(&self.data());
            self.below
                .insert("page cache before the load".into(), evicted);
        }
        trial.settings = self.below.clone();
        if let Some(held) = &self.held {
            trial.limits = held.notes.clone();
            trial.flags.extend(held.flags.iter().cloned());
        }
        Ok(())
    }

    fn target(&self) -> Result<Target, ServerError> {
        Ok(Target::Folder(self.data()))
    }

    fn audited(&self, look: Look) -> Result<Result<Option<AuditNote>, AuditError>, ServerError> {
        Ok(look(Audited::Folder(&self.data())))
    }

    fn enter_limits(&self) -> Result<Option<Entered>, ServerError> {
        let entered = self.held.as_ref().map(Held::enter).transpose();
        entered.map_err(|error| ServerError::Unusable(error.to_string()))
    }

    fn lost_limit(&self) -> Option<Flag> {
        self.held.as_ref()?.lost()
    }

    fn restored(&self) -> Result<(), String> {
        let none = || Err(ServerError::Unusable("a folder has no settings".into()));
        self.changes.restore(none)
    }

    fn power_back(&self, trial: &mut Trial) -> Result<(), ServerError> {
        let cut = trial.events.iter_mut().rfind(|one| one.kind == POWER_CUT);
        if let (Some(lost), Some(event)) = (self.disks.power_back()?, cut) {
            event.text = format!("{}; {}", event.text, lost.says);
            event.numbers.extend(lost.numbers);
        }
        Ok(())
    }

    fn prepare_events(&self, actions: &[Action]) -> Result<PreparedEvents, ServerError> {
        PreparedEvents::open(&self.planned.events, actions, || {
            let power = self.disks.power(self.planned.key.block);
            Ok(Means::of_folder(self.changes.clone(), power))
        })
    }

    fn prepare_sampler(&self) -> Result<Prepared, ServerError> {
        Prepared::new(Targets {
            data_folder: Some(self.data()),
            ..Targets::default()
        })
    }
}

/// # Errors
/// The disk has too little space for the files.
fn has_space(folder: &Path, needed_bytes: u64) -> Result<(), ServerError> {
    let free_bytes = disk::free(folder).unwrap_or(u64::MAX);
    if needed_bytes < free_bytes {
        return Ok(());
    }
    Err(ServerError::Unusable(format!(
        "the files need {}, but {} has only {} free; use a smaller size, or another folder",
        disk::shown(needed_bytes),
        folder.display(),
        disk::shown(free_bytes)
    )))
}

/// Flags a file of which the file system says that parts were never written, although they were. File systems without extents say nothing.
fn check_extents(path: &Path, trial: &mut Trial) -> io::Result<()> {
    let file = File::open(path)?;
    let extents = match extents::read(&file) {
        Ok(extents) => extents,
        Err(error) if is_unknown(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    let holes_bytes = file.metadata()?.len().saturating_sub(extents.mapped_bytes);
    for (bytes, what) in [
        (extents.unwritten_bytes, "in unwritten extents"),
        (holes_bytes, "without a block on disk"),
    ] {
        if bytes > 0 {
            let (name, size) = (path.display(), disk::shown(bytes));
            let says = format!("{name} has {size} {what}, although every byte was written");
            trial.invalidate(FlagKind::TrialFailed, says);
        }
    }
    Ok(())
}

fn is_unknown(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput
    ) || error.raw_os_error() == Some(rustix::io::Errno::NOTTY.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::trial::blank;
    use record::TrialState;
    use rustix::fs::{FallocateFlags, fallocate};

    /// A trial after the extents of a file of 1 MiB in the build folder were checked. The temporary folder may have none.
    fn checked(make: impl FnOnce(&File)) -> Trial {
        let program = std::env::current_exe().unwrap();
        let made = tempfile::NamedTempFile::new_in(program.parent().unwrap()).unwrap();
        make(made.as_file());
        made.as_file().sync_all().unwrap();
        let mut trial = blank();
        check_extents(made.path(), &mut trial).unwrap();
        trial
    }

    #[test]
    fn a_file_that_should_be_written_and_has_unwritten_extents_makes_its_trial_invalid() {
        let trial = checked(|file| fallocate(file, FallocateFlags::empty(), 0, 1 << 20).unwrap());
        assert_eq!(trial.state, TrialState::Invalid);
        let says = "has 1.0 MB in unwritten extents, although every byte was written";
        assert!(trial.flags[0].text.ends_with(says), "{:?}", trial.flags);
    }

    #[test]
    fn a_file_with_a_hole_makes_its_trial_invalid_and_a_written_one_does_not() {
        use std::os::unix::fs::FileExt;
        let hole = checked(|file| file.set_len(1 << 20).unwrap());
        assert_eq!(hole.state, TrialState::Invalid);
        let says = "has 1.0 MB without a block on disk, although every byte was written";
        assert!(hole.flags[0].text.ends_with(says), "{:?}", hole.flags);
        let written = checked(|file| file.write_all_at(&vec![1; 1 << 20], 0).unwrap());
        assert_eq!((written.state, written.flags), (TrialState::Done, vec![]));
    }
}
