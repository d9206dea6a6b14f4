//! The best number of workers at a rate: the one with the lowest p99 latency.

use super::holm;
use super::loads::Counted;
use super::ratio::{CONFIDENCE, LogMean};
use super::series_of::{SeriesOf, paired, series_of};
use super::table::Estimate;
use crate::claim::Percentile;
use crate::load::{Kind, Mode};
use crate::run::Question;
use crate::trial::Trial;

#[derive(Clone, Debug, PartialEq)]
pub struct BestWorkers {
    pub server: Option<String>,
    /// Without the factor `workers`.
    pub levels: Vec<(String, String)>,
    /// p99 latency (ms) by the number of workers; none if a block was unstable or had too few operations.
    pub points: Vec<(u32, Option<Estimate>)>,
    /// The number with the lowest p99; none if no number was stable.
    pub best: Option<u32>,
    /// Other numbers that are not certainly worse (paired by block, Holm over all of them). With one block nothing is
    /// certain, so all are here.
    pub ties: Vec<u32>,
    /// Numbers at which a block was unstable.
    pub unstable: Vec<u32>,
}

/// One for each row of open loads without their number of workers, in the order of `table`.
pub fn best_workers(question: &Question, trials: &[Trial]) -> Vec<BestWorkers> {
    let workers = |mode: &Mode| match mode {
        Mode::Open { workers, .. } => Some(*workers),
        Mode::Closed { .. } => None,
    };
    series_of(question, trials, "workers", workers)
        .into_iter()
        .map(best)
        .collect()
}

fn p99(counted: &Counted) -> Option<f64> {
    counted
        .summary
        .latency
        .of(Kind::Response)?
        .at(Percentile::P99)
}

fn unstable(counted: &Counted) -> bool {
    let offered = counted.summary.offered.as_ref();
    offered.is_some_and(|offered| offered.unstable.is_some())
}

fn best(series: SeriesOf) -> BestWorkers {
    let estimate = |counted: &Vec<Counted>| {
        let values: Option<Vec<f64>> = counted.iter().map(p99).collect();
        Estimate::of(&values?)
    };
    let points: Vec<(u32, Option<Estimate>)> = (series.points.iter())
        .map(|(workers, counted)| (*workers, estimate(counted)))
        .collect();
    let known = points
        .iter()
        .filter_map(|(n, p99)| Some((*n, p99.as_ref()?.mean)));
    let best = known
        .clone()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(n, _)| n);
    let others: Vec<u32> = known.map(|(n, _)| n).filter(|n| Some(*n) != best).collect();
    BestWorkers {
        ties: best.map_or_else(Vec::new, |best| ties(&series, best, &others)),
        unstable: (series.points.iter())
            .filter(|(_, counted)| counted.iter().any(unstable))
            .map(|(workers, _)| *workers)
            .collect(),
        server: series.server,
        levels: series.levels,
        points,
        best,
    }
}

fn ties(series: &SeriesOf, best: u32, others: &[u32]) -> Vec<u32> {
    let p = |other: &u32| {
        let (of, to) = paired(&series.points[other], &series.points[&best], p99);
        LogMean::of_ratios(&of, &to).map_or(1.0, |ratio| ratio.p_above(1.0))
    };
    let p_values: Vec<f64> = others.iter().map(p).collect();
    let worse = holm::rejected(&p_values, 1.0 - CONFIDENCE);
    let tied = others.iter().zip(worse).filter(|(_, worse)| !worse);
    tied.map(|(other, _)| *other).collect()
}
