//! The matrix of recoveries: rows of servers and levels, the numbers of their outages across.

use crate::inference::estimate::Estimate;
use crate::load::recovery;
use crate::values::cells::{RowKey, by_key, row_key};
use crate::values::resolution;
use record::names::RECOVERY_NUMBERS;
use record::trial::{Trial, TrialState};
use std::collections::BTreeMap;

/// The recovery of a row of the matrix.
pub struct Recovery<'t> {
    pub row: RowKey<'t>,
    /// Each number over the blocks that have it; no `recovered_s` and no `commit_s` where an outage of a trial has none.
    pub numbers: BTreeMap<&'static str, Estimate>,
    /// The trials that are done, and those of them whose throughput did not return after an outage.
    pub trials: usize,
    pub not_back: usize,
}

impl<'t> Recovery<'t> {
    fn of(row: RowKey<'t>, trials: &[&Trial]) -> Recovery<'t> {
        let lacking = |name: &str| {
            let is_lacking = |trial: &&&Trial| recovery::lacking(trial, name).is_some();
            trials.iter().filter(is_lacking).count()
        };
        let number = |name: &'static str| {
            let values = trials
                .iter()
                .filter_map(|trial| recovery::mean(trial, name).ok());
            let found = Estimate::of(&values.collect::<Vec<f64>>())?;
            let known_to = resolution::recovery(name, found.mean);
            (lacking(name) == 0).then(|| (name, found.known_to(known_to)))
        };
        Recovery {
            row,
            numbers: RECOVERY_NUMBERS.into_iter().filter_map(number).collect(),
            trials: trials.len(),
            not_back: lacking(recovery::RECOVERED),
        }
    }
}

/// The recoveries of all trials that are done, in the order of the rows. Rows without an outage are left out.
pub fn recoveries(trials: &[Trial]) -> Vec<Recovery<'_>> {
    let done = trials.iter().filter(|one| one.state == TrialState::Done);
    let rows = by_key(done.map(|trial| (row_key(&trial.key), trial)));
    let rows = rows.iter().map(|(row, trials)| Recovery::of(*row, trials));
    rows.filter(|row| !row.numbers.is_empty() || row.not_back > 0)
        .collect()
}
