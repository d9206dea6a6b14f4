//! Numbered random streams: every row and every operation has its own.
//!
//! Goal: what an operation draws depends only on the seed and its number, not on the client that runs it. So closed and open loop
//! access the same keys, and a retried operation accesses its own keys again. Non-goal: cryptographic security.

use rand::Rng;

/// A permuted congruential generator (XSL RR 128/64, multiplicative state, M. E. O'Neill 2014): two multiplications per draw.
pub type Random = rand_pcg::Pcg64Mcg;

/// 2^64 divided by the golden ratio, odd: the increment of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes 64 bits with the output function of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[inline(always)]
pub const fn hash(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(STEP);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The random stream with this number, for a seed.
#[inline(always)]
pub fn stream(seed: u64, number: u64) -> Random {
    let high = hash(hash(seed) ^ number);
    Random::new((u128::from(high) << 64) | u128::from(hash(high)))
}

/// A number from 0 to `span` - 1. The relative bias is less than `span` / 2^64.
#[inline(always)]
pub fn below(random: &mut Random, span: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(span)) >> 64) as u64
}

/// A number from `first` to `last`, both included.
#[inline(always)]
pub fn between(random: &mut Random, first: u64, last: u64) -> u64 {
    first + below(random, last - first + 1)
}

/// A number from 0 (included) to 1 (excluded).
#[inline(always)]
pub fn unit(random: &mut Random) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    /// p-value of a chi-squared test of `counts` against a uniform distribution.
    fn p_even(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let square = |&count: &u64| (count as f64 - expected).powi(2) / expected;
        let statistic = counts.iter().map(square).sum();
        ChiSquared::new(counts.len() as f64 - 1.0)
            .unwrap()
            .sf(statistic)
    }

    #[test]
    fn hash_matches_the_published_splitmix64_sequence() {
        // The outputs of SplitMix64 from 0 are the hashes of multiples of its increment.
        assert_eq!(hash(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(hash(STEP), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn first_draws_of_successive_numbers_are_uniform() {
        for seed in 0..4 {
            let mut counts = [0; 256];
            for number in 0..100_000 {
                counts[below(&mut stream(seed, number), 256) as usize] += 1;
            }
            assert!(p_even(&counts) > 1e-4, "{seed}");
        }
    }

    #[test]
    fn first_and_second_draws_are_independent() {
        let mut counts = [0; 1024];
        for number in 0..200_000 {
            let random = &mut stream(7, number);
            counts[(below(random, 32) * 32 + below(random, 32)) as usize] += 1;
        }
        assert!(p_even(&counts) > 1e-4);
    }

    #[test]
    fn a_stream_is_reproducible_and_depends_on_the_seed() {
        let draws = |seed, number| {
            let mut random = stream(seed, number);
            [random.next_u64(), random.next_u64()]
        };
        assert_eq!(draws(1, 2), draws(1, 2));
        assert_ne!(draws(1, 2), draws(2, 1));
    }
}
