//! What one side of a comparison holds: its counters per operation by block, its plans, its settings, its time.
//!
//! Goal: rounds, single queries and timed loads in one form. Non-goal: comparing two of them (`rank`, `reason`).

use crate::claim::{Cell, RoundSelector};
use crate::stats::cells;
use crate::stats::ratio::LogMean;
use crate::stats::summary::summary;
use crate::trial::{Counters, Query, Round, Trial, TrialState};
use std::collections::{BTreeMap, BTreeSet};

/// What was counted while a number of operations ran: a query, the queries of a round, or a timed load.
pub(super) struct Line<'t> {
    pub(super) counters: &'t Counters,
    /// At least 1.
    pub(super) operations: f64,
    /// Seconds that one operation took; of a timed load the inverse of its throughput.
    elapsed_s: Option<f64>,
}

#[derive(Default)]
pub(super) struct Side<'t> {
    /// By block; never an empty list.
    pub(super) blocks: BTreeMap<u32, Vec<Line<'t>>>,
    /// The texts of the plans that answered.
    pub(super) plans: BTreeSet<&'t str>,
    /// Those that count.
    trials: Vec<&'t Trial>,
    /// Whether its operations ran for a time, and not in rounds.
    pub(super) is_timed: bool,
}

impl<'t> Side<'t> {
    /// The trials of a claim's cell that count.
    pub(super) fn of_cell(trials: &'t [Trial], cell: &Cell) -> Side<'t> {
        let matching = cells::matching(trials, cell);
        Side::of(&matching, cell.round.as_ref(), cell.query.as_deref())
    }

    /// These trials, as far as they count; all rounds without a selector, whole rounds without a query.
    pub(super) fn of(
        trials: &[&'t Trial],
        round: Option<&RoundSelector>,
        query: Option<&str>,
    ) -> Side<'t> {
        let mut side = Side::default();
        for trial in trials
            .iter()
            .filter(|trial| trial.state == TrialState::Done)
        {
            let lines = side.lines(trial, round, query);
            if !lines.is_empty() {
                side.blocks
                    .entry(trial.key.block)
                    .or_default()
                    .extend(lines);
            }
            side.trials.push(trial);
        }
        side
    }

    fn lines(
        &mut self,
        trial: &'t Trial,
        round: Option<&RoundSelector>,
        query: Option<&str>,
    ) -> Vec<Line<'t>> {
        if let Some(load) = &trial.load {
            self.is_timed = true;
            let summary = summary(load);
            let counted = summary.operations_counted > 0;
            let line = counted.then(|| Line {
                counters: &load.counters,
                operations: summary.operations_counted as f64,
                elapsed_s: summary.throughput.map(|throughput| 1.0 / throughput),
            });
            return line.into_iter().collect();
        }
        let rounds = cells::rounds(trial, round);
        let asked = |asked: &&Query| query.is_none_or(|name| name == asked.name);
        let queries = || rounds.iter().flat_map(|round| &round.queries).filter(asked);
        let plans = queries().filter_map(|query| trial.plans.get(query.plan_hash.as_ref()?));
        self.plans.extend(plans.map(String::as_str));
        match query {
            // What ran into the limit was counted only so far.
            Some(_) => {
                let whole = queries().filter(|query| query.error.is_none());
                whole.map(of_query).collect()
            }
            None => {
                let whole = rounds.into_iter().filter(|round| !round.timed_out());
                whole.map(of_round).collect()
            }
        }
    }

    pub(super) fn operations(&self) -> f64 {
        self.lines_of_all().map(|line| line.operations).sum()
    }

    fn lines_of_all(&self) -> impl Iterator<Item = &Line<'t>> {
        self.blocks.values().flatten()
    }

    /// Seconds of one operation: the geometric mean over blocks.
    pub(super) fn elapsed_s(&self) -> Option<f64> {
        let block = |lines: &Vec<Line>| {
            let times: Vec<f64> = lines.iter().filter_map(|line| line.elapsed_s).collect();
            (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
        };
        let means: Vec<f64> = self.blocks.values().filter_map(block).collect();
        Some(LogMean::of(&means)?.geometric())
    }

    /// A counter per operation in each block that has it, by the first of these names that the side has.
    pub(super) fn counter(&self, names: &[&'static str]) -> Option<(&'static str, Vec<f64>)> {
        names.iter().find_map(|name| {
            let values = self.blocks.values().filter_map(|lines| mean(lines, name));
            let values: Vec<f64> = values.collect();
            (!values.is_empty()).then_some((*name, values))
        })
    }

    /// What all its trials ran with; none where they differ or do not say.
    pub(super) fn setting(&self, name: &str) -> Option<&'t str> {
        let mut values = self.trials.iter().map(|trial| trial.settings.get(name));
        let first = values.next()??;
        values.all(|value| value == Some(first)).then_some(first)
    }

    pub(super) fn a_plan_holds(&self, words: &str) -> bool {
        self.plans.iter().any(|plan| plan.contains(words))
    }
}

fn mean(lines: &[Line], name: &str) -> Option<f64> {
    let values: Vec<f64> = lines
        .iter()
        .filter_map(|line| Some(*line.counters.get(name)? as f64 / line.operations))
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn of_round(round: &Round) -> Line<'_> {
    let operations = round.queries.len().max(1) as f64;
    Line {
        counters: &round.counters,
        operations,
        elapsed_s: Some(round.elapsed_s / operations),
    }
}

fn of_query(query: &Query) -> Line<'_> {
    Line {
        counters: &query.counters,
        operations: 1.0,
        elapsed_s: Some(query.elapsed_ns as f64 / 1e9),
    }
}
