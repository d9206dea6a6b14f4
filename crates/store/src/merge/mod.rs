//! Makes one run of the records of its shards.
//!
//! Purpose: add what the shards counted, on the server's clock, so that every figure of the merged run is computed as that of a run on one
//! machine. Nothing is scaled up: a load of which a shard is missing is invalid. Boundaries: which shards are running is decided
//! when they meet (crate `prony`); percentiles are computed from the merged histograms (`stats`).

mod histograms;
mod load;
mod piece;
mod trial;

use crate::{Store, StoreError};
use record::{Run, ShardNote, Sharing, Trial, TrialKey};
use std::path::{Path, PathBuf};

/// Why records cannot become one run.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The records do not belong together: what they are, and the way out.
    #[error("{0}")]
    Unfit(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The record of one shard.
pub(crate) struct ShardRecord {
    pub path: PathBuf,
    pub note: ShardNote,
    pub run: Run,
    pub store: Store,
    /// All trials, those of the control too, without their histograms and series.
    pub trials: Vec<Trial>,
}

impl ShardRecord {
    fn open(path: &Path) -> Result<ShardRecord, MergeError> {
        let store = Store::open(path)?;
        let run = store.run()?;
        if run.slim.is_some() {
            return Err(StoreError::Slim(path.to_path_buf()).into());
        }
        let note = match &run.sharing {
            Some(Sharing::Shard(note)) => note.clone(),
            Some(merged) => {
                return Err(MergeError::Unfit(format!(
                    "{} is {} already; name the shards' own runs",
                    run.id,
                    merged.text()
                )));
            }
            None => {
                return Err(MergeError::Unfit(format!(
                    "{} is not a shard of a load: it has the whole load of its trials; only runs with --shard are merged",
                    run.id
                )));
            }
        };
        let mut trials = store.trials_with_settings()?;
        trials.extend(store.controls()?);
        trials.sort_by_key(|trial| trial.started_ns);
        Ok(ShardRecord {
            path: path.to_path_buf(),
            note,
            run,
            store,
            trials,
        })
    }

    /// The shard's record of a trial.
    pub(crate) fn trial(&self, key: &TrialKey) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.key == *key)
    }

    /// `shard 2/4`
    pub(crate) fn name(&self) -> String {
        name(self.note.number, self.note.of)
    }
}

/// `shard 2/4`
fn name(number: u32, of: u32) -> String {
    format!("shard {number}/{of}")
}

/// Writes one record of the shards' records at `paths` to `to`, as the run `id`.
///
/// # Errors
/// Records of different runs, a shard that is given twice, and what a store refuses. Missing or incomplete shards are not errors: their
/// trials are invalid.
pub fn merge(paths: &[PathBuf], to: &Path, id: &str) -> Result<(), MergeError> {
    let parts = parts(paths)?;
    let mut store = Store::create(to, &run(&parts, id))?;
    for key in keys(&parts) {
        store.save(&trial::merged(&parts, key)?)?;
    }
    Ok(())
}

/// The shards' records in the order of their numbers.
fn parts(paths: &[PathBuf]) -> Result<Vec<ShardRecord>, MergeError> {
    let parts = paths.iter().map(|path| ShardRecord::open(path));
    let mut parts = parts.collect::<Result<Vec<ShardRecord>, MergeError>>()?;
    parts.sort_by_key(|part| part.note.number);
    let Some((first, others)) = parts.split_first() else {
        return Err(MergeError::Unfit(
            "no run to merge; name the runs of all shards".into(),
        ));
    };
    for other in others {
        belongs(first, other)?;
    }
    match parts
        .windows(2)
        .find(|pair| pair[0].note.number == pair[1].note.number)
    {
        Some(pair) => Err(MergeError::Unfit(format!(
            "{} is given twice: {} and {}; name each shard of one run once",
            pair[0].name(),
            pair[0].run.id,
            pair[1].run.id
        ))),
        None => Ok(parts),
    }
}

fn belongs(first: &ShardRecord, other: &ShardRecord) -> Result<(), MergeError> {
    let differs = |what: String| {
        Err(MergeError::Unfit(format!(
            "{} ({}) and {} ({}) are not of one run: {what}; name the shards of one run",
            first.run.id,
            first.name(),
            other.run.id,
            other.name()
        )))
    };
    if first.note.experiment != other.note.experiment {
        return differs(format!(
            "their experiments, command lines or releases of prony differ (hash {} and {})",
            first.note.experiment, other.note.experiment
        ));
    }
    if first.note.of != other.note.of {
        return differs("their numbers of shards differ".into());
    }
    if first.run.seed != other.run.seed {
        return differs(format!(
            "their seeds differ ({} and {})",
            first.run.seed, other.run.seed
        ));
    }
    Ok(())
}

/// All trials that some shard has begun, in the order of the first shard that has them.
fn keys(parts: &[ShardRecord]) -> Vec<&TrialKey> {
    let trials = parts.iter().flat_map(|part| &part.trials);
    stats::each_once(trials.map(|trial| &trial.key))
}

fn run(parts: &[ShardRecord], id: &str) -> Run {
    let notes = parts.iter().map(|part| part.note.clone());
    Run {
        id: id.to_string(),
        sharing: Some(Sharing::Merged(notes.collect())),
        ..parts[0].run.clone()
    }
}
