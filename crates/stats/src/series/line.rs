//! A straight line through a series, and how certain its slope is.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Most batches that a series is divided into.
pub(crate) const BATCHES: usize = 10;

/// Five to ten means of as many seconds each: neighbouring seconds are alike, means over longer spans much less.
pub(crate) fn batches(values: &[f64]) -> Vec<f64> {
    let width = values.len().div_ceil(BATCHES).max(1);
    let mean = |batch: &[f64]| batch.iter().sum::<f64>() / width as f64;
    values.chunks_exact(width).map(mean).collect()
}

/// Least squares over 0, 1, 2, ...
pub(crate) struct Line {
    pub(crate) slope: f64,
    standard_error: f64,
    points: usize,
}

impl Line {
    pub(crate) fn through(values: &[f64]) -> Line {
        let (points, count) = (values.len(), values.len() as f64);
        // Two points have a slope but no error.
        if points < 3 {
            return Line {
                slope: values.get(1).map_or(0.0, |second| second - values[0]),
                standard_error: f64::INFINITY,
                points,
            };
        }
        let (x_mean, y_mean) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
        let centred = || {
            let values = values.iter().enumerate();
            values.map(|(x, y)| (x as f64 - x_mean, y - y_mean))
        };
        let xx: f64 = centred().map(|(x, _)| x * x).sum();
        let slope = centred().map(|(x, y)| x * y).sum::<f64>() / xx;
        let residual: f64 = centred().map(|(x, y)| (y - slope * x).powi(2)).sum();
        Line {
            slope,
            standard_error: (residual / (count - 2.0) / xx).sqrt(),
            points,
        }
    }

    /// The one-sided p value against "the true slope is not above 0"; 1 with fewer than three points.
    pub(crate) fn p_of_rise(&self) -> f64 {
        let Ok(student) = StudentsT::new(0.0, 1.0, self.points as f64 - 2.0) else {
            return 1.0;
        };
        match self.standard_error {
            0.0 if self.slope > 0.0 => 0.0,
            0.0 => 1.0,
            error => student.sf(self.slope / error),
        }
    }

    /// The two-sided p value against "the true slope is 0".
    pub(crate) fn p_of_any(&self) -> f64 {
        let steep = Line {
            slope: self.slope.abs(),
            ..*self
        };
        (2.0 * steep.p_of_rise()).min(1.0)
    }
}
