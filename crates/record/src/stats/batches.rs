//! The noise within a trial, by batch means.
//!
//! Seconds of one trial are correlated, so their own variance says too little. The means of ten long batches hardly are (Conway, "Some
//! tactical problems in digital simulation", Management Science, 1963).

use super::steady::Steady;

const BATCHES: usize = 10;

/// The standard error of the mean of the measured seconds, as a share of it. None with fewer than two seconds a batch.
pub(super) fn error(seconds: &[f64], steady: &Steady) -> Option<f64> {
    let measured = seconds.get(steady.from_s as usize..steady.until_s as usize)?;
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

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::super::summary::summarise;

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
    fn a_load_under_20_seconds_has_no_figure() {
        assert_eq!(of(|_| 500.0, 19), None);
    }
}
