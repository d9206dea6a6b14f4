//! The noise within a trial: from second to second, and of the mean by batch means.
//!
//! Seconds of one trial are correlated, so their own variance says too little. The means of ten long batches hardly are (Conway, "Some
//! tactical problems in digital simulation", Management Science, 1963).

use record::Steady;

const BATCHES: usize = 10;

/// The standard error of the mean of the measured seconds, as a share of it. None with fewer than two seconds a batch.
pub(crate) fn error(seconds: &[f64], steady: &Steady) -> Option<f64> {
    let measured = seconds.get(steady.range())?;
    let length = measured.len() / BATCHES;
    if length < 2 {
        return None;
    }
    let means: Vec<f64> = (measured.chunks_exact(length).take(BATCHES))
        .map(|batch| batch.iter().sum::<f64>() / length as f64)
        .collect();
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let squares: f64 = means.iter().map(|batch| (batch - mean).powi(2)).sum();
    let error = (squares / (BATCHES - 1) as f64 / BATCHES as f64).sqrt();
    (mean > 0.0).then(|| error / mean)
}

/// The standard deviation of the measured seconds as a share of their mean (the coefficient of variation). None under ten seconds.
pub(crate) fn variation(seconds: &[f64], steady: &Steady) -> Option<f64> {
    let measured = seconds.get(steady.range())?;
    let count = measured.len() as f64;
    let mean = measured.iter().sum::<f64>() / count;
    let squares: f64 = measured.iter().map(|second| (second - mean).powi(2)).sum();
    (measured.len() >= BATCHES && mean > 0.0).then(|| (squares / (count - 1.0)).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::load::summary::summarise;

    fn of(throughput: impl Fn(usize) -> f64, seconds: usize) -> Option<f64> {
        summarise(&fixture::closed(throughput, seconds)).throughput_error
    }

    #[test]
    fn a_constant_load_has_no_noise_within() {
        assert_eq!(of(|_| 500.0, 60), Some(0.0));
    }

    #[test]
    fn batches_that_alternate_by_10_percent_have_the_known_error() {
        // Ten batches of 6 s at 900 and 1,100: a standard deviation of 105.4, so 33.3 of ten batches.
        let error = of(
            |second| if second / 6 % 2 == 0 { 900.0 } else { 1100.0 },
            60,
        );
        assert!((error.unwrap() - 0.0333).abs() < 0.0002, "{error:?}");
    }

    #[test]
    fn seconds_that_swing_by_half_vary_by_half() {
        let swings = |second| if second % 2 == 0 { 500.0 } else { 1500.0 };
        let variation = summarise(&fixture::closed(swings, 60)).variation;
        assert!((variation.unwrap() - 0.504).abs() < 0.001, "{variation:?}");
        assert_eq!(
            summarise(&fixture::closed(|_| 500.0, 60)).variation,
            Some(0.0)
        );
        assert_eq!(summarise(&fixture::closed(swings, 9)).variation, None);
    }

    #[test]
    fn a_load_under_20_seconds_has_no_figure() {
        assert_eq!(of(|_| 500.0, 19), None);
    }
}
