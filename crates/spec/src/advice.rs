//! What is right in a file and yet worth a word before it is run.
//!
//! Goal: sentences for the terminal. Non-goal: mistakes, which stop a run (see `mistake`).

use super::experiment::Experiment;

/// One sentence each.
pub fn advice(experiment: &Experiment) -> Vec<String> {
    ["clients", "workers"]
        .into_iter()
        .filter_map(|factor| begins_above_one(experiment, factor))
        .collect()
}

/// Without one client nobody sees what a single one gets, and so what the others cost each other.
fn begins_above_one(experiment: &Experiment, factor: &str) -> Option<String> {
    let spec = experiment.factors.iter().find(|spec| spec.name == factor)?;
    let several = spec.levels.len() > 1 && spec.levels.iter().all(|level| level.name != "1");
    several.then(|| {
        format!("the series of {factor} does not begin at 1, so it does not show what several cost each other")
    })
}
