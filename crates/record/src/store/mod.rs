//! `run.sqlite`: one file a run, one transaction a trial.
//!
//! Goals: a trial that `save` returned for is on the disk, whatever happens to prony then; a reader never disturbs the
//! writer; a finished run is one plain file. Non-goals: series, histograms and live samples (they come with their
//! issues), two writers of one run. The tables are described in docs/RESULTS.md.
//!
//! Sources: <https://sqlite.org/wal.html> for what a reader needs of a file in write-ahead mode,
//! <https://sqlite.org/pragma.html#pragma_synchronous> for what a commit promises.

mod counters;
mod error;
mod open;
mod read;
mod write;

pub use error::StoreError;

use crate::run::Run;
use crate::trial::{Trial, TrialKey, TrialState};
use read::Depth;
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};

/// The schema that this prony reads and writes (`PRAGMA user_version`).
pub const SCHEMA_VERSION: i32 = 1;

/// An open `run.sqlite`.
pub struct Store {
    path: PathBuf,
    at: Connection,
    writes: bool,
}

impl Store {
    /// A new file with the run's own row; fails where the file exists.
    pub fn create(path: &Path, run: &Run) -> Result<Store, StoreError> {
        let store = Store {
            path: path.to_path_buf(),
            at: open::new(path)?,
            writes: true,
        };
        let written = open::lay(&store.at).and_then(|()| write::run(&store.at, run));
        store.named(written.and_then(|()| store.at.execute_batch("commit")))?;
        Ok(store)
    }

    /// For reading alone: while a run writes, after one was killed, and in a folder that cannot be written.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Ok(Store {
            path: path.to_path_buf(),
            at: open::reading(path)?,
            writes: false,
        })
    }

    /// For going on with a run that was killed or interrupted.
    pub fn resume(path: &Path) -> Result<Store, StoreError> {
        Ok(Store {
            path: path.to_path_buf(),
            at: open::writing(path)?,
            writes: true,
        })
    }

    /// What was asked, and where.
    pub fn run(&self) -> Result<Run, StoreError> {
        self.named(read::run(&self.at))
    }

    /// Trials that need not be measured again, in the order they ended: done and invalid ones. A failed one is repeated.
    pub fn finished(&self) -> Result<Vec<TrialKey>, StoreError> {
        self.named(read::finished(&self.at))
    }

    /// In one transaction; the trial is on the disk when this returns. It takes the place of a failed trial of the same
    /// key; where a done or invalid one is recorded, it is refused ([`StoreError::Recorded`]).
    pub fn save(&mut self, trial: &Trial) -> Result<(), StoreError> {
        let name = |e| StoreError::of(&self.path, e);
        let transaction = self
            .at
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(name)?;
        match write::recorded(&transaction, &trial.key).map_err(name)? {
            Some((id, TrialState::Failed)) => write::remove(&transaction, id).map_err(name)?,
            Some(_) => {
                return Err(StoreError::Recorded {
                    path: self.path.clone(),
                    key: trial.key.clone(),
                });
            }
            None => {}
        }
        write::trial(&transaction, trial).map_err(name)?;
        transaction.commit().map_err(name)
    }

    /// All trials without their settings and the queries' own counters (both left empty): what tables, claims and
    /// verdicts need, fast.
    pub fn trials(&self) -> Result<Vec<Trial>, StoreError> {
        self.read(Depth::Times)
    }

    /// All trials whole.
    pub fn trials_whole(&self) -> Result<Vec<Trial>, StoreError> {
        self.read(Depth::Whole)
    }

    /// In one transaction, so that a trial saved meanwhile is read wholly or not at all.
    fn read(&self, depth: Depth) -> Result<Vec<Trial>, StoreError> {
        let read = || {
            let transaction = self.at.unchecked_transaction()?;
            let trials = read::trials(&transaction, depth)?;
            transaction.commit()?;
            Ok(trials)
        };
        self.named(read())
    }

    fn named<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|e| StoreError::of(&self.path, e))
    }
}

impl Drop for Store {
    /// Folds the log into the file, so that a run can be copied and read anywhere. Where somebody reads at this moment
    /// the log stays, which loses nothing.
    fn drop(&mut self) {
        if self.writes {
            let _ = self.at.busy_timeout(std::time::Duration::ZERO);
            let _ = self.at.pragma_update(None, "journal_mode", "delete");
        }
    }
}
