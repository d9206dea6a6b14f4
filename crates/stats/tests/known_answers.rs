//! The statistics on data whose answer is known.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use stats::LogMean;

const EXPERIMENTS: usize = 4000;

/// A standard normal number (Box and Muller 1958).
pub(crate) fn normal(random: &mut Pcg64) -> f64 {
    let (a, b): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Times of as many blocks: what the block has in common, the trial's own noise, and the truth.
fn times(random: &mut Pcg64, common: &[f64], truth: f64) -> Vec<f64> {
    common
        .iter()
        .map(|common| truth * common * (0.1 * normal(random)).exp())
        .collect()
}

/// The interval of the ratio.
fn experiment(random: &mut Pcg64, blocks: usize, truth: f64) -> (f64, f64) {
    let common: Vec<f64> = (0..blocks)
        .map(|_| 10.0 * (0.5 * normal(random)).exp())
        .collect();
    let (of, to) = (times(random, &common, truth), times(random, &common, 1.0));
    LogMean::of_ratios(&of, &to).unwrap().ci().unwrap()
}

fn share(truth: f64, blocks: usize, holds: impl Fn((f64, f64)) -> bool) -> f64 {
    let mut random = Pcg64::seed_from_u64(42);
    (0..EXPERIMENTS)
        .filter(|_| holds(experiment(&mut random, blocks, truth)))
        .count() as f64
        / EXPERIMENTS as f64
}

#[test]
fn equal_servers_are_called_different_in_about_one_of_twenty_experiments() {
    for blocks in [3, 5, 10] {
        let false_verdicts = share(1.0, blocks, |(low, high)| low > 1.0 || high < 1.0);
        assert!(
            (0.04..0.06).contains(&false_verdicts),
            "{blocks} blocks: {false_verdicts}"
        );
    }
}

#[test]
fn the_interval_holds_the_truth_in_about_nineteen_of_twenty_experiments() {
    for (blocks, truth) in [(2, 1.3), (3, 0.6), (8, 1.8)] {
        let covered = share(truth, blocks, |(low, high)| low <= truth && truth <= high);
        assert!(
            (0.94..0.96).contains(&covered),
            "{blocks} blocks: {covered}"
        );
    }
}

#[test]
fn a_large_difference_is_found_in_a_few_blocks() {
    assert!(share(1.8, 5, |(low, _)| low > 1.0) > 0.99);
}
