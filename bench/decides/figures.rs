//! The arithmetic of the proof: means, spreads and their intervals.
//!
//! All values are logarithms of ratios, one per block. Its tests are in `tests/decides.rs`, since a bench has none of its own.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// Squared deviations from the mean of their own run, over several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub squares: f64,
    pub freedom: f64,
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl Spread {
    pub(crate) fn of<'v>(runs: impl IntoIterator<Item = &'v [f64]>) -> Spread {
        runs.into_iter().fold(Spread::default(), |all, values| {
            let mean = mean(values);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            Spread {
                squares: all.squares + squares,
                freedom: all.freedom + values.len().saturating_sub(1) as f64,
            }
        })
    }

    /// None without two values of one run.
    pub(crate) fn sd(self) -> Option<f64> {
        (self.freedom > 0.0).then(|| (self.squares / self.freedom).sqrt())
    }

    /// How many times as large as `other`'s the standard deviation is; the interval by the F distribution.
    pub(crate) fn factor(self, other: Spread) -> Option<Known> {
        let value = self.sd()? / other.sd()?;
        let quantile = |above: f64, below: f64| {
            let f = FisherSnedecor::new(above, below).expect("degrees of freedom above 0");
            f.inverse_cdf(0.975)
        };
        Some(Known {
            value,
            low: value / quantile(self.freedom, other.freedom).sqrt(),
            high: value * quantile(other.freedom, self.freedom).sqrt(),
        })
    }
}

/// The ratio of two cells: the geometric mean over blocks, by Student's t. None with fewer than two blocks.
pub(crate) fn ratio(blocks: &[f64]) -> Option<Known> {
    let sd = Spread::of([blocks]).sd()?;
    let count = blocks.len() as f64;
    Some(known(mean(blocks), sd / count.sqrt(), count - 1.0))
}

/// The ratio of two ratios that were measured apart: Welch, "The generalization of Student's problem", Biometrika, 1947. None if one of
/// them has fewer than two blocks, or neither varies.
pub(crate) fn ratio_of_ratios(of: &[f64], to: &[f64]) -> Option<Known> {
    let part = |blocks: &[f64]| {
        let variance = Spread::of([blocks]).sd()?.powi(2);
        Some((variance / blocks.len() as f64, blocks.len() as f64 - 1.0))
    };
    let ((own, own_freedom), (other, other_freedom)) = (part(of)?, part(to)?);
    let variance = own + other;
    let freedom = variance.powi(2) / (own.powi(2) / own_freedom + other.powi(2) / other_freedom);
    (variance > 0.0).then(|| known(mean(of) - mean(to), variance.sqrt(), freedom))
}

/// The time of a server's requests until it burned time for each, and what it burned (planted.c), in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub cycles: f64,
    pub burned: f64,
}

/// The ratio of the first server's throughput to the second's, by what both burned between two readings.
pub(crate) fn planted(before: [Account; 2], after: [Account; 2]) -> f64 {
    let longer = |server: usize| {
        let burned = after[server].burned - before[server].burned;
        1.0 + burned / (after[server].cycles - before[server].cycles)
    };
    longer(1) / longer(0)
}

fn known(mean: f64, error: f64, freedom: f64) -> Known {
    let t = StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom above 0");
    let half = t.inverse_cdf(0.975) * error;
    Known {
        value: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
    }
}

impl Known {
    pub(crate) fn holds(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether the whole interval is within this share of 1.
    pub(crate) fn is_within(self, share: f64) -> bool {
        self.low >= 1.0 - share && self.high <= 1.0 + share
    }
}

impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:.3} ({:.3} to {:.3})", self.value, self.low, self.high)
    }
}
