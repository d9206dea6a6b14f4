//! Advice about a valid file, shown before it runs.
//!
//! Boundaries: mistakes, which stop a run, are in `file::mistake`.

use super::timed::loads_of_levels;
use super::traces;
use crate::experiment::{Experiment, RoundKind};
use record::LoadFactor;

/// Returns advice about a valid experiment, one sentence each.
pub fn advice(experiment: &Experiment) -> Vec<String> {
    let series = LoadFactor::ALL.into_iter().filter(|one| one.is_count());
    let series = series.filter_map(|factor| begins_above_one(experiment, factor.name()));
    let cut = traces::cut(experiment, loads_of_levels(experiment));
    let remarks = experiment.remarks.iter().cloned();
    remarks
        .chain(series)
        .chain(begins_hot(experiment))
        .chain(cut)
        .collect()
}

/// Nothing has read the data before the first hot round.
fn begins_hot(experiment: &Experiment) -> Option<String> {
    let first = experiment.protocol.rounds.first();
    (!experiment.protocol.is_timed() && first == Some(&RoundKind::Hot)).then(|| {
        "the rounds begin with a hot one: where it finds its data on disk, it runs once more and is not counted"
            .to_string()
    })
}

/// Without a trial with one client there is no baseline for how well the others scale.
fn begins_above_one(experiment: &Experiment, factor: &str) -> Option<String> {
    let spec = experiment.factors.iter().find(|spec| spec.name == factor)?;
    let several = spec.levels.len() > 1 && spec.levels.iter().all(|level| level.name != "1");
    several.then(|| {
        format!("the series of {factor} does not begin at 1, so it does not show how much a single one achieves")
    })
}
