//! Running medians and scatters over 61 s.

/// Seconds to either side.
const REACH: usize = 30;
/// A second is an outlier if its distance from the median exceeds this multiple of the span from p10 to p90.
const OUTLIER: f64 = 3.0;

/// The seconds around one, fewer at the ends, in ascending order of value.
fn around(values: &[f64], second: usize) -> Vec<f64> {
    let until = (second + REACH + 1).min(values.len());
    let mut around = values[second.saturating_sub(REACH)..until].to_vec();
    around.sort_by(f64::total_cmp);
    around
}

/// The value below which a share of ascending values lies; 0 of none.
pub(crate) fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len().saturating_sub(1) as f64;
    let found = ascending.get((last * share).round() as usize);
    found.copied().unwrap_or_default()
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    quantile(&ascending, 0.5)
}

/// The usual values of a series.
pub struct Usual {
    pub median: f64,
    /// A value above this is unusual: the third quartile and three interquartile ranges (Tukey's outer fence).
    pub fence: f64,
}

impl Usual {
    /// None of no value.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Usual> {
        let mut ascending: Vec<f64> = values.collect();
        ascending.sort_by(f64::total_cmp);
        let (first, third) = (quantile(&ascending, 0.25), quantile(&ascending, 0.75));
        (!ascending.is_empty()).then(|| Usual {
            median: quantile(&ascending, 0.5),
            fence: third + 3.0 * (third - first),
        })
    }
}

/// The median of the 61 s around each second.
pub(crate) fn medians(values: &[f64]) -> Vec<f64> {
    (0..values.len())
        .map(|second| quantile(&around(values, second), 0.5))
        .collect()
}

/// The standard deviation of normal values over their median absolute deviation.
const OF_NORMAL: f64 = 1.4826;

/// The standard deviation of values, estimated from the median absolute deviation, which a few outliers do not affect.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    OF_NORMAL * median(&distances)
}

/// The scatter of the 61 s around each second: the standard deviation, estimated from the median absolute deviation, which
/// stalls do not affect.
pub(crate) fn scatters(values: &[f64]) -> Vec<f64> {
    let scatter = |second: usize| deviation(&around(values, second));
    (0..values.len()).map(scatter).collect()
}

/// With single seconds far from their neighbours replaced by the running median, as Barrett et al. 2017 set outliers
/// aside. Those at the very beginning stay, because there they are a warm-up.
pub(crate) fn without_outliers(values: &[f64]) -> Vec<f64> {
    let mut beginning = true;
    let calm = |second: usize| {
        let around = around(values, second);
        let median = quantile(&around, 0.5);
        let span = quantile(&around, 0.9) - quantile(&around, 0.1);
        let outlier = (values[second] - median).abs() > OUTLIER * span;
        beginning &= outlier;
        match outlier && !beginning {
            true => median,
            false => values[second],
        }
    };
    (0..values.len()).map(calm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::noisy;

    #[test]
    fn an_outlier_is_replaced_in_the_middle_and_kept_at_the_beginning() {
        let mut values: Vec<f64> = (0..60).map(|s| 100.0 + f64::from(s % 3)).collect();
        values[0] = 5.0;
        values[40] = 5.0;
        let calm = without_outliers(&values);
        assert_eq!(calm[0], 5.0);
        assert_eq!(calm[40], 101.0);
        assert_eq!(calm[41..], values[41..]);
    }

    #[test]
    fn the_running_scatter_is_the_standard_deviation_without_stalls() {
        let mut values = noisy(600, 3, |_| 1000.0, 50.0);
        values[300..320].fill(0.0);
        let scatters = scatters(&values);
        let mean = scatters[..250].iter().sum::<f64>() / 250.0;
        assert!((mean - 50.0).abs() < 5.0, "{mean}");
        assert!(scatters[310] < 120.0, "{}", scatters[310]);
    }

    #[test]
    fn the_running_median_sees_thirty_seconds_to_either_side() {
        let values: Vec<f64> = (0..200).map(f64::from).collect();
        let medians = medians(&values);
        assert_eq!(
            (medians[100], medians[0], medians[199]),
            (100.0, 15.0, 184.0)
        );
    }
}
