//! Predicted beside measured response times, for each row of an open load.

use super::loads::counted;
use super::queueing::{Gaps, Predicted, Queue, predict};
use super::summary::measured;
use super::table::rows;
use crate::claim::Percentile;
use crate::histogram::merged;
use crate::load::{Kind, Mode};
use crate::run::Question;
use crate::trial::Trial;

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
    let loads = super::loads(question, trials);
    rows(question, trials)
        .into_iter()
        .filter_map(|((server, levels), trials)| {
            let counted = counted(&trials);
            let Mode::Open {
                arrivals, workers, ..
            } = &counted.first()?.load.mode
            else {
                return None;
            };
            let row = loads
                .iter()
                .find(|row| row.server == server && row.levels == levels)?;
            let rate = row.offered.as_ref()?.mean;
            let service = merged(counted.iter().flat_map(|c| {
                let notes = measured(c.load, &c.summary.steady, None, Kind::Service);
                notes.into_iter().map(|note| &note.nanoseconds)
            }));
            let model = || {
                let gaps = Gaps::named(arrivals).ok_or_else(|| {
                    format!("no stationary queue has arrivals of the kind {arrivals}")
                })?;
                let service_ns = service.as_ref().ok_or("no service times were recorded")?;
                let queue = Queue {
                    workers: *workers,
                    rate,
                    gaps,
                    service_ns,
                };
                predict(&queue, seed).ok_or_else(|| "no worker served anything".to_string())
            };
            let ms = |p: Percentile| Some((p, row.latency.of(Kind::Response, p)?.mean));
            Some(Prediction {
                server: server.to_string(),
                levels: levels.to_vec(),
                workers: *workers,
                rate,
                predicted: model(),
                measured_ms: Percentile::ALL.into_iter().filter_map(ms).collect(),
            })
        })
        .collect()
}
