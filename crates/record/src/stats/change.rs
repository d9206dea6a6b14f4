//! Change points in mean and variance.
//!
//! Source: the cost, its penalty of 15 ln n and its use on seconds of a benchmark are those of Barrett, Bolz-Tereick, Killick, Mount and
//! Tratt, "Virtual machine warmup blows hot and cold", OOPSLA 2017; the exact search is optimal partitioning (Jackson et
//! al. 2005), of which their PELT (Killick, Fearnhead and Eckley 2012) is a pruned form with the same answer. It is
//! quadratic, so longer series are first averaged to `POINTS_MAX` points.

use std::f64::consts::TAU;

pub(super) const POINTS_MAX: usize = 2000;
/// Points that a segment has at least.
const SHORTEST: usize = 5;

/// A part of a series that has one mean and one variance: `from..until`, in seconds of the series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    pub(super) from: usize,
    pub(super) until: usize,
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Segment {
    pub(super) fn of(values: &[f64], from: usize, until: usize) -> Segment {
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
    pub(super) fn normalised(&self, values: &[f64]) -> Option<Vec<f64>> {
        let normal = |value: &f64| (value - self.mean) / self.deviation;
        (self.deviation > 0.0).then(|| values.iter().map(normal).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.until - self.from
    }
}

/// The segments of a series in order; one where nothing changes.
pub(super) fn segments(values: &[f64]) -> Vec<Segment> {
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
fn cuts(points: &[f64]) -> Vec<usize> {
    let n = points.len();
    let penalty = 15.0 * (n as f64).ln();
    let cost = Cost::of(points);
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

/// Twice the negative log likelihood of a normal segment, from sums of the values and of their squares.
struct Cost {
    sums: Vec<(f64, f64)>,
    /// Counts have no less: the variance of rounding, and a thousandth of the mean.
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
            variance_min: (1.0f64 / 12.0).max((mean / 1000.0).powi(2)),
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
    use super::super::noise::noisy;
    use super::*;

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
