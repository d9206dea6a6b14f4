//! The matrix of timed loads: rows of servers and levels, throughput and latency across.

use super::table::{rows, why_missing};
use crate::inference::estimate::Estimate;
use crate::load::summary::summary;
use crate::values::cells::row_key;
use crate::values::resolution;
use record::Summary;
use record::claim::Percentile;
use record::load::{LatencyKind, Loaded, Mode};
use record::run::Question;
use record::trial::{Trial, TrialState};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq)]
pub struct LoadRow {
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    /// As in the first trial of the row.
    pub mode: Option<Mode>,
    /// Throughput (operations/s) over the measured part.
    pub throughput: Option<Estimate>,
    /// Operations per second that the benchmark's standard counts; None without a standard.
    pub counted: Option<Estimate>,
    /// Empty where a block was unstable: dropping it would bias the result.
    pub latency: LatencyEstimates,
    /// The mean response (ms); none where a block was unstable or has none.
    pub average: Option<Estimate>,
    /// Requests per second; open loop only.
    pub offered: Option<Estimate>,
    /// By block, from 0: `unstable: the queue grows by 412 requests/s`.
    pub unstable: Vec<(u32, String)>,
    /// Why there is no figure.
    pub missing: Option<String>,
}

/// Latency (ms) by kind and percentile, if every block of the row has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyEstimates {
    estimates: BTreeMap<(LatencyKind, Percentile), Estimate>,
    uncertain: BTreeSet<(LatencyKind, Percentile)>,
}

impl LatencyEstimates {
    /// In milliseconds.
    pub fn of(&self, kind: LatencyKind, percentile: Percentile) -> Option<&Estimate> {
        self.estimates.get(&(kind, percentile))
    }

    /// Whether a block has few samples above the percentile, or from few seconds (rule 4).
    pub fn is_uncertain(&self, kind: LatencyKind, percentile: Percentile) -> bool {
        self.uncertain.contains(&(kind, percentile))
    }
}

/// Every row that has a trial of a timed load, in the order of `table`.
pub fn loads(question: &Question, trials: &[Trial]) -> Vec<LoadRow> {
    rows(question, trials)
        .into_iter()
        .filter(|(_, trials)| trials.iter().any(|trial| trial.load.is_some()))
        .map(|(_, trials)| row(&trials))
        .collect()
}

/// One trial that counts, with its summary.
pub(crate) struct Counted<'t> {
    pub(crate) trial: &'t Trial,
    pub(crate) load: &'t Loaded,
    pub(crate) summary: Cow<'t, Summary>,
}

pub(crate) fn counted<'t>(trials: &[&'t Trial]) -> Vec<Counted<'t>> {
    let mut counted = with_load(trials);
    counted.retain(|one| one.trial.state == TrialState::Done);
    counted
}

/// The same of all trials that have a load, valid or not.
pub(crate) fn with_load<'t>(trials: &[&'t Trial]) -> Vec<Counted<'t>> {
    let counted = |trial: &&'t Trial| {
        let load = trial.load.as_deref()?;
        Some(Counted {
            trial,
            load,
            summary: summary(load),
        })
    };
    trials.iter().filter_map(counted).collect()
}

/// The mean over loads of the rounding of their throughput.
pub(crate) fn known_to(loads: &[Counted]) -> f64 {
    let each = loads.iter();
    let steps = each.map(|one| resolution::throughput(one.load, &one.summary));
    steps.sum::<f64>() / loads.len().max(1) as f64
}

fn row(trials: &[&Trial]) -> LoadRow {
    let (server, levels) = row_key(&trials[0].key);
    let counted = counted(trials);
    let estimate = |of: &dyn Fn(&Summary) -> Option<f64>| {
        let values: Vec<f64> = counted.iter().filter_map(|c| of(&c.summary)).collect();
        Estimate::of(&values)
    };
    let known_to = known_to(&counted);
    let throughput = estimate(&|summary| summary.throughput).map(|found| found.known_to(known_to));
    LoadRow {
        server: server.map(String::from),
        levels: levels.to_vec(),
        mode: trials
            .iter()
            .find_map(|t| Some(t.load.as_ref()?.mode.clone())),
        counted: estimate(&|summary| summary.conformance.as_ref()?.rate),
        latency: latency(&counted),
        average: average(&counted),
        offered: estimate(&|summary| Some(summary.offered.as_ref()?.offered)),
        unstable: counted.iter().filter_map(unstable).collect(),
        missing: throughput.is_none().then(|| {
            let first = counted.first();
            first.map_or_else(|| why_missing(trials), why_nothing_is_left)
        }),
        throughput,
    }
}

fn unstable(counted: &Counted) -> Option<(u32, String)> {
    let why = counted.summary.unstable()?;
    Some((counted.trial.key.block, why.to_string()))
}

/// The reason why a counted trial has no measured part.
fn why_nothing_is_left(counted: &Counted) -> String {
    let reason = &counted.summary.steady.reason;
    match &counted.load.engine.stopped {
        Some(why) => format!("{reason} ({why})"),
        None => reason.clone(),
    }
}

fn average(counted: &[Counted]) -> Option<Estimate> {
    let mean = |one: &Counted| Some(one.summary.latency.of(LatencyKind::Response)?.mean_ms);
    Estimate::of_all(counted.iter().map(mean))
}

fn latency(counted: &[Counted]) -> LatencyEstimates {
    let estimate = |(kind, percentile): (LatencyKind, Percentile)| {
        let value = |one: &Counted| one.summary.latency.of(kind)?.at(percentile);
        let found = Estimate::of_all(counted.iter().map(value))?;
        Some(((kind, percentile), found))
    };
    let is_uncertain = |(kind, percentile): &(LatencyKind, Percentile)| {
        let mut of_blocks = counted.iter().filter_map(|c| c.summary.latency.of(*kind));
        of_blocks.any(|one| one.is_uncertain(*percentile))
    };
    let each = || {
        let kinds = LatencyKind::NAMED.into_iter();
        kinds.flat_map(|(_, kind)| Percentile::ALL.map(|percentile| (kind, percentile)))
    };
    LatencyEstimates {
        estimates: each().filter_map(estimate).collect(),
        uncertain: each().filter(is_uncertain).collect(),
    }
}
