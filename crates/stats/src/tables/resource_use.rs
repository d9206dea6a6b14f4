//! Resource use of rounds and queries: one counter of one row of the table.
//!
//! Purpose: the same mean for every table that shows a counter. Boundary: `explain` explains it.

use crate::inference::estimate::Estimate;
use crate::values::cells::row_key;
use record::trial::{Counters, Round, Trial, TrialState};

/// Which rounds of which row, and of which query; without one the whole round.
#[derive(Clone, Copy)]
pub struct RowPart<'a> {
    pub server: Option<&'a str>,
    pub levels: &'a [(String, String)],
    /// As requested: `cold` also means rounds that were lukewarm.
    pub round: &'a str,
    pub query: Option<&'a str>,
}

/// The mean of a trial's rounds (or of the query in them), over blocks; none where a trial lacks the counter, or where a query
/// was stopped by the time limit, because its counters are incomplete.
pub fn counter(trials: &[Trial], part: RowPart, name: &str) -> Option<Estimate> {
    let counts = |trial: &&Trial| {
        trial.state == TrialState::Done && row_key(&trial.key) == (part.server, part.levels)
    };
    let mean = |trial: &Trial| {
        let is_called = |round: &&Round| round.is_called(part.round);
        let rounds = || trial.rounds.iter().filter(is_called);
        let mut queries = rounds().flat_map(|round| round.selected(part.query));
        if queries.any(|query| query.timed_out_s().is_some()) {
            return None;
        }
        let moved: Vec<i64> = rounds()
            .flat_map(|round| counters(round, part.query))
            .map(|counters| counters.get(name).copied())
            .collect::<Option<_>>()?;
        (!moved.is_empty()).then(|| moved.iter().sum::<i64>() as f64 / moved.len() as f64)
    };
    let means: Option<Vec<f64>> = trials.iter().filter(counts).map(mean).collect();
    Estimate::of_counts(&means?)
}

fn counters<'t>(round: &'t Round, query: Option<&str>) -> Vec<&'t Counters> {
    match query {
        None => vec![&round.counters],
        Some(_) => {
            let selected = round.selected(query);
            selected.map(|query| &query.counters).collect()
        }
    }
}
