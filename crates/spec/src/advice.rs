//! Advice about a valid file, shown before it runs.
//!
//! Boundaries: mistakes, which stop a run, are in `mistake`.

use super::experiment::Experiment;
use record::LoadFactor;

/// Returns advice about a valid experiment, one sentence each.
pub fn advice(experiment: &Experiment) -> Vec<String> {
    let series = LoadFactor::ALL.into_iter().filter(|one| one.is_count());
    let series = series.filter_map(|factor| begins_above_one(experiment, factor.name()));
    experiment.remarks.iter().cloned().chain(series).collect()
}

/// Without a trial with one client there is no baseline for how well the others scale.
fn begins_above_one(experiment: &Experiment, factor: &str) -> Option<String> {
    let spec = experiment.factors.iter().find(|spec| spec.name == factor)?;
    let several = spec.levels.len() > 1 && spec.levels.iter().all(|level| level.name != "1");
    several.then(|| {
        format!("the series of {factor} does not begin at 1, so it does not show how much a single one achieves")
    })
}
