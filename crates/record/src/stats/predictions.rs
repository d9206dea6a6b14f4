//! Predicted beside measured response times, for each row of an open load.

use super::loads::{Counted, LoadRow, counted, loads};
use super::queueing::{Gaps, Predicted, Queue, predict};
use super::summary::measured;
use super::table::rows;
use crate::claim::Percentile;
use crate::histogram::merged;
use crate::load::{Kind, Mode};
use crate::run::Question;
use crate::trial::Trial;
use hdrhistogram::Histogram;

#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub server: String,
    pub levels: Vec<(String, String)>,
    pub workers: u32,
    /// Arrivals a second as measured.
    pub rate: f64,
    /// Or why there is no model.
    pub predicted: Result<Predicted, String>,
    /// The geometric means over blocks of the measured percentiles, milliseconds; none where a block was unstable.
    pub measured_ms: Vec<(Percentile, f64)>,
}

impl Prediction {
    /// Measured over predicted, less 1: 0.2 where it took a fifth longer than the queue explains.
    pub fn deviation(&self, percentile: Percentile) -> Option<f64> {
        let predicted = self.predicted.as_ref().ok()?.response.as_ref()?;
        let (_, measured) = self.measured_ms.iter().find(|(p, _)| *p == percentile)?;
        Some(measured / predicted.at(percentile)? - 1.0)
    }
}

/// One per row of open loads, from whole trials (`Store::trials_whole`), in the order of `table`. The service times of all
/// blocks are taken together; the same seed gives the same figures.
pub fn predictions(question: &Question, trials: &[Trial], seed: u64) -> Vec<Prediction> {
    let loads = loads(question, trials);
    rows(question, trials)
        .into_iter()
        .filter_map(|(key, trials)| {
            let own = |row: &&LoadRow| (row.server.as_str(), row.levels.as_slice()) == key;
            prediction(loads.iter().find(own)?, &counted(&trials), seed)
        })
        .collect()
}

/// None in closed loop and where nothing was measured.
fn prediction(row: &LoadRow, counted: &[Counted], seed: u64) -> Option<Prediction> {
    let Some(Mode::Open {
        arrivals, workers, ..
    }) = &row.mode
    else {
        return None;
    };
    let rate = row.offered.as_ref()?.mean;
    let ms = |p: Percentile| Some((p, row.latency.of(Kind::Response, p)?.mean));
    Some(Prediction {
        server: row.server.clone(),
        levels: row.levels.clone(),
        workers: *workers,
        rate,
        predicted: modelled(arrivals, *workers, rate, service(counted), seed),
        measured_ms: Percentile::ALL.into_iter().filter_map(ms).collect(),
    })
}

/// Of the measured parts of all trials, in nanoseconds.
fn service(counted: &[Counted]) -> Option<Histogram<u64>> {
    let notes = counted
        .iter()
        .flat_map(|c| measured(c.load, &c.summary.steady, None, Kind::Service));
    merged(notes.map(|note| &note.nanoseconds))
}

fn modelled(
    arrivals: &str,
    workers: u32,
    rate: f64,
    service_ns: Option<Histogram<u64>>,
    seed: u64,
) -> Result<Predicted, String> {
    let gaps = Gaps::named(arrivals).ok_or_else(|| {
        format!(
            "{arrivals}: only Poisson and uniform arrivals make a queue that has a steady state"
        )
    })?;
    let service_ns = &service_ns.ok_or("no service times were recorded in the measured part")?;
    let queue = Queue {
        workers,
        rate,
        gaps,
        service_ns,
    };
    predict(&queue, seed).ok_or_else(|| "there are no workers".to_string())
}
