//! Arrival rates over time: computes when the expected number of arrivals reaches a value.
//!
//! A nonhomogeneous Poisson process is a unit process under the inverse of its integrated rate (Çinlar, "Introduction to
//! Stochastic Processes", 1975, section 4.7: the time change).

use super::Arrivals;

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
    /// That of arrivals with a rate, which a trace has not.
    pub(super) fn from_arrivals(arrivals: &Arrivals) -> Intensity {
        match *arrivals {
            Arrivals::Bursts {
                rate,
                burst_rate,
                every_s,
                burst_s,
            } => Intensity::Bursts {
                rate,
                burst_rate,
                every_s,
                burst_s,
            },
            Arrivals::Ramp { from, to, over_s } => Intensity::Ramp { from, to, over_s },
            Arrivals::Poisson { rate } | Arrivals::Uniform { rate } => Intensity::Constant { rate },
            Arrivals::Trace { .. } => unreachable!("a trace has no rate"),
        }
    }

    /// Expected arrivals until `at_s`: the integrated rate.
    pub(super) fn expected(&self, at_s: f64) -> f64 {
        match *self {
            Intensity::Constant { rate } => rate * at_s,
            Intensity::Bursts {
                rate,
                burst_rate,
                every_s,
                burst_s,
            } => {
                let (periods, rest_s) = divided(at_s, every_s);
                let in_burst_s = periods * burst_s + rest_s.min(burst_s);
                burst_rate * in_burst_s + rate * (at_s - in_burst_s)
            }
            Intensity::Ramp { from, to, over_s } => {
                let ramp_s = at_s.min(over_s);
                let at_end = from + (to - from) * ramp_s / over_s;
                (from + at_end) / 2.0 * ramp_s + to * (at_s - ramp_s)
            }
        }
    }

    /// The lowest and the highest rate from `from_s` until `until_s`.
    pub(super) fn range(&self, from_s: f64, until_s: f64) -> (f64, f64) {
        let (one, other) = match *self {
            Intensity::Constant { rate } => (rate, rate),
            Intensity::Bursts {
                rate,
                burst_rate,
                every_s,
                burst_s,
            } => {
                let (_, place_s) = divided(from_s, every_s);
                let left_s = until_s - from_s;
                let has_burst = place_s < burst_s || place_s + left_s > every_s;
                let has_pause = place_s + left_s > burst_s && burst_s < every_s;
                (
                    if has_pause { rate } else { burst_rate },
                    if has_burst { burst_rate } else { rate },
                )
            }
            Intensity::Ramp { from, to, over_s } => {
                let at = |at_s: f64| from + (to - from) * (at_s / over_s).min(1.0);
                (at(from_s), at(until_s))
            }
        };
        (one.min(other), one.max(other))
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

/// Whole periods until `at_s`, and the rest. The remainder of the two numbers is no such rest: 11.0 / 1.1 is 10, and 11.0 % 1.1 nearly 1.1.
fn divided(at_s: f64, every_s: f64) -> (f64, f64) {
    let periods = (at_s / every_s).floor();
    (periods, (at_s - periods * every_s).max(0.0))
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
