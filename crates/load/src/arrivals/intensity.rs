//! Arrival rates over time: computes when the expected number of arrivals reaches a value.
//!
//! A nonhomogeneous Poisson process is a unit process under the inverse of its integrated rate (Çinlar, "Introduction to
//! Stochastic Processes", 1975, section 4.7: the time change).

/// The arrival rate as a function of time.
#[derive(Clone, Debug)]
pub(crate) enum Intensity {
    Constant {
        rate: f64,
    },
    Bursts {
        rate: f64,
        burst_rate: f64,
        every_s: f64,
        burst_s: f64,
    },
    Ramp {
        from: f64,
        to: f64,
        over_s: f64,
    },
}

impl Intensity {
    pub(super) fn constant(rate: f64) -> Intensity {
        Intensity::Constant { rate }
    }

    pub(super) fn bursts(rate: f64, burst_rate: f64, every_s: f64, burst_s: f64) -> Intensity {
        Intensity::Bursts {
            rate,
            burst_rate,
            every_s,
            burst_s,
        }
    }

    pub(super) fn ramp(from: f64, to: f64, over_s: f64) -> Intensity {
        Intensity::Ramp { from, to, over_s }
    }

    /// Time in seconds at which `expected` arrivals are expected: the inverse of the integrated rate.
    pub(super) fn time_s(&self, expected: f64) -> f64 {
        match *self {
            Intensity::Constant { rate } => expected / rate,
            Intensity::Bursts {
                rate,
                burst_rate,
                every_s,
                burst_s,
            } => bursts_time_s(rate, burst_rate, every_s, burst_s, expected),
            Intensity::Ramp { from, to, over_s } => ramp_time_s(from, to, over_s, expected),
        }
    }
}

fn bursts_time_s(rate: f64, burst_rate: f64, every_s: f64, burst_s: f64, expected: f64) -> f64 {
    let in_burst = burst_rate * burst_s;
    let in_period = in_burst + rate * (every_s - burst_s);
    let periods = (expected / in_period).floor();
    let rest = (expected - periods * in_period).clamp(0.0, in_period);
    let begun_s = periods * every_s;
    if rest <= in_burst {
        begun_s + rest / burst_rate
    } else {
        begun_s + burst_s + (rest - in_burst) / rate
    }
}

/// Solves `from t + (to - from) t^2 / (2 over) = expected`, in the form without cancellation where both rates are close.
fn ramp_time_s(from: f64, to: f64, over_s: f64, expected: f64) -> f64 {
    let in_ramp = over_s * (from + to) / 2.0;
    if expected >= in_ramp {
        return over_s + (expected - in_ramp) / to;
    }
    if expected == 0.0 {
        return 0.0;
    }
    let root = (from * from + 2.0 * (to - from) / over_s * expected).max(0.0);
    2.0 * expected / (from + root.sqrt())
}
