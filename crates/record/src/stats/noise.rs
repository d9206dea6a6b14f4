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
