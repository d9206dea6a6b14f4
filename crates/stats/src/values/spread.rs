//! The spread of several rows: the largest value over the smallest.

use super::cells::{self, Series};
use crate::inference::ratio::{Band, LogMean};

/// All rows against each other over the same blocks.
pub(crate) struct Spread {
    /// The ratio of the two rows that lie furthest apart, at least 1.
    pub(crate) widest: LogMean,
    pairs: Vec<LogMean>,
}

impl Spread {
    /// None with fewer than two rows or without a block in common.
    /// `lend` gives each pair the variance of its matrix.
    pub(crate) fn of<'t>(
        rows: &[Series<'t>],
        blocks: &[u32],
        mut lend: impl FnMut(LogMean, &Series<'t>, &Series<'t>) -> LogMean,
    ) -> Option<Spread> {
        let values: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| blocks.iter().map(|block| row.by_block[block]).collect())
            .collect();
        let mut pair = |of: usize, to: usize| {
            let ratio = LogMean::of_ratios(&values[of], &values[to])?;
            let known_to = |row| cells::known_to(std::slice::from_ref(row), blocks);
            let ratio = ratio.known_to(known_to(&rows[of]) + known_to(&rows[to]));
            (ratio.geometric() >= 1.0).then(|| lend(ratio, &rows[of], &rows[to]))
        };
        let each = (0..rows.len()).flat_map(|of| (0..rows.len()).map(move |to| (of, to)));
        let pairs: Vec<LogMean> = (each.filter(|(of, to)| of != to))
            .filter_map(|(of, to)| pair(of, to))
            .collect();
        let widest = pairs.iter().copied();
        let widest = widest.max_by(|a, b| a.geometric().total_cmp(&b.geometric()))?;
        Some(Spread { widest, pairs })
    }

    /// The interval of the largest true ratio of two rows, at least 1, which misses it with the probability `alpha`; none with fewer
    /// than two blocks.
    ///
    /// The rows furthest apart are chosen by their values, so the interval of that pair alone would miss the truth too often. All pairs at
    /// once hold theirs (Bonferroni), and then the largest true ratio lies between the largest lower and the largest upper end.
    pub(crate) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let each = alpha / self.pairs.len() as f64;
        let intervals = self.pairs.iter().map(|pair| pair.interval(each));
        let intervals: Vec<(f64, f64)> = intervals.collect::<Option<_>>()?;
        let low = intervals.iter().map(|(low, _)| *low).fold(1.0, f64::max);
        let high = intervals.iter().map(|(_, high)| *high).fold(1.0, f64::max);
        Some((low, high))
    }

    /// Every pair has to lie inside; an intersection-union test needs no correction (Berger 1982).
    pub(crate) fn p_inside(&self, band: Band) -> f64 {
        let each = self.pairs.iter().map(|pair| band.p_inside(pair));
        each.fold(0.0, f64::max)
    }

    /// One pair outside is enough, so the smallest p pays for the number of pairs (Bonferroni).
    pub(crate) fn p_outside(&self, band: Band) -> f64 {
        let each = self.pairs.iter().map(|pair| band.p_outside(pair));
        (each.fold(1.0, f64::min) * self.pairs.len() as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::noisy;

    /// Rows with these true logarithms, in five blocks with a noise of 5 %.
    fn spread(truths: &[f64], seed: u64) -> Spread {
        let rows: Vec<Series> = (truths.iter().enumerate())
            .map(|(row, truth)| {
                let logs = noisy(5, seed * 100 + row as u64, |_| *truth, 0.05);
                Series {
                    by_block: (0..).zip(logs.into_iter().map(f64::exp)).collect(),
                    ..Series::default()
                }
            })
            .collect();
        Spread::of(&rows, &[0, 1, 2, 3, 4], |ratio, _, _| ratio).unwrap()
    }

    /// The interval of the widest pair alone excludes the truth in 11 %, 20 % and 31 % where all rows are equal.
    #[test]
    fn the_interval_holds_the_true_spread_in_nineteen_of_twenty() {
        const RUNS: u64 = 400;
        for truths in [&[0.0; 3][..], &[0.0; 5], &[0.0; 8], &[0.0, 0.05, 0.2]] {
            let truth = truths.iter().copied().fold(0.0, f64::max).exp();
            let is_missed = |seed: &u64| {
                let (low, high) = spread(truths, *seed).interval(0.05).unwrap();
                truth < low || high < truth
            };
            let missed = (0..RUNS).filter(is_missed).count();
            // 5 % and two standard errors.
            assert!(missed <= 28, "{truths:?}: {missed} of {RUNS}");
        }
    }

    #[test]
    fn the_interval_of_equal_rows_is_not_wider_than_it_must_be() {
        let (low, high) = spread(&[0.0, 0.2], 3).interval(0.05).unwrap();
        assert!(low > 1.0 && high < 1.5, "{low} to {high}");
    }
}
