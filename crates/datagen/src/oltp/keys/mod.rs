//! Key distributions: how often each key is accessed.
//!
//! Goal: samplers that are pure functions of a random stream, with both ends of the range included. Non-goal: scattering hot keys
//! over the table. They are adjacent, as in sysbench, so they share pages.

use crate::random::{Random, below, unit};
use rand_distr::{Distribution as _, StandardNormal, Zipf};

/// How often each of `n` adjacent keys is accessed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    Uniform,
    /// The key of rank r, counted from the low end, has a frequency proportional to r^-exponent.
    Zipfian {
        exponent: f64,
    },
    /// A normal distribution around the middle with a standard deviation of n/12, that of the mean of twelve uniform numbers.
    Gaussian,
    /// The lowest `share` of the keys gets 1 - `share` of the accesses, and so on within that share: u^p n with
    /// p = ln share / ln (1 - share), as in sysbench. 0.2 is the 80/20 rule.
    Pareto {
        share: f64,
    },
    /// Three quarters of the accesses go uniformly to the middle 1 % of the keys, the rest follow `Gaussian`. This is "special" of
    /// sysbench 1.0, where the lowest quarter of that 1 % gets nothing, because one random number chooses both kind and key.
    Special,
    /// `Zipfian` from the high end: the keys inserted last are the hottest.
    Latest {
        exponent: f64,
    },
}

/// A sampler of integer keys.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    first: i64,
    count: u64,
    shape: Shape,
}

/// Parameters of the sampler, computed once.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Uniform,
    /// Rejection sampling, see `rand_distr::Zipf`: exact for any exponent and any number of keys.
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
    /// Makes a sampler of keys from `first` to `last`, both included.
    ///
    /// # Panics
    /// If the range is empty or has 2^53 keys or more, an exponent is below 0 or not finite, or a share is not between 0 and 1.
    pub fn new(distribution: Distribution, first: i64, last: i64) -> Keys {
        assert!(first <= last, "no keys from {first} to {last}");
        let count = last.abs_diff(first) + 1;
        assert!(count < 1 << 53, "{count} keys, 2^53 or more");
        let zipf = |exponent: f64| {
            assert!(
                exponent >= 0.0 && exponent.is_finite(),
                "exponent {exponent}"
            );
            Zipf::new(count as f64, exponent)
                .expect("at least one key and an exponent of 0 or more")
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

    /// Draws the next key.
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
            Shape::Gaussian => normal_offset(count, random),
            // Rounding can make the product equal to `count`.
            Shape::Pareto { power } => {
                ((count as f64 * unit(random).powf(*power)) as u64).min(count - 1)
            }
            Shape::Special {
                hot_first,
                hot_count,
            } => match below(random, 4) {
                0 => normal_offset(count, random),
                _ => hot_first + below(random, *hot_count),
            },
        }
    }
}

/// A Zipf-distributed rank, from 0.
fn rank(zipf: &Zipf<f64>, count: u64, random: &mut Random) -> u64 {
    (zipf.sample(random) as u64).clamp(1, count) - 1
}

/// A normally distributed offset. Draws beyond six standard deviations (two in 10^9) are repeated.
fn normal_offset(count: u64, random: &mut Random) -> u64 {
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
