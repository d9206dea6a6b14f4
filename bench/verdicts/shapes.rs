//! Shapes of noise: matrices of logarithms whose true values are all equal, and the pairs of cells that are compared.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use stats::moderated::{Logs, Row};

/// The standard deviation of a trial in most shapes.
const NOISE: f64 = 0.05;
/// The cells of a matrix that is not small.
const CELLS: usize = 42;
const ROWS_OF_SERIES: usize = 7;
/// The queries of the Star Schema Benchmark.
const QUERIES: usize = 13;

/// Two cells, each as (row, cell of the row).
pub(crate) type Pair = [(usize, usize); 2];

#[derive(Clone, Copy)]
pub(crate) enum Shape {
    Normal,
    Lognormal,
    Outliers,
    UnequalVariances,
    NoisiestQuarter,
    WithinStarts,
    BetweenStarts,
    Drift,
    CorrelatedBlocks,
    Bimodal,
    FewCells,
    HalfExact,
    Queries,
}

/// Each shape with its name, and its definition for the reader of the table.
#[rustfmt::skip]
pub(crate) const SHAPES: [(Shape, &str, &str); 13] = [
    (Shape::Normal, "normal", "normal, sd 5 %"),
    (Shape::Lognormal, "lognormal", "logarithms are themselves lognormal (sigma 0.6), sd 5 %: a long tail of slow trials"),
    (Shape::Outliers, "5 % outliers", "normal, sd 5 %; one trial in 20 is slower by 25 %"),
    (Shape::UnequalVariances, "unequal variances", "each cell has its own sd, log-uniform from 1.5 to 15 %"),
    (Shape::NoisiestQuarter, "unequal variances, noisiest quarter of the cells", "the same, judged by the quarter of the cells with the largest sd"),
    (Shape::WithinStarts, "series, pairs within a server start", "7 rows of 6 cells: sd 5 % for a server start and 5 % for a trial"),
    (Shape::BetweenStarts, "series, pairs between server starts", "the same rows, compared with each other"),
    (Shape::Drift, "drift", "normal, sd 5 %; the machine slows down by 30 % during the run, order shuffled in each block"),
    (Shape::CorrelatedBlocks, "correlated blocks", "AR(1) from trial to trial, coefficient 0.98 and sd 5 %, and 2 % for each trial"),
    (Shape::Bimodal, "bimodal", "one trial in four is slower by 15 %, sd 2 % in each mode"),
    (Shape::FewCells, "few cells", "normal, sd 5 %, 8 cells"),
    (Shape::HalfExact, "half exact, half noisy", "half of the cells have sd 0.05 %, half 5 %"),
    (Shape::Queries, "queries of three trials", "3 rows of 13 queries: sd 5 % for a server start, and each query its own sd, log-uniform from 1.5 to 15 %; the same query is compared"),
];

impl Shape {
    /// The matrix of one experiment. The cells of a pair stand beside each other, except between rows of a series.
    pub(crate) fn matrix(self, blocks: usize, random: &mut impl Rng) -> Vec<Row> {
        let common: Logs = (0..blocks).map(|_| 0.2 * normal(random)).collect();
        let mut rows = self.noise(blocks, random);
        for cell in rows.iter_mut().flatten() {
            cell.iter_mut()
                .zip(&common)
                .for_each(|(log, common)| *log += common);
        }
        rows
    }

    fn noise(self, blocks: usize, random: &mut impl Rng) -> Vec<Row> {
        let cells = if matches!(self, Shape::FewCells) {
            8
        } else {
            CELLS
        };
        match self {
            Shape::Normal | Shape::FewCells => alone(cells, blocks, |_| NOISE * normal(random)),
            Shape::Lognormal => alone(cells, blocks, |_| NOISE * skewed(random)),
            Shape::Outliers => alone(cells, blocks, |_| {
                NOISE * normal(random) + sometimes(0.05, 0.25, random)
            }),
            Shape::UnequalVariances | Shape::NoisiestQuarter => {
                let mut deviations = deviations(CELLS, random);
                // The pairs of the noisiest quarter are the last ones.
                if matches!(self, Shape::NoisiestQuarter) {
                    deviations.sort_by(f64::total_cmp);
                }
                alone(cells, blocks, |cell| deviations[cell] * normal(random))
            }
            Shape::HalfExact => {
                let mut deviations = [[0.0005; CELLS / 2], [NOISE; CELLS / 2]].concat();
                deviations.shuffle(random);
                alone(cells, blocks, |cell| deviations[cell] * normal(random))
            }
            Shape::Bimodal => alone(cells, blocks, |_| {
                0.02 * normal(random) + sometimes(0.25, 0.15, random)
            }),
            Shape::WithinStarts | Shape::BetweenStarts => series(
                ROWS_OF_SERIES,
                &[NOISE; CELLS / ROWS_OF_SERIES],
                blocks,
                random,
            ),
            Shape::Queries => {
                let deviations = deviations(QUERIES, random);
                series(3, &deviations, blocks, random)
            }
            Shape::Drift => {
                let trials = (cells * blocks) as f64;
                in_time(blocks, random, |at, random| {
                    0.3 * at as f64 / trials + NOISE * normal(random)
                })
            }
            Shape::CorrelatedBlocks => {
                let mut state = NOISE * normal(random);
                in_time(blocks, random, |_, random| {
                    state = 0.98 * state + (1.0 - 0.98f64 * 0.98).sqrt() * NOISE * normal(random);
                    state + 0.02 * normal(random)
                })
            }
        }
    }

    /// The pairs that are compared, each as two of (row, cell of the row). No cell is in two pairs.
    pub(crate) fn pairs(self) -> Vec<Pair> {
        let beside = |first: usize| [(2 * first, 0), (2 * first + 1, 0)];
        match self {
            Shape::WithinStarts => (0..ROWS_OF_SERIES)
                .map(|row| [(row, 0), (row, 1)])
                .collect(),
            Shape::BetweenStarts => (0..ROWS_OF_SERIES)
                .map(|row| [(row, row % 6), ((row + 1) % ROWS_OF_SERIES, (row + 3) % 6)])
                .collect(),
            Shape::Queries => (0..QUERIES)
                .map(|query| [(query % 2, query), (2, query)])
                .collect(),
            Shape::FewCells => (0..4).map(beside).collect(),
            Shape::NoisiestQuarter => (CELLS * 3 / 8..CELLS / 2).map(beside).collect(),
            _ => (0..CELLS / 2).map(beside).collect(),
        }
    }
}

/// Cells that share nothing but the block.
fn alone(cells: usize, blocks: usize, mut noise: impl FnMut(usize) -> f64) -> Vec<Row> {
    let mut cell = |cell| vec![(0..blocks).map(|_| noise(cell)).collect::<Logs>()];
    (0..cells).map(&mut cell).collect()
}

/// Noise that depends on the place in time; each block measures all cells, shuffled.
fn in_time<R: Rng>(
    blocks: usize,
    random: &mut R,
    mut noise: impl FnMut(usize, &mut R) -> f64,
) -> Vec<Row> {
    let mut cells = vec![Logs::new(); CELLS];
    let mut order: Vec<usize> = (0..CELLS).collect();
    for block in 0..blocks {
        order.shuffle(random);
        for (place, cell) in order.iter().enumerate() {
            cells[*cell].push(noise(block * CELLS + place, random));
        }
    }
    cells.into_iter().map(|cell| vec![cell]).collect()
}

/// Log-uniform from 1.5 to 15 %.
fn deviations(cells: usize, random: &mut impl Rng) -> Vec<f64> {
    let one = |_| 0.015 * 10f64.powf(random.random::<f64>());
    (0..cells).map(one).collect()
}

/// Rows of cells with these deviations. In each block the cells of a row share a server start.
fn series(rows: usize, deviations: &[f64], blocks: usize, random: &mut impl Rng) -> Vec<Row> {
    let mut row = || {
        let starts: Logs = (0..blocks).map(|_| NOISE * normal(random)).collect();
        let mut cell = |deviation: &f64| {
            let logs = starts
                .iter()
                .map(|start| start + deviation * normal(random));
            logs.collect()
        };
        deviations.iter().map(&mut cell).collect::<Row>()
    };
    (0..rows).map(|_| row()).collect()
}

/// A standard normal number (Box and Muller 1958).
fn normal(random: &mut impl Rng) -> f64 {
    let (a, b): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Lognormal of sigma 0.6, with mean 0 and standard deviation 1.
fn skewed(random: &mut impl Rng) -> f64 {
    let sigma: f64 = 0.6;
    let square = (sigma * sigma).exp();
    let deviation = (square * (square - 1.0)).sqrt();
    ((sigma * normal(random)).exp() - square.sqrt()) / deviation
}

/// This much in a share of the trials.
fn sometimes(share: f64, much: f64, random: &mut impl Rng) -> f64 {
    if random.random::<f64>() < share {
        much
    } else {
        0.0
    }
}
