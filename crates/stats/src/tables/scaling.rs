//! Throughput against the number of clients, compared with one client.

use super::loads::{self, Counted};
use super::series_of::{ByBlock, SeriesOf, paired, series_of};
use crate::inference::estimate::Estimate;
use crate::inference::ratio::LogMean;
use record::load::Mode;
use record::run::Question;
use record::trial::Trial;

#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    pub server: Option<String>,
    /// Without the factor `clients`.
    pub levels: Vec<(String, String)>,
    pub points: Vec<ScalingPoint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScalingPoint {
    pub clients: u32,
    /// Throughput (operations/s); none where nothing was measured.
    pub throughput: Option<Estimate>,
    /// The throughput over that of one client, paired by block, with its interval over blocks (none with fewer than two). None
    /// where one client was not measured, or nothing was done in a block.
    pub factor: Option<(f64, Option<(f64, f64)>)>,
}

/// One for each row of closed loads without their number of clients, in the order of `table`.
pub fn scaling(question: &Question, trials: &[Trial]) -> Vec<Scaling> {
    let clients = |mode: &Mode| match mode {
        Mode::Closed { clients, .. } => Some(*clients),
        Mode::Open { .. } => None,
    };
    let series = series_of(question, trials, "clients", clients);
    series.into_iter().map(scaled).collect()
}

fn throughput(counted: &Counted) -> Option<f64> {
    counted.summary.throughput
}

fn by_block(counted: &[Counted]) -> ByBlock {
    let value = |one: &Counted| Some((one.trial.key.block, throughput(one)?));
    counted.iter().filter_map(value).collect()
}

fn scaled(series: SeriesOf) -> Scaling {
    let one = series.points.get(&1);
    let by_block_of_one = one.map(|one| by_block(one)).unwrap_or_default();
    let point = |(clients, counted): (&u32, &Vec<Counted>)| {
        let (of, to) = paired(&by_block(counted), &by_block_of_one);
        let values: Vec<f64> = counted.iter().filter_map(throughput).collect();
        let something_done = of.iter().chain(&to).all(|throughput| *throughput > 0.0);
        let ratio = LogMean::of_ratios(&of, &to).filter(|_| something_done);
        let known_to = loads::known_to(counted);
        let of_one = one.map_or(0.0, |one| loads::known_to(one));
        let ratio = ratio.map(|ratio| ratio.known_to(known_to + of_one));
        ScalingPoint {
            clients: *clients,
            throughput: Estimate::of(&values).map(|found| found.known_to(known_to)),
            factor: ratio.map(|ratio| (ratio.geometric(), ratio.ci())),
        }
    };
    Scaling {
        points: series.points.iter().map(point).collect(),
        server: series.server,
        levels: series.levels,
    }
}
