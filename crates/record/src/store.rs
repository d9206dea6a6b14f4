//! `run.sqlite`: one file a run, one transaction a trial.

use crate::run::Run;
use crate::trial::{Trial, TrialKey};
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
}

pub struct Store {}

impl Store {
    /// A new file with the run's own row; fails where the file exists.
    pub fn create(_path: &Path, _run: &Run) -> Result<Store, StoreError> {
        unreachable!("not built yet")
    }
    /// For reading alone.
    pub fn open(_path: &Path) -> Result<Store, StoreError> {
        unreachable!("not built yet")
    }
    /// For going on with a run that was killed or interrupted.
    pub fn resume(_path: &Path) -> Result<Store, StoreError> {
        unreachable!("not built yet")
    }
    pub fn run(&self) -> Result<Run, StoreError> {
        unreachable!("not built yet")
    }
    /// Trials that need not be measured again, in the order they ended.
    pub fn finished(&self) -> Result<Vec<TrialKey>, StoreError> {
        unreachable!("not built yet")
    }
    /// In one transaction; the trial is on the disk when this returns.
    pub fn save(&mut self, _trial: &Trial) -> Result<(), StoreError> {
        unreachable!("not built yet")
    }
    /// All trials without the queries' own counters (left empty): what tables, claims and verdicts need, fast.
    pub fn trials(&self) -> Result<Vec<Trial>, StoreError> {
        unreachable!("not built yet")
    }
    /// All trials whole.
    pub fn trials_whole(&self) -> Result<Vec<Trial>, StoreError> {
        unreachable!("not built yet")
    }
}
