//! The mean of a value over blocks, with its interval: each figure of a table.

use super::ratio::LogMean;

/// The arithmetic mean; None without a value.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A value over blocks: a time (s), a throughput (ops/s) or a latency (ms).
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The geometric mean, 0 where one of the values is; of counters the arithmetic mean.
    pub mean: f64,
    /// The 95 % t interval on logarithms; none with fewer than two blocks, or with a value of 0.
    pub ci: Option<(f64, f64)>,
    pub min: f64,
    pub max: f64,
    pub blocks: u32,
    /// Of each block.
    pub values: Vec<f64>,
    /// A lower bound, without an interval: a query reached the time limit.
    pub at_least: bool,
}

impl Estimate {
    /// Of values of which some are lower bounds: their mean is one.
    pub(crate) fn of_bounds(times: &[(f64, bool)]) -> Option<Estimate> {
        let values: Vec<f64> = times.iter().map(|(seconds, _)| *seconds).collect();
        let estimate = Estimate::of(&values)?;
        let at_least = times.iter().any(|(_, timed_out)| *timed_out);
        Some(Estimate {
            ci: estimate.ci.filter(|_| !at_least),
            at_least,
            ..estimate
        })
    }

    /// Of a counter, of which a block may have none: the arithmetic mean. The interval is the one of times, where every block
    /// has some.
    pub(crate) fn of_counts(values: &[f64]) -> Option<Estimate> {
        let estimate = Estimate::of(values)?;
        Some(Estimate {
            mean: mean(values)?,
            ..estimate
        })
    }

    /// None where a block has no value: dropping it would bias the mean.
    pub(crate) fn of_all(values: impl Iterator<Item = Option<f64>>) -> Option<Estimate> {
        Estimate::of(&values.collect::<Option<Vec<f64>>>()?)
    }

    /// With an interval that is no narrower than the rounding of the values, a difference of logarithms.
    pub(crate) fn known_to(self, known_to: f64) -> Estimate {
        let (least, most) = (self.mean * (-known_to).exp(), self.mean * known_to.exp());
        let widened = |(low, high): (f64, f64)| (low.min(least), high.max(most));
        Estimate {
            ci: self.ci.map(widened),
            ..self
        }
    }

    pub(crate) fn of(values: &[f64]) -> Option<Estimate> {
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(0.0, f64::max);
        let (mean, ci, count) = if min == 0.0 {
            (0.0, None, values.len())
        } else {
            let mean = LogMean::of(values)?;
            (mean.geometric(), mean.ci(), mean.count)
        };
        Some(Estimate {
            mean,
            ci,
            min,
            max,
            blocks: count as u32,
            values: values.to_vec(),
            at_least: false,
        })
    }
}
