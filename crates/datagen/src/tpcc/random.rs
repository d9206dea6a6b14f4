//! NURand, its constants, and its exact distribution.
//!
//! Goals: one implementation for the load, the terminals and the audit of their inputs. Non-goals: which transaction draws what
//! (crate `workload`).

use crate::random::{Random, below, between, stream};

/// `A` of NURand for last names, customers and items (2.1.6).
pub const LAST_NAME_A: u64 = 255;
pub const CUSTOMER_A: u64 = 1023;
pub const ITEM_A: u64 = 8191;

/// The numbers of last names, 0 to this one.
pub const LAST_NAME_MAX: u64 = 999;

/// Streams of the constants of a load and of a run.
const LOAD: u64 = 0x6c6f_6164;
const RUN: u64 = 0x7275_6e00;

/// The constants C of NURand. All terminals of a run share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// 0 to 255.
    pub last_name: u16,
    /// 0 to 1023.
    pub customer: u16,
    /// 0 to 8191.
    pub item: u16,
}

impl Constants {
    /// The constants of the load with this seed. The load uses only that of last names: C-Load.
    pub fn load(seed: u64) -> Constants {
        Constants::draw(&mut stream(seed, LOAD))
    }

    /// The constants of a run on data with the constants `load`. C-Run of last names keeps the distance from C-Load that
    /// 2.1.6.1 demands, so that a run does not favor the names that the load made frequent.
    pub fn run(seed: u64, load: &Constants) -> Constants {
        let random = &mut stream(seed, RUN);
        loop {
            let run = Constants::draw(random);
            if is_distant(run.last_name, load.last_name) {
                return run;
            }
        }
    }

    fn draw(random: &mut Random) -> Constants {
        let constant = |random: &mut Random, a: u64| below(random, a + 1) as u16;
        Constants {
            last_name: constant(random, LAST_NAME_A),
            customer: constant(random, CUSTOMER_A),
            item: constant(random, ITEM_A),
        }
    }

    /// The number of a last name, 0 to 999; see [`last_name`](super::last_name).
    pub fn draw_last_name(&self, random: &mut Random) -> u16 {
        nurand(random, LAST_NAME_A, self.last_name.into(), 0, LAST_NAME_MAX) as u16
    }

    /// A customer of a district, 1 to 3,000.
    pub fn draw_customer(&self, random: &mut Random) -> u32 {
        let customers = super::CUSTOMERS_PER_DISTRICT;
        nurand(random, CUSTOMER_A, self.customer.into(), 1, customers) as u32
    }

    /// An item, 1 to 100,000.
    pub fn draw_item(&self, random: &mut Random) -> u32 {
        nurand(random, ITEM_A, self.item.into(), 1, super::ITEMS) as u32
    }
}

/// 2.1.6.1: the difference is from 65 to 119, and neither 96 nor 112.
fn is_distant(run: u16, load: u16) -> bool {
    let delta = run.abs_diff(load);
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

/// Draws from `x` to `y`, both included, with the non-uniform distribution of 2.1.6:
/// `(((u[0..a] OR u[x..y]) + c) mod (y - x + 1)) + x`.
#[inline]
pub fn nurand(random: &mut Random, a: u64, c: u64, x: u64, y: u64) -> u64 {
    let either = below(random, a + 1) | between(random, x, y);
    (either + c) % (y - x + 1) + x
}

/// The exact probability of each result of [`nurand`], from `x` to `y`.
///
/// How many of the (a + 1)(y - x + 1) equally likely pairs have a given bitwise OR is the OR convolution of two indicator
/// functions: sum each over subsets of bits, multiply, and invert the sum (zeta and Möbius transform).
pub fn mass(a: u64, c: u64, x: u64, y: u64) -> Vec<f64> {
    let bits = u64::BITS - (a | y).leading_zeros();
    let size = 1usize << bits;
    let indicator = |from: u64, to: u64| -> Vec<i64> {
        let is_in = |n: usize| i64::from((from..=to).contains(&(n as u64)));
        let mut sums: Vec<i64> = (0..size).map(is_in).collect();
        over_subsets(&mut sums, |sum, subset| *sum += subset);
        sums
    };
    let mut pairs = indicator(0, a);
    let others = indicator(x, y);
    pairs.iter_mut().zip(others).for_each(|(n, m)| *n *= m);
    over_subsets(&mut pairs, |sum, subset| *sum -= subset);

    let span = y - x + 1;
    let total = ((a + 1) * span) as f64;
    let mut mass = vec![0.0; span as usize];
    for (either, &count) in pairs.iter().enumerate() {
        mass[((either as u64 + c) % span) as usize] += count as f64 / total;
    }
    mass
}

/// Combines each entry with the entry of the same index without one bit, for each bit.
fn over_subsets(entries: &mut [i64], combine: impl Fn(&mut i64, i64)) {
    let mut bit = 1;
    while bit < entries.len() {
        for block in entries.chunks_exact_mut(2 * bit) {
            let (without, with) = block.split_at_mut(bit);
            for (entry, &subset) in with.iter_mut().zip(without.iter()) {
                combine(entry, subset);
            }
        }
        bit *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    /// The distribution by its definition: every pair.
    fn by_pairs(a: u64, c: u64, x: u64, y: u64) -> Vec<f64> {
        let span = y - x + 1;
        let mut mass = vec![0.0; span as usize];
        for u in 0..=a {
            for v in x..=y {
                mass[(((u | v) + c) % span) as usize] += 1.0 / ((a + 1) * span) as f64;
            }
        }
        mass
    }

    #[test]
    fn the_mass_of_each_of_the_three_uses_is_1() {
        for (a, x, y) in [
            (LAST_NAME_A, 0, LAST_NAME_MAX),
            (CUSTOMER_A, 1, 3_000),
            (ITEM_A, 1, 100_000),
        ] {
            let mass = mass(a, a / 3, x, y);
            assert_eq!(mass.len() as u64, y - x + 1);
            assert!(mass.iter().all(|share| *share >= 0.0));
            assert!((mass.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn draws_follow_the_mass() {
        let (a, c, x, y) = (LAST_NAME_A, 173, 0, LAST_NAME_MAX);
        let (mass, draws) = (mass(a, c, x, y), 400_000);
        let random = &mut stream(5, 1);
        let mut counts = vec![0u32; mass.len()];
        for _ in 0..draws {
            counts[(nurand(random, a, c, x, y) - x) as usize] += 1;
        }
        let square = |(&count, share): (&u32, &f64)| {
            let expected = share * f64::from(draws);
            (f64::from(count) - expected).powi(2) / expected
        };
        let statistic: f64 = counts.iter().zip(&mass).map(square).sum();
        let p = ChiSquared::new(mass.len() as f64 - 1.0)
            .unwrap()
            .sf(statistic);
        assert!(p > 1e-4, "{p}");
    }

    #[test]
    fn the_constant_of_a_run_keeps_its_distance_from_that_of_the_load() {
        for seed in 0..2_000 {
            let load = Constants::load(seed % 40);
            let run = Constants::run(seed, &load);
            let delta = run.last_name.abs_diff(load.last_name);
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112);
            assert!(run.last_name <= 255 && run.customer <= 1023 && run.item <= 8191);
            assert_eq!(run, Constants::run(seed, &load));
        }
    }

    #[test]
    fn constants_reach_both_ends_of_their_ranges() {
        let all: Vec<Constants> = (0..200_000).map(Constants::load).collect();
        let ends = |of: fn(&Constants) -> u16| {
            let values = all.iter().map(of);
            (values.clone().min().unwrap(), values.max().unwrap())
        };
        assert_eq!(ends(|one| one.last_name), (0, 255));
        assert_eq!(ends(|one| one.customer), (0, 1023));
        assert_eq!(ends(|one| one.item), (0, 8191));
    }

    proptest! {
        #[test]
        fn the_mass_equals_a_count_of_all_pairs(bits in 0u32..7, c in 0u64..64, x in 0u64..20, span in 1u64..200) {
            let a = (1 << bits) - 1;
            let (fast, slow) = (mass(a, c, x, x + span - 1), by_pairs(a, c, x, x + span - 1));
            prop_assert_eq!(fast.len(), slow.len());
            for (fast, slow) in fast.iter().zip(&slow) {
                prop_assert!((fast - slow).abs() < 1e-12);
            }
        }

        #[test]
        fn a_draw_stays_in_its_range(seed: u64, c in 0u64..8192) {
            let random = &mut stream(seed, 0);
            prop_assert!((1..=100_000).contains(&nurand(random, ITEM_A, c, 1, 100_000)));
        }
    }
}
