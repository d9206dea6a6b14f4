//! Which keys are asked for how often.
//!
//! Goal: samplers that are pure functions of a random stream, both ends of their range included. Non-goal: scattering: frequent keys
//! lie side by side, as sysbench has them, so that they share pages.

use super::random::{Random, below, unit};
use rand_distr::{Distribution as _, StandardNormal, Zipf};

/// How keys are distributed over a range of `n` of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    Uniform,
    /// The key of rank r, counted from the low end, is asked for in proportion to r^-exponent.
    Zipfian {
        exponent: f64,
    },
    /// A bell over the middle with a standard deviation of n/12: the mean of twelve uniform numbers has it.
    Gaussian,
    /// The lowest `share` of the keys, and again the lowest `share` of those, gets 1 - `share` of what the larger set gets: u^p n with
    /// p = ln share / ln (1 - share), sysbench's form. 0.2 is "80 % to 20 %".
    Pareto {
        share: f64,
    },
    /// Three quarters of all go evenly to the middle hundredth, the rest as `Gaussian`: what sysbench 1.0 calls special. (There the
    /// lowest quarter of that hundredth gets nothing, since one number both chooses the kind and the key.)
    Special,
    /// `Zipfian` from the high end: the keys that were inserted last are the most frequent.
    Latest {
        exponent: f64,
    },
}

/// A distribution over whole numbers.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    first: i64,
    count: u64,
    shape: Shape,
}

/// What is needed to draw, computed once.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Uniform,
    /// By rejection from a continuous hat, see `rand_distr::Zipf`: exact, at any exponent and any number of keys.
    Zipfian(Zipf<f64>),
    Gaussian,
    Pareto {
        power: f64,
    },
    Special {
        hot_first: u64,
        hot_count: u64,
    },
    Latest(Zipf<f64>),
}

impl Keys {
    /// Keys from `first` to `last`.
    ///
    /// # Panics
    /// When the range is empty or has 2^53 numbers or more, an exponent is below 0 or not finite, or a share is not between 0 and 1.
    pub fn new(distribution: Distribution, first: i64, last: i64) -> Keys {
        assert!(first <= last, "keys from {first} to {last}");
        let count = last.abs_diff(first) + 1;
        assert!(count < 1 << 53, "{count} keys");
        let zipf = |exponent: f64| {
            assert!(
                exponent >= 0.0 && exponent.is_finite(),
                "exponent {exponent}"
            );
            Zipf::new(count as f64, exponent)
                .expect("at least one key, and an exponent of 0 or more")
        };
        let shape = match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Zipfian { exponent } => Shape::Zipfian(zipf(exponent)),
            Distribution::Gaussian => Shape::Gaussian,
            Distribution::Pareto { share } => {
                assert!(share > 0.0 && share < 1.0, "share {share}");
                Shape::Pareto {
                    power: share.ln() / (1.0 - share).ln(),
                }
            }
            Distribution::Special => {
                let hot_count = (count / 100).max(1);
                Shape::Special {
                    hot_first: (count - hot_count) / 2,
                    hot_count,
                }
            }
            Distribution::Latest { exponent } => Shape::Latest(zipf(exponent)),
        };
        Keys {
            first,
            count,
            shape,
        }
    }

    /// The next key.
    #[inline(always)]
    pub fn draw(&self, random: &mut Random) -> i64 {
        let offset = match &self.shape {
            Shape::Uniform => below(random, self.count),
            skewed => skewed.draw(self.count, random),
        };
        self.first.wrapping_add(offset as i64)
    }
}

impl Shape {
    #[inline(never)]
    fn draw(&self, count: u64, random: &mut Random) -> u64 {
        match self {
            Shape::Uniform => below(random, count),
            Shape::Zipfian(zipf) => rank(zipf, count, random),
            Shape::Latest(zipf) => count - 1 - rank(zipf, count, random),
            Shape::Gaussian => bell(count, random),
            // A product of numbers below `count` can still be rounded up to it.
            Shape::Pareto { power } => {
                ((count as f64 * unit(random).powf(*power)) as u64).min(count - 1)
            }
            Shape::Special {
                hot_first,
                hot_count,
            } => match below(random, 4) {
                0 => bell(count, random),
                _ => hot_first + below(random, *hot_count),
            },
        }
    }
}

/// From 0.
fn rank(zipf: &Zipf<f64>, count: u64, random: &mut Random) -> u64 {
    (zipf.sample(random) as u64).clamp(1, count) - 1
}

/// Beyond six standard deviations, twice in a thousand million, it is drawn again.
fn bell(count: u64, random: &mut Random) -> u64 {
    let n = count as f64;
    loop {
        let deviation: f64 = StandardNormal.sample(random);
        let place = n * (0.5 + deviation / 12.0);
        if (0.0..n).contains(&place) {
            return place as u64;
        }
    }
}

#[cfg(test)]
mod tests;
