//! `run.sqlite`: one file a run, one transaction a trial.
//!
//! Purpose: a saved trial is durable; a reader never disturbs the writer; a finished run is one plain file. Boundary: a run has
//! one writer. The tables are described in docs/RESULTS.md.
//!
//! Sources: <https://sqlite.org/wal.html> for what a reader needs of a file in write-ahead mode,
//! <https://sqlite.org/pragma.html#pragma_synchronous> for what a commit promises.

mod error;
pub mod merge;
mod open;
mod packed;
mod rows;

pub use error::StoreError;
pub use rows::slim::slim;

use record::{
    ErrorCount, HistogramSum, LiveSample, LiveTrial, Loaded, Question, Role, Run, Trial, TrialKey,
    TrialState,
};
pub(crate) use rows::load::{HistogramRow, NodeSeries};
use rows::read::Depth;
use rows::{counters, live, load, read, write};
use rusqlite::{Connection, TransactionBehavior};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The schema that this prony reads and writes (`PRAGMA user_version`).
pub const SCHEMA_VERSION: i32 = 7;

/// The largest part of a file that is mapped into memory.
const MAPPED_BYTES: i64 = 1 << 30;

/// The steps of a plan's text as JSON, for those who read the file with SQL; None if the text has none. Crate `explain`
/// reads plans.
pub type PlanSteps = fn(&str) -> Option<String>;

/// An open `run.sqlite`.
pub struct Store {
    path: PathBuf,
    at: Connection,
    writes: bool,
    plan_steps: PlanSteps,
}

impl Store {
    /// Creates a file with the run's own row; fails if the file exists.
    pub fn create(path: &Path, run: &Run) -> Result<Store, StoreError> {
        let store = Store::of(path, open::new(path)?, true);
        let written = open::lay(&store.at).and_then(|()| write::run(&store.at, run));
        store.named(written.and_then(|()| store.at.execute_batch("commit")))?;
        Ok(store)
    }

    /// Opens a run read-only: while it is being written, after prony was killed, in a read-only folder, or compressed by gzip or zstd.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Ok(Store::of(path, open::reading(path)?, false))
    }

    /// Opens a run that was killed or interrupted, to resume it.
    pub fn resume(path: &Path) -> Result<Store, StoreError> {
        Ok(Store::of(path, open::writing(path)?, true))
    }

    fn of(path: &Path, at: Connection, writes: bool) -> Store {
        Store {
            path: path.to_path_buf(),
            at,
            writes,
            plan_steps: |_| None,
        }
    }

    /// Keeps with each plan its steps as this function reads them; without it a file holds the texts alone.
    pub fn with_plan_steps(mut self, plan_steps: PlanSteps) -> Store {
        self.plan_steps = plan_steps;
        self
    }

    /// The question and the environment.
    pub fn run(&self) -> Result<Run, StoreError> {
        self.named(read::run(&self.at))
    }

    /// Replaces the question: a finished run that gets further blocks, or the reason why a run stopped.
    pub fn set_question(&mut self, question: &Question) -> Result<(), StoreError> {
        self.named(write::question(&self.at, question))
    }

    /// Trials that need not be measured again, in the order they ended: done and invalid ones. A failed one is repeated.
    pub fn finished(&self) -> Result<Vec<TrialKey>, StoreError> {
        self.named(read::finished(&self.at))
    }

    /// The states of all recorded trials, without reading what was measured.
    pub fn states(&self) -> Result<Vec<TrialState>, StoreError> {
        self.named(read::states(&self.at))
    }

    /// Saves a trial in one transaction; it is on the disk when this returns. It replaces a failed trial of the same key; if a done or
    /// invalid one is recorded, it is refused ([`StoreError::Recorded`]).
    pub fn save(&mut self, trial: &Trial) -> Result<(), StoreError> {
        self.save_group(std::slice::from_ref(trial))
    }

    /// The trials of a group, all in one transaction. They take the place of the same trials if one of these has failed: a group is
    /// measured as a whole. Otherwise as [`Store::save`].
    pub fn save_group(&mut self, trials: &[Trial]) -> Result<(), StoreError> {
        let name = |e| StoreError::at(&self.path, e);
        let transaction = self
            .at
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(name)?;
        let recorded = trials.iter().filter_map(|trial| {
            let found = write::recorded(&transaction, &trial.key).transpose()?;
            Some(found.map(|(id, state)| (id, state, &trial.key)))
        });
        let recorded = recorded.collect::<Result<Vec<_>, _>>().map_err(name)?;
        let has_failed =
            |(_, state, _): &(i64, TrialState, &TrialKey)| *state == TrialState::Failed;
        if let (false, Some((_, _, key))) = (recorded.iter().any(has_failed), recorded.first()) {
            return Err(StoreError::Recorded {
                path: self.path.clone(),
                key: (*key).clone(),
            });
        }
        for (id, ..) in &recorded {
            write::remove(&transaction, *id).map_err(name)?;
        }
        for trial in trials {
            write::trial(&transaction, trial, self.plan_steps).map_err(name)?;
            live::clear(&transaction, &trial.key).map_err(name)?;
        }
        transaction.commit().map_err(name)
    }

    /// All trials except those of the control ([`Store::controls`]), without their settings, the queries' own counters, and the series, histograms and errors of timed loads
    /// (all left empty; `Loaded::summary` replaces the latter): what tables, claims and verdicts need, fast.
    pub fn trials(&self) -> Result<Vec<Trial>, StoreError> {
        self.read(Role::Measured, Depth::Times(&[]))
    }

    /// The trials of the A/A control, as [`Store::trials`]. Only what is about the control itself uses them.
    pub fn controls(&self) -> Result<Vec<Trial>, StoreError> {
        self.read(Role::Control, Depth::Times(&[]))
    }

    /// As [`Store::controls`], whole.
    pub fn controls_whole(&self) -> Result<Vec<Trial>, StoreError> {
        self.read(Role::Control, Depth::Whole)
    }

    /// As [`Store::trials`], with the settings of these names and those that differ between trials: what explanations need too.
    pub fn trials_with(&self, settings: &[&str]) -> Result<Vec<Trial>, StoreError> {
        self.read(Role::Measured, Depth::Times(settings))
    }

    /// As [`Store::trials`], with all settings: what a comparison of runs needs.
    pub fn trials_with_settings(&self) -> Result<Vec<Trial>, StoreError> {
        self.read(Role::Measured, Depth::Settings)
    }

    /// All trials except those of the control, whole. Of timed loads that is much: [`Store::load`] reads one.
    pub fn trials_whole(&self) -> Result<Vec<Trial>, StoreError> {
        self.read(Role::Measured, Depth::Whole)
    }

    /// The timed load of one trial, whole; None if there is no such trial or it has none.
    pub fn load(&self, key: &TrialKey) -> Result<Option<Loaded>, StoreError> {
        self.of_load(key, |id| {
            load::whole(&self.at, id, &counters::Lists::read(&self.at)?)
        })
    }

    /// Series of one trial by name, one value per second; unknown names are left out.
    pub fn series(
        &self,
        key: &TrialKey,
        names: &[&str],
    ) -> Result<BTreeMap<String, Vec<Option<f64>>>, StoreError> {
        self.of_load(key, |id| {
            let one = |name: &&str| {
                let series = load::one_series(&self.at, id, name).transpose()?;
                Some(series.map(|series| (name.to_string(), series)))
            };
            names.iter().filter_map(one).collect()
        })
    }

    /// All series of one trial's load, by node and name; empty without a load.
    pub(crate) fn all_series(&self, key: &TrialKey) -> Result<NodeSeries, StoreError> {
        self.of_load(key, |id| load::all_series(&self.at, id))
    }

    /// The errors of one trial's load.
    pub(crate) fn errors(&self, key: &TrialKey) -> Result<Vec<ErrorCount>, StoreError> {
        self.of_load(key, |id| load::errors(&self.at, id))
    }

    /// What histograms one trial's load has, without their counts.
    pub(crate) fn histogram_rows(&self, key: &TrialKey) -> Result<Vec<HistogramRow>, StoreError> {
        self.of_load(key, |id| load::histogram_rows(&self.at, id))
    }

    /// Adds one of these histograms to a sum.
    pub(crate) fn add_histogram(&self, row: i64, sum: &mut HistogramSum) -> Result<(), StoreError> {
        self.named(load::add_histogram(&self.at, row, sum))
    }

    /// Keeps the file as it is now for many reads, until the returned value is dropped: SQLite does not lock it anew for each, and maps
    /// it into memory, which is safe because nobody can shorten the file meanwhile.
    pub(crate) fn hold(&self) -> Result<rusqlite::Transaction<'_>, StoreError> {
        let hold = || {
            self.at.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
            let held = self.at.unchecked_transaction()?;
            // A transaction takes its lock with its first read.
            self.at.query_row("select id from run", [], |_| Ok(()))?;
            Ok(held)
        };
        self.named(hold())
    }

    /// What `read` finds of a trial that may have a timed load.
    fn of_load<T: Default>(
        &self,
        key: &TrialKey,
        read: impl FnOnce(i64) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let read = || match write::recorded(&self.at, key)? {
            Some((id, _)) => read(id),
            None => Ok(T::default()),
        };
        self.named(read())
    }

    /// Keeps one second of the running trial until the trial is saved or another one begins.
    ///
    /// It does not wait for the disk, so that live display does not disturb the measurement. A kill of prony loses no second; a
    /// power failure may lose some.
    pub fn live(
        &mut self,
        key: &TrialKey,
        second: u32,
        sample: &LiveSample,
    ) -> Result<(), StoreError> {
        let added = open::without_waiting(&mut self.at, |at| live::add(at, key, second, sample));
        self.named(added)
    }

    /// Shrinks the file if most of it is unused: the seconds of [`Store::live`] took that space. Does nothing where another program uses the
    /// record, which is complete without it.
    pub fn shrink(&mut self) {
        let pages = |pragma: &str| {
            let read = |row: &rusqlite::Row| row.get::<_, i64>(0);
            self.at.pragma_query_value(None, pragma, read).unwrap_or(0)
        };
        if 2 * pages("freelist_count") > pages("page_count") {
            let _ = self.at.execute_batch("VACUUM");
        }
    }

    /// The seconds of the trial that is running, or was running when prony was killed.
    pub fn live_of(&self) -> Result<Option<LiveTrial>, StoreError> {
        self.named(live::read(&self.at))
    }

    /// Reads in one transaction, so that a trial saved meanwhile is read wholly or not at all.
    fn read(&self, role: Role, depth: Depth) -> Result<Vec<Trial>, StoreError> {
        let read = || {
            let transaction = self.at.unchecked_transaction()?;
            let trials = read::trials(&transaction, role, depth)?;
            transaction.commit()?;
            Ok(trials)
        };
        self.named(read())
    }

    fn named<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|e| StoreError::at(&self.path, e))
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
