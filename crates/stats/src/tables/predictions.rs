//! Predicted and measured latency of each row of an open load.
//!
//! Purpose: pair both per block, so that their ratio has an interval over blocks (rules 1 and 2). Boundary: the model is in
//! `queueing`.

use super::loads::{Counted, counted};
use super::queueing::{Gaps, Predicted, Queue, predict};
use super::table::rows;
use crate::inference::estimate::{Estimate, mean};
use crate::inference::ratio::LogMean;
use crate::load::measured::measured;
use hdrhistogram::Histogram;
use record::Percentiles;
use record::histogram::merged;
use record::load::{Arrivals, LatencyKind, Mode};
use record::run::Question;
use record::trial::Trial;

/// From this utilisation on the mean wait of a simulation has a standard error of more than 5 %: of M/M/1 over 500,000
/// arrivals it is 3 % at 0.9, 6 % at 0.95 and 14 % at 0.98, by the asymptotic variance (Whitt, "Planning queueing
/// simulations", Management Science 35, 1989).
const UNCERTAIN_FROM: f64 = 0.95;

#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    pub workers: u32,
    /// Those that count; at least one.
    pub blocks: Vec<PredictedBlock>,
}

/// A block by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedBlock {
    /// From 0.
    pub block: u32,
    /// Measured requests per second.
    pub rate: f64,
    /// Or why there is no model.
    pub predicted: Result<Predicted, String>,
    /// The response; none where the load was unstable.
    pub measured: Option<Percentiles>,
}

impl PredictedBlock {
    fn model(&self) -> Option<&Predicted> {
        self.predicted.as_ref().ok()
    }

    fn response(&self) -> Option<&Percentiles> {
        self.model()?.response.as_ref()
    }
}

impl Prediction {
    /// Why there is no model, of the first block that has none.
    pub fn no_model(&self) -> Option<&str> {
        let blocks = self.blocks.iter();
        let mut reasons = blocks.filter_map(|block| block.predicted.as_ref().err());
        reasons.next().map(String::as_str)
    }

    /// The share of the workers' time that service takes, the mean over blocks; none where there is no model.
    pub fn utilisation(&self) -> Option<f64> {
        let all = self.over_blocks(|block| Some(block.model()?.utilisation))?;
        mean(&all)
    }

    /// Whether the simulation of one block at least has an error that matters.
    pub fn is_uncertain(&self) -> bool {
        let mut models = self.blocks.iter().filter_map(PredictedBlock::model);
        models.any(|model| (UNCERTAIN_FROM..1.0).contains(&model.utilisation))
    }

    /// Of how many blocks the model's queue grows.
    pub fn growing(&self) -> usize {
        let models = self.blocks.iter().filter_map(PredictedBlock::model);
        models.filter(|model| model.response.is_none()).count()
    }

    /// The mean response by the formula, milliseconds; none where one block has none.
    pub fn formula_ms(&self) -> Option<Estimate> {
        Estimate::of(&self.over_blocks(|block| block.model()?.mean_ms)?)
    }

    /// A figure of the simulated response, milliseconds; none where one block has none.
    pub fn simulated_ms(&self, of: impl Fn(&Percentiles) -> Option<f64>) -> Option<Estimate> {
        Estimate::of(&self.over_blocks(|block| of(block.response()?))?)
    }

    /// The same figure of the measured response.
    pub fn measured_ms(&self, of: impl Fn(&Percentiles) -> Option<f64>) -> Option<Estimate> {
        Estimate::of(&self.over_blocks(|block| of(block.measured.as_ref()?))?)
    }

    /// Measured over simulated, paired by block, with its 95 % interval (none with fewer than two blocks): 1.2 where it took
    /// a fifth longer than the queue explains.
    pub fn ratio(
        &self,
        of: impl Fn(&Percentiles) -> Option<f64>,
    ) -> Option<(f64, Option<(f64, f64)>)> {
        let measured = self.over_blocks(|block| of(block.measured.as_ref()?))?;
        let simulated = self.over_blocks(|block| of(block.response()?))?;
        let ratio = LogMean::of_ratios(&measured, &simulated)?;
        Some((ratio.geometric(), ratio.ci()))
    }

    /// None where one block has none: dropping it would bias the result.
    fn over_blocks(&self, of: impl Fn(&PredictedBlock) -> Option<f64>) -> Option<Vec<f64>> {
        self.blocks.iter().map(of).collect()
    }
}

/// One per row of open loads, from whole trials (`Store::trials_whole`), in the order of `table`. The same seed gives the
/// same figures.
pub fn predictions(question: &Question, trials: &[Trial], seed: u64) -> Vec<Prediction> {
    rows(question, trials)
        .into_iter()
        .filter_map(|((server, levels), trials)| {
            let counted = counted(&trials);
            let Mode::Open { workers, .. } = counted.first()?.load.mode else {
                return None;
            };
            let blocks: Vec<PredictedBlock> =
                counted.iter().filter_map(|c| block(c, seed)).collect();
            (!blocks.is_empty()).then(|| Prediction {
                server: server.map(String::from),
                levels: levels.to_vec(),
                workers,
                blocks,
            })
        })
        .collect()
}

/// None in closed loop, and where nothing arrived.
fn block(counted: &Counted, seed: u64) -> Option<PredictedBlock> {
    let Mode::Open {
        arrivals, workers, ..
    } = &counted.load.mode
    else {
        return None;
    };
    let offered = counted.summary.offered.as_ref()?;
    let rate = Some(offered.offered).filter(|rate| *rate > 0.0)?;
    let block = counted.trial.key.block;
    // Each block draws its own arrivals, so that the interval over blocks includes the simulation's error.
    let seed = seed.wrapping_add(u64::from(block));
    Some(PredictedBlock {
        block,
        rate,
        predicted: modelled(arrivals, *workers, rate, service(counted), seed),
        measured: counted.summary.latency.response.clone(),
    })
}

/// Of the measured part, in nanoseconds.
fn service(counted: &Counted) -> Option<Histogram<u64>> {
    let notes = measured(
        counted.load,
        &counted.summary.steady,
        None,
        LatencyKind::Service,
    );
    merged(notes.into_iter().map(|note| &note.nanoseconds))
}

fn modelled(
    arrivals: &Arrivals,
    workers: u32,
    rate: f64,
    service_ns: Option<Histogram<u64>>,
    seed: u64,
) -> Result<Predicted, String> {
    let gaps = Gaps::from_arrivals(arrivals)
        .ok_or_else(|| format!("no model for {arrivals}: it needs Poisson or uniform arrivals"))?;
    let service_ns = &service_ns.ok_or("no service times were recorded in the measured part")?;
    let queue = Queue {
        workers,
        rate,
        gaps,
        service_ns,
    };
    predict(&queue, seed).ok_or_else(|| "no workers".to_string())
}
