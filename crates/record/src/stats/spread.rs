//! The spread of several rows: the largest value over the smallest.

use super::cells::Series;
use super::ratio::{Band, LogMean};

/// All rows against each other over the same blocks.
pub(super) struct Spread {
    /// The ratio of the two rows that lie furthest apart, at least 1.
    pub(super) widest: LogMean,
    pairs: Vec<LogMean>,
}

impl Spread {
    /// None with fewer than two rows or without a block in common.
    /// `lend` gives each pair the variance of its matrix.
    pub(super) fn of<'t>(
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
            (ratio.geometric() >= 1.0).then(|| lend(ratio, &rows[of], &rows[to]))
        };
        let each = (0..rows.len()).flat_map(|of| (0..rows.len()).map(move |to| (of, to)));
        let pairs: Vec<LogMean> = (each.filter(|(of, to)| of != to))
            .filter_map(|(of, to)| pair(of, to))
            .collect();
        let widest = *pairs
            .iter()
            .max_by(|a, b| a.geometric().total_cmp(&b.geometric()))?;
        Some(Spread { widest, pairs })
    }

    /// Every pair has to lie inside; an intersection-union test needs no correction (Berger 1982).
    pub(super) fn p_inside(&self, band: Band) -> f64 {
        self.pairs
            .iter()
            .map(|pair| band.p_inside(pair))
            .fold(0.0, f64::max)
    }

    /// One pair outside is enough, so the smallest p pays for the number of pairs (Bonferroni).
    pub(super) fn p_outside(&self, band: Band) -> f64 {
        let smallest = self
            .pairs
            .iter()
            .map(|pair| band.p_outside(pair))
            .fold(1.0, f64::min);
        (smallest * self.pairs.len() as f64).min(1.0)
    }
}
