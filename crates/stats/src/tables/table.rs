//! The matrix of times: rows of servers and levels, rounds across.

use crate::inference::estimate::Estimate;
use crate::values::cells::{RowKey, by_row, row_key, why_it_does_not_count};
use record::run::Question;
use record::trial::{Round, Trial, TrialState};

#[derive(Clone, Debug, PartialEq)]
pub struct RoundCell {
    /// As requested: `cold`, `hot`.
    pub name: String,
    /// From 1 within its name.
    pub index: u32,
    pub elapsed_s: Option<Estimate>,
    /// A cold round was requested and, in one block at least, not reached.
    pub lukewarm: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    pub rounds: Vec<RoundCell>,
    /// Why there is no figure.
    pub missing: Option<String>,
}

/// Every row that has a trial. The levels go by the file's order, the first factor slowest, and within them the servers,
/// so that servers stand below each other as published tables have them.
pub fn table(question: &Question, trials: &[Trial]) -> Vec<Row> {
    let rows = rows(question, trials).into_iter();
    rows.map(|(key, trials)| row(question, key, &trials))
        .collect()
}

/// The rows in the order of the table, each with all of its trials.
pub fn rows<'t>(question: &Question, trials: &'t [Trial]) -> Vec<(RowKey<'t>, Vec<&'t Trial>)> {
    let mut rows = Vec::from_iter(by_row(trials));
    rows.sort_by_key(|(key, _)| place(question, *key));
    rows
}

fn place(question: &Question, (server, levels): RowKey) -> Vec<usize> {
    let at = |names: &[String], name: &str| {
        let place = names.iter().position(|known| known == name);
        place.unwrap_or(names.len())
    };
    let level = |factor: &record::run::Factor| {
        let level = levels.iter().find(|(name, _)| *name == factor.name);
        level.map_or(factor.levels.len(), |(_, level)| at(&factor.levels, level))
    };
    let server = server.map(|server| at(&question.servers, server));
    question.factors.iter().map(level).chain(server).collect()
}

fn row(question: &Question, (server, levels): RowKey, trials: &[&Trial]) -> Row {
    let mut done = trials.to_vec();
    done.retain(|trial| trial.state == TrialState::Done);
    let rounds = (0..question.rounds.len()).map(|n| round(question, n, &done));
    let rounds: Vec<RoundCell> = rounds.collect();
    let empty = rounds.iter().all(|round| round.elapsed_s.is_none());
    let missing = empty.then(|| why_missing(trials));
    Row {
        server: server.map(String::from),
        levels: levels.to_vec(),
        rounds,
        missing,
    }
}

/// The rounds of its name are counted, because a level may leave out earlier rounds of another name.
fn round<'t>(question: &Question, n: usize, done: &[&'t Trial]) -> RoundCell {
    let name = &question.rounds[n];
    let same = question.rounds[..=n].iter().filter(|other| *other == name);
    let index = same.count() as u32;
    let of_trial = |trial: &&'t Trial| {
        let mut called = trial.rounds.iter().filter(|round| round.is_called(name));
        called.nth(index as usize - 1)
    };
    let recorded: Vec<&Round> = done.iter().filter_map(of_trial).collect();
    let whole = recorded.iter().filter(|round| !round.lacks_queries());
    let times: Vec<(f64, bool)> = whole
        .map(|round| (round.elapsed_s, round.timed_out()))
        .collect();
    let lukewarm = recorded.iter().any(|round| round.name == "lukewarm");
    RoundCell {
        name: name.clone(),
        index,
        elapsed_s: Estimate::of_bounds(&times),
        lukewarm,
    }
}

pub(crate) fn why_missing(trials: &[&Trial]) -> String {
    let unused = trials.iter().find(|trial| trial.state != TrialState::Done);
    let flagged = trials.iter().flat_map(|trial| &trial.flags).next();
    match (unused, flagged) {
        (Some(trial), _) => why_it_does_not_count(trial),
        (None, Some(flag)) => flag.text.clone(),
        (None, None) => "nothing was measured".to_string(),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct QueryRow {
    pub query: String,
    /// Of cold rounds, or of lukewarm ones where these stand for them.
    pub cold_s: Option<Estimate>,
    /// The mean of a trial's hot rounds.
    pub hot_s: Option<Estimate>,
}

/// The queries of one row, in the workload's order. Failed queries have no time; those that reached the time limit have a lower bound.
pub fn queries(
    question: &Question,
    trials: &[Trial],
    server: Option<&str>,
    levels: &[(String, String)],
) -> Vec<QueryRow> {
    let counts =
        |trial: &&Trial| trial.state == TrialState::Done && row_key(&trial.key) == (server, levels);
    let done: Vec<&Trial> = trials.iter().filter(counts).collect();
    let times = |query: &str, names: &[&str]| {
        let means = done.iter();
        let means = means.filter_map(|trial| query_mean_s(trial, query, names));
        Estimate::of_bounds(&means.collect::<Vec<_>>())
    };
    let row = |query: &String| QueryRow {
        query: query.clone(),
        cold_s: times(query, &["cold", "lukewarm"]),
        hot_s: times(query, &["hot"]),
    };
    question.workload.operations.iter().map(row).collect()
}

/// With whether it is a lower bound.
fn query_mean_s(trial: &Trial, query: &str, rounds: &[&str]) -> Option<(f64, bool)> {
    let is_selected = |round: &&Round| rounds.contains(&round.name.as_str());
    let rounds = trial.rounds.iter().filter(is_selected);
    let queries = rounds.flat_map(|round| &round.queries);
    let times: Vec<(f64, bool)> = queries
        .filter(|q| q.name == query && (q.error.is_none() || q.timed_out_s().is_some()))
        .map(|q| (q.elapsed_ns as f64 / 1e9, q.timed_out_s().is_some()))
        .collect();
    let sum_s: f64 = times.iter().map(|(seconds, _)| seconds).sum();
    let timed_out = times.iter().any(|(_, timed_out)| *timed_out);
    (!times.is_empty()).then(|| (sum_s / times.len() as f64, timed_out))
}
