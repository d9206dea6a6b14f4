//! Change points in mean and variance.
//!
//! Source: the cost, its penalty of 15 ln n and its use on seconds of a benchmark are those of Barrett, Bolz-Tereick, Killick, Mount and
//! Tratt, "Virtual machine warmup blows hot and cold", OOPSLA 2017; the exact search is optimal partitioning (Jackson et
//! al. 2005), of which their PELT (Killick, Fearnhead and Eckley 2012) is a pruned form with the same answer. It is
//! quadratic, so longer series are first averaged to `POINTS_MAX` points.
//!
//! The cost supposes points that do not depend on each other. Seconds of a server do: where each resembles the one before, they wander,
//! and their spells would look like changes. So many dependent points say as much as fewer independent ones, in the ratio (1 + phi) / (1 - phi)
//! for a correlation phi of neighbours; the penalty is raised by it.

use super::running;
use std::f64::consts::TAU;

pub(crate) const POINTS_MAX: usize = 2000;
/// Points that a segment has at least.
const SHORTEST: usize = 5;

/// A part of a series that has one mean and one variance: `from..until`, in seconds of the series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) from: usize,
    pub(crate) until: usize,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Segment {
    pub(crate) fn of(values: &[f64], from: usize, until: usize) -> Segment {
        let part = &values[from..until];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        let squares: f64 = part.iter().map(|value| (value - mean).powi(2)).sum();
        Segment {
            from,
            until,
            mean,
            deviation: (squares / part.len() as f64).sqrt(),
        }
    }

    /// Values around its mean in units of its deviation; None where it has none.
    pub(crate) fn normalised(&self, values: &[f64]) -> Option<Vec<f64>> {
        let normal = |value: &f64| (value - self.mean) / self.deviation;
        (self.deviation > 0.0).then(|| values.iter().map(normal).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.until - self.from
    }
}

/// The segments of a series in order; one where nothing changes.
pub(crate) fn segments(values: &[f64]) -> Vec<Segment> {
    if values.is_empty() {
        return Vec::new();
    }
    let width = values.len().div_ceil(POINTS_MAX);
    let points: Vec<f64> = values
        .chunks(width)
        .map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64)
        .collect();
    let mut edges: Vec<usize> = cuts(&points).into_iter().map(|cut| cut * width).collect();
    edges.insert(0, 0);
    edges.push(values.len());
    edges
        .windows(2)
        .map(|edge| Segment::of(values, edge[0], edge[1]))
        .collect()
}

/// Where the points change, ascending.
///
/// The correlation is first taken to be 0, and then that within the segments found, until it no longer grows: a single change
/// that explains all is kept, also where a bad spell before it makes neighbours alike. Segments that only follow a wandering
/// series leave its correlation in them, and fall to the penalty of the next round.
fn cuts(points: &[f64]) -> Vec<usize> {
    let cost = Cost::of(points);
    let at_most = correlation(points);
    let (mut phi, mut cuts) = (0.0, cheapest(&cost, points.len(), 0.0));
    loop {
        let within = correlation_within(points, &cuts).min(at_most);
        if within <= phi + CORRELATION_STEP {
            return cuts;
        }
        (phi, cuts) = (within, cheapest(&cost, points.len(), within));
    }
}

/// What a cut has to lower the cost by, for points of this correlation.
pub(crate) fn penalty(points: f64, phi: f64) -> f64 {
    15.0 * points.ln() * (1.0 + phi) / (1.0 - phi)
}

/// The cuts of least cost, for points of this correlation.
fn cheapest(cost: &Cost, n: usize, phi: f64) -> Vec<usize> {
    let penalty = penalty(n as f64, phi);
    // best[t]: the least cost of the first t points; last[t]: where their last segment begins.
    let mut best = vec![f64::INFINITY; n + 1];
    let mut last = vec![0; n + 1];
    best[0] = -penalty;
    for t in SHORTEST.min(n)..=n {
        let latest = t.saturating_sub(SHORTEST);
        for from in 0..=latest {
            let total = best[from] + cost.segment(from, t) + penalty;
            if total < best[t] {
                (best[t], last[t]) = (total, from);
            }
        }
    }
    let mut cuts = Vec::new();
    let mut at = last[n];
    while at > 0 {
        cuts.push(at);
        at = last[at];
    }
    cuts.reverse();
    cuts
}

/// No series is taken to be more correlated: smooth ones would have no change at all. Simulated series of 0.98 have none with it.
const CORRELATION_MAX: f64 = 0.9;
/// A growth of less changes the penalty by a few percent.
const CORRELATION_STEP: f64 = 0.01;
/// The largest differences are those at the changes.
const DIFFERENCES_KEPT: f64 = 0.9;

/// The correlation of neighbouring points, from 0, whatever the changes between them.
///
/// Of a first-order autoregression the mean square of the differences two apart is 1 + phi times that of neighbours (Chakar, Lebarbier,
/// Levy-Leduc and Robin, "A robust approach for estimating change-points in the mean of an AR(1) process", Bernoulli 23, 2017). The
/// running median takes trends and levels away. The largest differences are left out of the means; where a bad spell has more of them than
/// that, as among seconds that a limit makes equal, only the medians are still right, but in a short series they are
/// less exact. So the lower estimate counts: it finds more changes and not more false ones (the tests below).
pub(crate) fn correlation(points: &[f64]) -> f64 {
    let medians = running::medians(points);
    let pairs = points.iter().zip(medians);
    let rest: Vec<f64> = pairs.map(|(point, median)| point - median).collect();
    let [one, two] = [1, 2].map(|apart| squares(&rest, apart));
    let by = |typical: fn(&[f64]) -> f64| match typical(&one) {
        0.0 => 0.0,
        neighbours => typical(&two) / neighbours - 1.0,
    };
    by(kept_mean).min(by(middle)).clamp(0.0, CORRELATION_MAX)
}

/// The correlation of neighbouring points around the means of their segments, each in units of its deviation. A segment's own mean
/// lowers the sum of the products by about one.
fn correlation_within(points: &[f64], cuts: &[usize]) -> f64 {
    let ends = cuts.iter().copied().chain([points.len()]);
    let (mut products, mut pairs, mut from) = (0.0, 0, 0);
    for until in ends {
        let segment = Segment::of(points, from, until);
        if let Some(rest) = segment.normalised(&points[from..until]) {
            products += 1.0 + rest.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
            pairs += segment.len() - 1;
        }
        from = until;
    }
    (products / pairs.max(1) as f64).clamp(0.0, CORRELATION_MAX)
}

/// Of the differences of points so far apart, ascending.
fn squares(points: &[f64], apart: usize) -> Vec<f64> {
    let pairs = points.iter().zip(points.iter().skip(apart));
    let mut squares: Vec<f64> = pairs.map(|(a, b)| (b - a).powi(2)).collect();
    squares.sort_by(f64::total_cmp);
    squares
}

fn kept_mean(squares: &[f64]) -> f64 {
    let kept = &squares[..(squares.len() as f64 * DIFFERENCES_KEPT) as usize];
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

fn middle(squares: &[f64]) -> f64 {
    running::quantile(squares, 0.5)
}

/// Counts have no less: the deviation of rounding, and a thousandth of the mean.
pub(crate) fn least_deviation(mean: f64) -> f64 {
    (1.0f64 / 12.0).sqrt().max(mean / 1000.0)
}

/// Twice the negative log likelihood of a normal segment, from sums of the values and of their squares.
struct Cost {
    sums: Vec<(f64, f64)>,
    /// Of [`least_deviation`].
    variance_min: f64,
}

impl Cost {
    fn of(points: &[f64]) -> Cost {
        let mean = points.iter().sum::<f64>() / points.len() as f64;
        let mut sums = vec![(0.0, 0.0)];
        let mut sum = (0.0, 0.0);
        for point in points {
            let centred = point - mean;
            sum = (sum.0 + centred, sum.1 + centred * centred);
            sums.push(sum);
        }
        Cost {
            sums,
            variance_min: least_deviation(mean).powi(2),
        }
    }

    fn segment(&self, from: usize, until: usize) -> f64 {
        let count = (until - from) as f64;
        let sum = self.sums[until].0 - self.sums[from].0;
        let squares = self.sums[until].1 - self.sums[from].1;
        let variance = (squares / count - (sum / count).powi(2)).max(self.variance_min);
        count * (TAU.ln() + variance.ln() + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{noisy, wandering};

    fn edges(values: &[f64]) -> Vec<usize> {
        segments(values).iter().skip(1).map(|s| s.from).collect()
    }

    #[test]
    fn a_series_without_a_change_is_one_segment() {
        for seed in 0..50 {
            assert_eq!(edges(&noisy(300, seed, |_| 1000.0, 50.0)), [0; 0], "{seed}");
        }
    }

    #[test]
    fn a_change_of_the_mean_is_found_where_it_is() {
        let values = noisy(200, 1, |s| if s < 60 { 500.0 } else { 1000.0 }, 30.0);
        assert_eq!(edges(&values), [60]);
    }

    #[test]
    fn a_change_of_the_variance_alone_is_found() {
        let mut values = noisy(150, 2, |_| 1000.0, 5.0);
        values.extend(noisy(150, 3, |_| 1000.0, 100.0));
        let edges = edges(&values);
        assert!(edges.len() == 1 && edges[0].abs_diff(150) <= 3, "{edges:?}");
    }

    #[test]
    fn the_correlation_of_neighbours_is_found_beside_changes_and_trends() {
        for known in [0.0, 0.5, 0.8, 0.95] {
            let found = |seed| {
                let noise = wandering(600, seed, known, 50.0);
                let level = |second: usize| {
                    if second < 250 {
                        500.0
                    } else {
                        2.0 * second as f64
                    }
                };
                correlation(&(0..600).map(|s| noise[s] + level(s)).collect::<Vec<_>>())
            };
            let mean = (0..20).map(found).sum::<f64>() / 20.0;
            let known = known.min(CORRELATION_MAX);
            assert!((mean - known).abs() < 0.1, "{known}: {mean}");
        }
    }

    /// With the penalty of independent points, 60 % of such series have a false level.
    #[test]
    fn seconds_that_wander_around_one_level_are_one_segment() {
        for phi in [0.8, 0.95] {
            let has_change = |seed: &u64| !edges(&wandering(600, *seed, phi, 50.0)).is_empty();
            let wrong = (0..60).filter(has_change).count();
            assert!(wrong <= 5, "phi {phi}: {wrong} of 60");
        }
    }

    #[test]
    fn a_change_of_the_mean_is_found_in_correlated_seconds() {
        for seed in 0..20 {
            let noise = wandering(600, seed, 0.5, 30.0);
            let level = |second: usize| if second < 250 { 500.0 } else { 1000.0 };
            let values: Vec<f64> = (0..600).map(|s| noise[s] + level(s)).collect();
            let edges = edges(&values);
            assert!(
                edges.len() == 1 && edges[0].abs_diff(250) <= 2,
                "{seed}: {edges:?}"
            );
        }
    }

    /// A limit of 200 writes per second, a busy disk before it falls to 20: the differences of neighbours are mostly 0.
    #[test]
    fn a_change_is_found_between_equal_seconds_after_a_bad_spell() {
        let mut values = [200.0; 26].to_vec();
        values[1] = 220.0;
        values[4..7].copy_from_slice(&[199.0, 181.0, 164.0]);
        values[21..].copy_from_slice(&[60.0, 144.0, 140.0, 68.0, 104.0]);
        values.extend([20.0; 18]);
        let edges = edges(&values);
        assert_eq!(edges.last(), Some(&26), "{edges:?}");
    }

    /// Recorded on a busy machine: the limit falls from 200 to 25 writes per second, and what differs between neighbours is mostly bad spells.
    #[test]
    fn a_change_is_found_beside_bad_spells_that_make_neighbours_alike() {
        let values = [
            135., 125., 188., 200., 200., 200., 124., 200., 200., 200., 200., 200., 200., 200.,
            200., 200., 200., 200., 200., 200., 200., 144., 189., 215., 180., 124., 15., 21., 18.,
            19., 2., 0., 25., 12., 19., 20., 21., 20., 18., 20., 22., 20., 20., 18.,
        ];
        assert_eq!(correlation(&values), CORRELATION_MAX);
        assert_eq!(edges(&values), [26]);
    }

    /// By the correlation of the whole series alone 73 % are found, and by the means of its differences alone 58 %.
    #[test]
    fn a_change_after_a_bad_spell_is_found_in_most_short_series() {
        let is_found = |seed: &u64| {
            let spell = noisy(45, seed + 1000, |_| 90.0, 50.0);
            let mut values = noisy(45, *seed, |s| if s < 27 { 1000.0 } else { 820.0 }, 30.0);
            (23..27).for_each(|s| values[s] -= spell[s]);
            edges(&values).iter().any(|edge| edge.abs_diff(27) <= 5)
        };
        let found = (0..200).filter(is_found).count();
        assert!(found >= 160, "{found} of 200");
    }

    #[test]
    fn change_points_are_found_in_a_long_series() {
        let values = noisy(10_800, 4, |s| if s < 4000 { 380.0 } else { 300.0 }, 20.0);
        let edges = edges(&values);
        assert!(
            edges.len() == 1 && edges[0].abs_diff(4000) <= 12,
            "{edges:?}"
        );
    }

    #[test]
    fn series_of_a_few_seconds_are_one_segment() {
        for n in 1..10 {
            assert_eq!(segments(&vec![5.0; n]).len(), 1);
        }
        assert!(segments(&[]).is_empty());
    }
}
