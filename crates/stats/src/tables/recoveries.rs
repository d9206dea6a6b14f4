//! The matrix of recoveries: rows of servers and levels, the numbers of their outages across.

use crate::inference::estimate::Estimate;
use crate::load::recovery;
use crate::values::cells::{RowKey, row_key};
use crate::values::resolution;
use record::names::RECOVERY_NUMBERS;
use record::trial::{Trial, TrialState};
use std::collections::BTreeMap;

/// The recovery of each row of the matrix: each number over the blocks that have it.
pub type Recoveries<'t> = Vec<(RowKey<'t>, BTreeMap<&'static str, Estimate>)>;

/// The recoveries of all trials that are done, in the order of the rows. Rows without an outage are left out.
pub fn recoveries(trials: &[Trial]) -> Recoveries<'_> {
    let mut rows: Vec<(RowKey, Vec<&Trial>)> = Vec::new();
    for trial in trials.iter().filter(|one| one.state == TrialState::Done) {
        let key = row_key(&trial.key);
        match rows.iter_mut().find(|(known, _)| *known == key) {
            Some((_, trials)) => trials.push(trial),
            None => rows.push((key, vec![trial])),
        }
    }
    let numbers = |trials: &[&Trial]| -> BTreeMap<&'static str, Estimate> {
        let number = |name: &'static str| {
            let values = trials
                .iter()
                .filter_map(|trial| recovery::mean(trial, name).ok());
            let found = Estimate::of(&values.collect::<Vec<f64>>())?;
            let known_to = resolution::recovery(name, found.mean);
            Some((name, found.known_to(known_to)))
        };
        RECOVERY_NUMBERS.into_iter().filter_map(number).collect()
    };
    let rows = rows
        .into_iter()
        .map(|(key, trials)| (key, numbers(&trials)));
    rows.filter(|(_, numbers)| !numbers.is_empty()).collect()
}
