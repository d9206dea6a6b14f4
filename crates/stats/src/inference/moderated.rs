//! The moderated paired t: a few blocks decide, because each comparison borrows the noise of the whole matrix.
//!
//! Purpose: the noise of a matrix of cells, and the mean of a contrast with it. Boundaries: `cells` chooses the cells, `judge` tests.
//!
//! Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments", 2004, with
//! three changes that keep the rate of false calls at 5 % in the shapes of noise of `bench/verdicts`: block effects are medians, the
//! scale is a geometric mean, and half a standard error is added to the variance between the cells.

use super::ratio::LogMean;
use super::trigamma::{inverse_trigamma, trigamma};
use statrs::function::gamma::digamma;

/// Below this many cells the noise of the matrix is not known well enough.
const MIN_CELLS: usize = 8;
/// Below this many blocks the residuals say too little.
const MIN_BLOCKS: usize = 3;
/// Below this many rows of a series the noise between server starts is not known well enough.
const MIN_ROWS: usize = 3;

/// No variance is below that of a rounding to 0.1 %, the step of the histograms.
pub(crate) const MIN_VARIANCE: f64 = 0.001 * 0.001 / 12.0;

/// The logarithms of one cell by block.
pub type Logs = Vec<f64>;

/// The cells that share a server start in every block; one cell alone unless the run is a series.
pub type Row = Vec<Logs>;

/// How a cell enters a contrast: its row's index, and its weight. The weights of a contrast sum to 0, but for a value within trials.
pub type Weight = (usize, f64);

/// The noise of a matrix of cells: variances of logarithms, without what a block has in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The geometric mean of the cells' variances.
    scale: f64,
    /// Degrees of freedom that the scale is worth as an estimate of another cell's variance; infinite where the cells do not differ.
    prior: f64,
    /// Degrees of freedom of one cell: blocks - 1.
    of_cell: f64,
    /// Degrees of freedom of the scale.
    freedom: f64,
    starts: Option<Starts>,
}

/// What the cells of a row have in common, because they share a server start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Starts {
    pub(crate) variance: f64,
    /// Degrees of freedom of a comparison between rows (Satterthwaite 1946).
    freedom: f64,
}

impl Noise {
    /// None where the matrix is too small to lend its noise (`MIN_CELLS`, `MIN_BLOCKS`, `MIN_ROWS`), or its rows differ in length.
    /// Every cell has the same blocks.
    pub fn of(rows: &[Row]) -> Option<Noise> {
        let width = rows.first()?.len();
        let blocks = rows[0].first()?.len();
        let cells = rows.len() * width;
        let is_series = width > 1;
        if rows.iter().any(|row| row.len() != width)
            || cells < MIN_CELLS
            || blocks < MIN_BLOCKS
            || (is_series && rows.len() < MIN_ROWS)
        {
            return None;
        }
        let centred = without_blocks(&without_means(rows));
        let of_cell = (blocks - 1) as f64;
        let (residuals, correction) = match is_series {
            true => (without_rows(&centred), width as f64 / (width - 1) as f64),
            false => (centred, cells as f64 / (cells as f64 - MEDIAN)),
        };
        let variances: Vec<f64> = (residuals.iter().flatten())
            .map(|cell| squares(cell) / of_cell * correction)
            .map(|variance| variance.max(MIN_VARIANCE))
            .collect();
        let (scale, prior) = prior(&variances, of_cell);
        let within = rows.len() as f64 * (width - 1) as f64 * of_cell;
        Some(Noise {
            scale,
            prior,
            of_cell,
            freedom: if is_series {
                within
            } else {
                (cells - 1) as f64 * of_cell
            },
            starts: is_series.then(|| starts(rows, &residuals)),
        })
    }

    /// Of values that compare parts of one trial, so that a block has nothing in common that cancels. Values of one row are of the same
    /// trials and share their disturbances: only other rows lend. None where there are too few of them (`MIN_CELLS`, `MIN_BLOCKS`).
    pub(crate) fn within_trials(values: &[LogMean], rows: usize) -> Option<Noise> {
        let blocks = values.iter().map(|value| value.count).max()?;
        let complete = values.iter().filter(|value| value.count == blocks);
        let variances: Vec<f64> = complete
            .map(|value| value.variance().max(MIN_VARIANCE))
            .collect();
        if variances.len() < MIN_CELLS || blocks < MIN_BLOCKS {
            return None;
        }
        let of_cell = (blocks - 1) as f64;
        let (scale, prior) = prior(&variances, of_cell);
        Some(Noise {
            scale,
            prior,
            of_cell,
            freedom: rows as f64 * of_cell,
            starts: None,
        })
    }

    /// The mean of a contrast's blocks, with its own variance drawn towards that of the matrix.
    pub fn moderate(&self, own: LogMean, contrast: &[Weight]) -> LogMean {
        let Some(freedom) = own.count.checked_sub(1).filter(|freedom| *freedom > 0) else {
            return own;
        };
        let own_freedom = freedom as f64;
        let weight: f64 = contrast.iter().map(|(_, weight)| weight * weight).sum();
        let of_starts = self
            .starts
            .map_or(0.0, |starts| starts.variance * between(contrast));
        let borrowed = self.scale * weight + of_starts;
        let known = match self.starts {
            Some(starts) if between(contrast) > 1e-12 => starts.freedom,
            _ => self.freedom,
        };
        let lent = self.prior.min(known - self.of_cell).max(0.0);
        let own_variance = own.variance().max(MIN_VARIANCE * weight);
        let variance = (lent * borrowed + own_freedom * own_variance) / (lent + own_freedom);
        own.with(variance, lent + own_freedom)
    }

    /// The standard deviation of a trial in its block, as a share: 0.05 is 5 %.
    pub fn of_trial(&self) -> f64 {
        (self.scale + self.starts.map_or(0.0, |starts| starts.variance)).sqrt()
    }
}

/// A residual has the variance (1 - 2/I + 1.57/I) s² where the block effect is the median of I cells.
const MEDIAN: f64 = 0.43;

/// The sum of the squared weights of the rows: 0 within a row.
fn between(contrast: &[Weight]) -> f64 {
    let mut rows: Vec<Weight> = Vec::new();
    for (row, weight) in contrast {
        match rows.iter_mut().find(|(known, _)| known == row) {
            Some((_, sum)) => *sum += weight,
            None => rows.push((*row, *weight)),
        }
    }
    rows.iter().map(|(_, sum)| sum * sum).sum()
}

/// The geometric scale of the variances, and the degrees of freedom that it is worth for one of them.
fn prior(variances: &[f64], of_cell: f64) -> (f64, f64) {
    let half = of_cell / 2.0;
    let logs: Vec<f64> = variances.iter().map(|variance| variance.ln()).collect();
    let scale = (mean(&logs) - digamma(half) + half.ln()).exp();
    let others = (logs.len() - 1) as f64;
    let spread = squares(&recentred(&logs)) / others * (1.0 + 0.5 * (2.0 / others).sqrt());
    let excess = spread - trigamma(half);
    let prior = match excess > 0.0 {
        true => 2.0 * inverse_trigamma(excess),
        false => f64::INFINITY,
    };
    (scale, prior)
}

/// The analysis of variance of rows by blocks, with the cells of a row as its subplots (Cochran and Cox 1957).
pub(crate) fn starts(rows: &[Row], residuals: &[Row]) -> Starts {
    let count = rows.len() as f64;
    let width = rows[0].len() as f64;
    let of_cell = (rows[0][0].len() - 1) as f64;
    let subplots = count * (width - 1.0) * of_cell;
    let plots = (count - 1.0) * of_cell;
    let each = residuals.iter().flatten().map(|cell| squares(cell));
    let error = each.sum::<f64>() / subplots;
    let centred = without_means(rows);
    let of_rows: Vec<Logs> = centred.iter().map(|row| by_block(row, mean)).collect();
    let blocks = by_block(&of_rows, mean);
    let squared = of_rows.iter().map(|row| squares(&minus(row, &blocks)));
    let squared: f64 = squared.sum();
    let row = (width * squared / plots).max(error);
    let inner = (width - 1.0) * error;
    Starts {
        variance: (row - error) / width,
        freedom: (inner + row).powi(2) / (inner * inner / subplots + row * row / plots),
    }
}

pub(crate) fn without_means(rows: &[Row]) -> Vec<Row> {
    let row = |row: &Row| row.iter().map(|cell| recentred(cell)).collect();
    rows.iter().map(row).collect()
}

/// The median keeps noisy cells out of quiet ones.
fn without_blocks(rows: &[Row]) -> Vec<Row> {
    let cells: Vec<Logs> = rows.iter().flatten().cloned().collect();
    let blocks = recentred(&by_block(&cells, median));
    let row = |row: &Row| row.iter().map(|cell| minus(cell, &blocks)).collect();
    rows.iter().map(row).collect()
}

pub(crate) fn without_rows(rows: &[Row]) -> Vec<Row> {
    let row = |row: &Row| {
        let shared = by_block(row, mean);
        row.iter().map(|cell| minus(cell, &shared)).collect()
    };
    rows.iter().map(row).collect()
}

/// A statistic over the cells, in each block.
pub(crate) fn by_block(cells: &[Logs], statistic: fn(&[f64]) -> f64) -> Logs {
    let block = |block: usize| {
        let values: Vec<f64> = cells.iter().map(|cell| cell[block]).collect();
        statistic(&values)
    };
    (0..cells[0].len()).map(block).collect()
}

pub(crate) fn minus(values: &[f64], others: &[f64]) -> Logs {
    let pairs = values.iter().zip(others);
    pairs.map(|(value, other)| value - other).collect()
}

pub(crate) fn recentred(values: &[f64]) -> Logs {
    let centre = mean(values);
    values.iter().map(|value| value - centre).collect()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[half - 1] + sorted[half]) / 2.0,
        _ => sorted[half],
    }
}

pub(crate) fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of these matrices were computed with an independent program that follows the formulas.
    const CELLS: [[f64; 3]; 9] = [
        [0.00, 0.06, -0.03],
        [0.50, 0.42, 0.55],
        [1.02, 0.99, 0.93],
        [0.31, 0.35, 0.20],
        [-0.40, -0.52, -0.37],
        [0.10, 0.11, 0.29],
        [2.00, 1.97, 1.85],
        [0.70, 0.88, 0.73],
        [0.20, 0.24, 0.31],
    ];

    fn alone(cells: &[[f64; 3]]) -> Vec<Row> {
        cells.iter().map(|cell| vec![cell.to_vec()]).collect()
    }

    /// Three rows of three cells; what a server start adds to its row in each block.
    fn series(starts: [[f64; 3]; 3]) -> Vec<Row> {
        let row = |(cells, starts): (&[[f64; 3]], [f64; 3])| {
            let cell = |cell: &[f64; 3]| {
                cell.iter()
                    .zip(starts)
                    .map(|(log, start)| log + start)
                    .collect()
            };
            cells.iter().map(cell).collect()
        };
        CELLS.chunks(3).zip(starts).map(row).collect()
    }

    /// The ratio of two cells, moderated.
    fn compared(rows: &[Row], of: (usize, usize), to: (usize, usize)) -> LogMean {
        let ratios: Vec<f64> = (rows[of.0][of.1].iter().zip(&rows[to.0][to.1]))
            .map(|(of, to)| (of - to).exp())
            .collect();
        let noise = Noise::of(rows).expect("a matrix that is large enough");
        noise.moderate(LogMean::of(&ratios).unwrap(), &[(of.0, 1.0), (to.0, -1.0)])
    }

    fn assert_known(ratio: LogMean, variance: f64, freedom: f64) {
        let close = |measured: f64, known: f64| (measured / known - 1.0).abs() < 1e-6;
        assert!(
            close(ratio.variance(), variance),
            "variance {}",
            ratio.variance()
        );
        assert!(close(ratio.freedom, freedom), "freedom {}", ratio.freedom);
    }

    #[test]
    fn a_pair_of_a_matrix_has_the_known_variance() {
        let ratio = compared(&alone(&CELLS[..8]), (0, 0), (1, 0));
        assert_known(ratio, 0.012824518093696696, 5.334472056039163);
        assert!((ratio.geometric().ln() + 0.48).abs() < 1e-12);
    }

    #[test]
    fn a_pair_of_one_server_start_does_not_pay_for_the_starts() {
        let starts = [[0.0, 0.0, 0.3], [0.0, -0.25, 0.0], [0.1, 0.0, 0.0]];
        for starts in [[[0.0; 3]; 3], starts] {
            let ratio = compared(&series(starts), (0, 0), (0, 1));
            assert_known(ratio, 0.020092578174225682, 12.0);
        }
    }

    #[test]
    fn a_pair_of_two_server_starts_pays_for_them() {
        let starts = [[0.0, 0.0, 0.3], [0.0, -0.25, 0.0], [0.1, 0.0, 0.0]];
        assert_known(
            compared(&series(starts), (0, 0), (1, 0)),
            0.04701446064044445,
            6.413074601921562,
        );
        let equal = compared(&series([[0.0; 3]; 3]), (0, 0), (1, 0));
        assert_known(equal, 0.019051754488141885, 15.428571428571429);
    }

    #[test]
    fn values_within_trials_borrow_from_other_rows_alone() {
        let means = CELLS.map(|logs| LogMean::of(&logs.map(f64::exp)).unwrap());
        let moderated = |rows| {
            let noise = Noise::within_trials(&means, rows).unwrap();
            noise.moderate(means[0], &[(0, 1.0)])
        };
        assert_known(moderated(1), 0.0021, 2.0);
        assert_known(moderated(4), 0.007009433796471, 8.0);
        assert!(Noise::within_trials(&means[..7], 4).is_none());
        assert!(Noise::within_trials(&[], 0).is_none());
    }

    #[test]
    fn small_matrices_lend_nothing() {
        assert!(Noise::of(&[]).is_none());
        assert!(Noise::of(&alone(&CELLS[..7])).is_none());
        assert!(Noise::of(&series([[0.0; 3]; 3])[..2]).is_none());
        let two_blocks = |row: &Row| vec![row[0][..2].to_vec()];
        let two_blocks: Vec<Row> = alone(&CELLS).iter().map(two_blocks).collect();
        assert!(Noise::of(&two_blocks).is_none());
    }

    #[test]
    fn rows_of_different_length_lend_nothing() {
        let mut rows = series([[0.0; 3]; 3]);
        rows[1].pop();
        assert!(Noise::of(&rows).is_none());
    }

    #[test]
    fn what_a_block_has_in_common_is_not_noise() {
        let shifted = CELLS.map(|[a, b, c]| [a + 0.7, b - 0.4, c + 5.0]);
        let (plain, shifted) = (Noise::of(&alone(&CELLS)), Noise::of(&alone(&shifted)));
        assert!((plain.unwrap().of_trial() / shifted.unwrap().of_trial() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn values_without_any_spread_keep_the_resolution_of_the_histograms() {
        let rows = alone(&[[1.0; 3]; 8]);
        let (low, high) = compared(&rows, (0, 0), (1, 0)).ci().unwrap();
        assert!((0.999..1.0).contains(&low) && (1.0..1.001).contains(&high));
    }

    #[test]
    fn one_block_stays_without_an_interval() {
        let noise = Noise::of(&alone(&CELLS)).unwrap();
        let one = noise.moderate(LogMean::of(&[1.5]).unwrap(), &[(0, 1.0), (1, -1.0)]);
        assert!(one.ci().is_none());
    }
}
