//! Chooses the next operation by weight.

use datagen::random::hash;

/// The largest weight that a section may give to an operation.
pub(crate) const WEIGHT_MAX: i64 = 1_000_000;

/// Cumulative weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mix {
    ends: Vec<u64>,
}

impl Mix {
    /// # Panics
    /// If all weights are zero.
    pub(crate) fn new(weights: impl IntoIterator<Item = u32>) -> Mix {
        let mut end = 0;
        let ends: Vec<u64> = weights
            .into_iter()
            .map(|weight| {
                end += u64::from(weight);
                end
            })
            .collect();
        assert!(end > 0, "an operation with a weight");
        Mix { ends }
    }

    /// Depends only on the salt and the number, so closed and open loop run the same operations.
    #[inline]
    pub(crate) fn pick(&self, salt: u64, number: u64) -> u16 {
        let [earlier @ .., total] = &self.ends[..] else {
            return 0;
        };
        if earlier.is_empty() {
            return 0;
        }
        let point = (u128::from(hash(salt ^ number)) * u128::from(*total)) >> 64;
        earlier
            .iter()
            .filter(|&&end| u128::from(end) <= point)
            .count() as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(weights: &[u32]) -> Vec<f64> {
        let mix = Mix::new(weights.iter().copied());
        let mut counts = vec![0; weights.len()];
        for number in 0..100_000 {
            counts[usize::from(mix.pick(5, number))] += 1;
        }
        counts
            .iter()
            .map(|&count| f64::from(count) / 100_000.0)
            .collect()
    }

    #[test]
    fn operations_come_by_their_weights() {
        for (share, expected) in shares(&[10, 1, 0, 5])
            .iter()
            .zip([0.625, 0.0625, 0.0, 0.3125])
        {
            assert!((share - expected).abs() < 0.006, "{share} {expected}");
        }
    }

    #[test]
    fn a_single_operation_always_comes() {
        assert_eq!(shares(&[3]), [1.0]);
    }

    #[test]
    fn another_salt_gives_another_order() {
        let mix = Mix::new([1, 1]);
        let order = |salt| -> Vec<u16> { (0..64).map(|number| mix.pick(salt, number)).collect() };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
