//! When operations are due: schedules as pure functions of a seed.

/// Rates are operations a second; times seconds since the drive's beginning.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson { rate: f64 },
    /// Equal gaps.
    Uniform { rate: f64 },
    /// Poisson at `rate`, and at `burst_rate` for `burst_s` at the beginning of every `every_s`.
    Bursts {
        rate: f64,
        burst_rate: f64,
        every_s: f64,
        burst_s: f64,
    },
    /// Poisson, the rate growing linearly from one to the other over `over_s`, then staying.
    Ramp { from: f64, to: f64, over_s: f64 },
    /// Recorded times, ascending; it ends with the last.
    Trace { at_ns: std::sync::Arc<[u64]> },
}
