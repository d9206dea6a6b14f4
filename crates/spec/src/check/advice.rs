//! Advice about a valid file, shown before it runs.
//!
//! Boundaries: mistakes, which stop a run, are in `file::mistake`.

use super::timed::loads_of_levels;
use super::traces;
use crate::experiment::{Experiment, FactorSpec, RoundKind};
use record::LoadFactor;

/// Returns advice about a valid experiment, one sentence each.
pub fn advice(experiment: &Experiment) -> Vec<String> {
    let series = LoadFactor::ALL.into_iter().filter(|one| one.is_count());
    let series = series.filter_map(|factor| begins_above_one(experiment, factor.name()));
    let cut = traces::cut(experiment, loads_of_levels(experiment));
    let remarks = experiment.remarks.iter().cloned();
    remarks
        .chain(series)
        .chain(needless_series(experiment))
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

/// A series of one load is a single trial. The command line may have left one of several.
fn needless_series(experiment: &Experiment) -> Option<String> {
    let is_list =
        |factor: &FactorSpec| LoadFactor::named(&factor.name).is_some() && factor.levels.len() > 1;
    let has_several = experiment.search().is_some() || experiment.factors.iter().any(is_list);
    (experiment.protocol.series && !has_several).then(|| {
        "series = true has no effect: only trials of a list of clients, workers or rates share a started server"
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::read_on_server;

    #[test]
    fn a_series_of_one_load_has_no_effect() {
        let notes = |load: &str| {
            let source = format!(
                "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n{load}\n\
                 [protocol]\ntime = '60s'\nseries = true\n"
            );
            let advice = advice(&read_on_server(&source).unwrap()).into_iter();
            advice.filter(|note| note.contains("series = true")).count()
        };
        assert_eq!(notes(""), 1);
        assert_eq!(notes("[factor.crowd.big]\nload = { clients = 64 }"), 1);
        assert_eq!(notes("[load.closed]\nclients = [1, 8]"), 0);
        assert_eq!(notes("[load.open]\nrate = '60% of max'"), 0);
        let search = "find = { max_rate = [1, 2], where = 'p99 <= 10ms' }";
        assert_eq!(notes(&format!("[load.open]\n{search}")), 0);
    }
}
