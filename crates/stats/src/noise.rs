//! Series with known properties, for tests.

use rand::{RngExt, SeedableRng};

/// Around a mean, with normal noise of a deviation.
pub(super) fn noisy(
    seconds: usize,
    seed: u64,
    mean: impl Fn(usize) -> f64,
    deviation: f64,
) -> Vec<f64> {
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let mut normal = || {
        let (u, v): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    (0..seconds)
        .map(|second| mean(second) + deviation * normal())
        .collect()
}

/// Around 0, each value correlated with the one before by `phi`, with this deviation in the long run.
pub(super) fn wandering(seconds: usize, seed: u64, phi: f64, deviation: f64) -> Vec<f64> {
    let mut last = 0.0;
    let step = deviation * (1.0 - phi * phi).sqrt();
    let shocks = noisy(seconds + 100, seed, |_| 0.0, step);
    let values = shocks.into_iter().map(|shock| {
        last = phi * last + shock;
        last
    });
    values.skip(100).collect()
}

/// Shares from 0 to 1, all equally likely.
pub(super) fn uniform(count: usize, seed: u64) -> Vec<f64> {
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    (0..count).map(|_| random.random()).collect()
}
