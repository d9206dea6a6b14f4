//! The derivatives of the digamma function, and the inverse of the first: the moments of the logarithm of a variance.

/// From here on the asymptotic series is exact to 1e-12.
const LARGE: f64 = 10.0;

/// The variance of the logarithm of a gamma variable of shape `x`, for x > 0 (Abramowitz and Stegun 1964, 6.4.6 and 6.4.12).
pub(crate) fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < LARGE {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let tail = 1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0)));
    sum + 1.0 / x + y / 2.0 + y / x * tail
}

/// The derivative of `trigamma`.
fn tetragamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < LARGE {
        sum -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let tail = 0.5 - y * (1.0 / 6.0 - y * (1.0 / 6.0 - y * 0.3));
    sum - y - y / x - y * y * tail
}

/// The x with `trigamma(x) == value`, for value > 0: Newton's method on the reciprocal, which is nearly a straight line (Smyth 2004,
/// appendix).
pub(crate) fn inverse_trigamma(value: f64) -> f64 {
    match value {
        large if large > 1e7 => 1.0 / large.sqrt(),
        small if small < 1e-6 => 1.0 / small,
        _ => newton(value),
    }
}

fn newton(value: f64) -> f64 {
    let mut x = 0.5 + 1.0 / value;
    for _ in 0..50 {
        let at = trigamma(x);
        let step = at * (1.0 - at / value) / tetragamma(x);
        x += step;
        if step.abs() < 1e-10 * x {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn is_close(measured: f64, known: f64) -> bool {
        (measured / known - 1.0).abs() < 1e-9
    }

    #[test]
    fn trigamma_has_its_known_values() {
        assert!(is_close(trigamma(1.0), PI * PI / 6.0));
        assert!(is_close(trigamma(0.5), PI * PI / 2.0));
        assert!(is_close(trigamma(2.5), PI * PI / 2.0 - 4.0 - 4.0 / 9.0));
    }

    #[test]
    fn tetragamma_is_the_slope_of_trigamma() {
        for x in [0.3, 1.0, 4.0, 30.0] {
            let slope = (trigamma(x + 1e-5) - trigamma(x - 1e-5)) / 2e-5;
            assert!((tetragamma(x) / slope - 1.0).abs() < 1e-4, "{x}");
        }
    }

    #[test]
    fn the_inverse_returns_what_trigamma_was_given() {
        for x in [1e-5, 0.01, 0.5, 1.0, 3.0, 70.0, 1e8] {
            assert!(
                (inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-5,
                "{x}"
            );
        }
    }
}
