//! The order of the units within each block, and of the points within a unit.
//!
//! Purpose: a shuffle that depends only on the seed, the same on every machine and in every version of prony. Block b draws from PCG32
//! (XSH RR 64/32, M. E. O'Neill 2014; `rand_pcg::Pcg32`) with the seed as its state and b as its stream. The Fisher-Yates
//! shuffle (last place to first) and unbiased sampling below n (by rejection) are implemented here, because those of a
//! library may change between versions.

use rand::Rng;
use rand_pcg::Pcg32;

/// For each block, the indices of the units in execution order. With more than one unit, consecutive blocks never have
/// the same order.
pub(super) fn orders(units: usize, blocks: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = Vec::with_capacity(blocks as usize);
    for block in 0..blocks {
        let mut order = shuffled(units, &mut Pcg32::new(seed, u64::from(block)));
        if units > 1 && orders.last() == Some(&order) {
            order.rotate_left(1);
        }
        orders.push(order);
    }
    orders
}

/// Shuffles the members of a unit in a block. The random stream is unique to the block and the place: the place, counted
/// from 1, is in the upper half of the stream number.
pub(super) fn within(place: usize, block: u32, seed: u64, members: &[usize]) -> Vec<usize> {
    let stream = ((place as u64 + 1) << 32) | u64::from(block);
    shuffled(members.len(), &mut Pcg32::new(seed, stream))
        .into_iter()
        .map(|member| members[member])
        .collect()
}

/// The control's place among the runs of a block, from 0 to their number, from a random stream of its own: the order of the others is
/// the same with and without a control.
pub(super) fn control(runs: usize, block: u32, seed: u64) -> usize {
    let stream = (1 << 63) | u64::from(block);
    below(runs as u64 + 1, &mut Pcg32::new(seed, stream)) as usize
}

pub(super) fn shuffled(count: usize, random: &mut Pcg32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for place in (1..count).rev() {
        order.swap(place, below(place as u64 + 1, random) as usize);
    }
    order
}

/// A number from 0 to `bound` - 1.
fn below(bound: u64, random: &mut Pcg32) -> u64 {
    let fair = u64::MAX - u64::MAX % bound;
    loop {
        let number = random.next_u64();
        if number < fair {
            return number % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_order_of_a_seed_never_changes() {
        assert_eq!(orders(6, 2, 42), [[5, 0, 4, 1, 3, 2], [2, 5, 4, 0, 3, 1]]);
    }

    #[test]
    fn every_place_of_the_control_is_as_likely() {
        let mut counts = [0; 4];
        for seed in 0..1000 {
            for block in 0..4 {
                counts[control(3, block, seed)] += 1;
            }
        }
        assert!(
            counts.iter().all(|count| (880..1120).contains(count)),
            "{counts:?}"
        );
    }

    proptest! {
        #[test]
        fn every_block_has_every_unit_once(units in 0usize..50, blocks in 1u32..6, seed: u64) {
            for mut order in orders(units, blocks, seed) {
                order.sort();
                prop_assert_eq!(order, (0..units).collect::<Vec<_>>());
            }
        }

        #[test]
        fn neighbouring_blocks_have_different_orders(units in 2usize..9, seed: u64) {
            prop_assert!(orders(units, 8, seed).windows(2).all(|pair| pair[0] != pair[1]));
        }
    }
}
