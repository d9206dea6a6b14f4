//! Samplers against their definitions. The random streams are fixed, so these tests are deterministic.

use super::*;
use crate::random::stream;
use proptest::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

const DRAWS: u64 = 200_000;

const ALL: [Distribution; 6] = [
    Distribution::Uniform,
    Distribution::Zipfian { exponent: 0.8 },
    Distribution::Gaussian,
    Distribution::Pareto { share: 0.2 },
    Distribution::Special,
    Distribution::Latest { exponent: 1.0 },
];

/// How often each key from 1 to `count` was drawn.
fn counts(distribution: Distribution, count: usize) -> Vec<u64> {
    let keys = Keys::new(distribution, 1, count as i64);
    let mut counts = vec![0; count];
    for number in 0..DRAWS {
        counts[keys.draw(&mut stream(1, number)) as usize - 1] += 1;
    }
    counts
}

/// p-value of a chi-squared test of `counts` against `expected` (in any unit).
fn p_expected(counts: &[u64], expected: &[f64]) -> f64 {
    let scale = counts.iter().sum::<u64>() as f64 / expected.iter().sum::<f64>();
    let square = |(&count, &expected): (&u64, &f64)| {
        let expected = expected * scale;
        (count as f64 - expected).powi(2) / expected
    };
    let statistic = counts.iter().zip(expected).map(square).sum();
    ChiSquared::new(counts.len() as f64 - 1.0)
        .unwrap()
        .sf(statistic)
}

fn share(counts: &[u64]) -> f64 {
    counts.iter().sum::<u64>() as f64 / DRAWS as f64
}

#[test]
fn uniform_keys_are_equally_frequent() {
    let counts = counts(Distribution::Uniform, 1_000);
    assert!(p_expected(&counts, &[1.0; 1_000]) > 1e-4);
}

#[test]
fn zipfian_keys_follow_their_rank() {
    for exponent in [0.0, 0.5, 0.8, 1.0, 1.5] {
        let counts = counts(Distribution::Zipfian { exponent }, 200);
        let expected: Vec<f64> = (1..=200)
            .map(|rank| f64::from(rank).powf(-exponent))
            .collect();
        assert!(p_expected(&counts, &expected) > 1e-4, "{exponent}");
    }
}

#[test]
fn the_latest_keys_are_the_most_frequent() {
    let counts = counts(Distribution::Latest { exponent: 0.8 }, 200);
    let expected: Vec<f64> = (1..=200)
        .rev()
        .map(|rank| f64::from(rank).powf(-0.8))
        .collect();
    assert!(p_expected(&counts, &expected) > 1e-4);
}

#[test]
fn gaussian_keys_have_a_standard_deviation_of_a_twelfth() {
    let counts = counts(Distribution::Gaussian, 24);
    let bell = Normal::new(12.0, 2.0).unwrap();
    let cell = |key: usize| bell.cdf(key as f64 + 1.0) - bell.cdf(key as f64);
    let expected: Vec<f64> = (0..24).map(cell).collect();
    // The outer cells have expected counts below five, too few for the test.
    assert!(p_expected(&counts[4..20], &expected[4..20]) > 1e-4);
}

#[test]
fn pareto_sends_80_percent_of_draws_to_20_percent_of_keys_recursively() {
    let counts = counts(Distribution::Pareto { share: 0.2 }, 1_000);
    assert!((share(&counts[..200]) - 0.8).abs() < 0.005);
    assert!((share(&counts[..40]) - 0.64).abs() < 0.005);
}

#[test]
fn special_sends_three_quarters_of_draws_to_the_middle_hundredth() {
    let counts = counts(Distribution::Special, 10_000);
    let bell = Normal::new(5_000.0, 10_000.0 / 12.0).unwrap();
    let of_the_rest = bell.cdf(5_050.0) - bell.cdf(4_950.0);
    assert!((share(&counts[4_950..5_050]) - (0.75 + 0.25 * of_the_rest)).abs() < 0.005);
    let quarters: Vec<u64> = counts[4_950..5_050]
        .chunks(25)
        .map(|keys| keys.iter().sum())
        .collect();
    assert!(p_expected(&quarters, &[1.0; 4]) > 1e-4, "{quarters:?}");
}

#[test]
fn both_ends_of_a_small_range_are_drawn() {
    for distribution in ALL {
        let counts = counts(distribution, 3);
        assert!(
            counts[0] > 0 && counts[2] > 0,
            "{distribution:?}: {counts:?}"
        );
    }
}

proptest! {
    #[test]
    fn every_key_lies_in_its_range(first in -1_000_000i64..1_000_000, span in 0i64..3_000_000_000, seed: u64) {
        for distribution in ALL {
            let keys = Keys::new(distribution, first, first + span);
            let random = &mut stream(seed, 0);
            for _ in 0..50 {
                let key = keys.draw(random);
                prop_assert!((first..=first + span).contains(&key), "{:?}: {}", distribution, key);
            }
        }
    }
}
