//! Arrival schedules for open loop: when operations are due, as pure functions of a seed.
//!
//! Goal: exact schedules. Each schedule maps one sequence of unit arrivals (exponential gaps of mean 1, or equal gaps) through the
//! inverse of its integrated rate. It needs no random thinning, and one seed serves every kind of schedule.
//! Non-goals: waiting for due times (`drive`), queues (`pacer`).

mod intensity;

use crate::share::Share;
use intensity::Intensity;
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use rand_pcg::Pcg64;
use std::sync::Arc;

/// The clock's resolution is a nanosecond, so a higher rate cannot be scheduled.
const RATE_MAX: f64 = 1e9;
const NS_PER_S: f64 = 1e9;

/// When operations arrive. Rates are operations per second, times are seconds since the start of the drive.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Exponentially distributed gaps.
    Poisson { rate: f64 },
    /// Equal gaps, the first arrival at 0.
    Uniform { rate: f64 },
    /// Poisson arrivals at `rate`, and at `burst_rate` for the first `burst_s` of every `every_s`.
    Bursts {
        rate: f64,
        burst_rate: f64,
        every_s: f64,
        burst_s: f64,
    },
    /// Poisson arrivals whose rate changes linearly over `over_s` and then stays constant.
    Ramp { from: f64, to: f64, over_s: f64 },
    /// Recorded times, ascending. After the last one nothing arrives.
    Trace { at_ns: Arc<[u64]> },
}

impl Arrivals {
    /// Checks that the values can be scheduled.
    ///
    /// # Errors
    /// One sentence with the value, the cause and the fix.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Arrivals::Poisson { rate } | Arrivals::Uniform { rate } => {
                above_zero("the rate", *rate)
            }
            Arrivals::Bursts {
                rate,
                burst_rate,
                every_s,
                burst_s,
            } => {
                not_negative("the rate between bursts", *rate)?;
                above_zero("the burst rate", *burst_rate)?;
                burst_lengths(*every_s, *burst_s)
            }
            Arrivals::Ramp { from, to, over_s } => {
                not_negative("the rate at the start of the ramp", *from)?;
                above_zero("the rate at the end of the ramp", *to)?;
                a_length("the ramp", *over_s)
            }
            Arrivals::Trace { at_ns } => ascending(at_ns),
        }
    }
}

/// Scheduled rates of a part of a load, in operations per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    pub mean: f64,
    /// The lowest and the highest; None if the rate does not change, and of a trace.
    pub range: Option<(f64, f64)>,
}

impl Arrivals {
    /// The rates from `from_s` until `until_s`, which is later.
    pub fn rates(&self, from_s: f64, until_s: f64) -> Rates {
        let seconds = (until_s - from_s).max(f64::MIN_POSITIVE);
        let (expected, range) = match self {
            Arrivals::Poisson { rate } | Arrivals::Uniform { rate } => (rate * seconds, None),
            Arrivals::Trace { at_ns } => {
                let before = |end_s: f64| at_ns.partition_point(|at| *at as f64 / NS_PER_S < end_s);
                ((before(until_s) - before(from_s)) as f64, None)
            }
            _ => {
                let intensity = Intensity::from_arrivals(self);
                let expected = intensity.expected(until_s) - intensity.expected(from_s);
                (expected, Some(intensity.range(from_s, until_s)))
            }
        };
        Rates {
            mean: expected / seconds,
            range,
        }
    }
}

fn above_zero(name: &str, rate: f64) -> Result<(), String> {
    if rate == 0.0 {
        return Err(format!(
            "{name} is 0: give a number of operations per second above 0"
        ));
    }
    not_negative(name, rate)
}

fn not_negative(name: &str, rate: f64) -> Result<(), String> {
    if !rate.is_finite() || rate < 0.0 {
        return Err(format!(
            "{name} is {rate}: give a finite number of operations per second, at least 0"
        ));
    }
    if rate > RATE_MAX {
        return Err(format!(
            "{name} is {rate} per second, but schedules count in nanoseconds: give at most 1e9"
        ));
    }
    Ok(())
}

fn burst_lengths(every_s: f64, burst_s: f64) -> Result<(), String> {
    a_length("the time between bursts", every_s)?;
    a_length("a burst", burst_s)?;
    if burst_s > every_s {
        return Err(format!(
            "a burst of {burst_s} s is longer than the time between bursts, {every_s} s: make it shorter or less frequent"
        ));
    }
    Ok(())
}

fn a_length(name: &str, seconds: f64) -> Result<(), String> {
    if seconds.is_finite() && seconds > 0.0 {
        return Ok(());
    }
    Err(format!(
        "{name} lasts {seconds} s: give a finite duration above 0"
    ))
}

fn ascending(at_ns: &[u64]) -> Result<(), String> {
    if at_ns.is_empty() {
        return Err("the trace is empty: add at least one time".into());
    }
    match at_ns.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(place) => Err(format!(
            "the trace goes back in time at entry {}: {} ns after {} ns; sort it",
            place + 2,
            at_ns[place + 1],
            at_ns[place]
        )),
        None => Ok(()),
    }
}

/// Iterates over arrival times: nanoseconds since the start of the drive, ascending. Only the schedule of a trace ends.
#[derive(Clone, Debug)]
pub struct Schedule(Source);

#[derive(Clone, Debug)]
enum Source {
    Units {
        units: Units,
        intensity: Intensity,
    },
    Trace {
        at_ns: Arc<[u64]>,
        next: usize,
        step: usize,
    },
}

impl Schedule {
    /// Makes the whole schedule. The arrivals must pass [`Arrivals::check`].
    pub fn new(arrivals: &Arrivals, seed: u64) -> Schedule {
        Schedule::of_share(arrivals, seed, &Share::WHOLE)
    }

    /// Makes the schedule of one share. Equal gaps and traces are dealt in turn, so that the shares together are exactly the whole
    /// schedule. Random arrivals have a stream of their own in each share, at the rate divided by the number of shares: independent
    /// Poisson processes add up to a Poisson process of the sum of their rates.
    pub(crate) fn of_share(arrivals: &Arrivals, seed: u64, share: &Share) -> Schedule {
        let units = match arrivals {
            Arrivals::Trace { at_ns } => {
                return Schedule(Source::Trace {
                    at_ns: at_ns.clone(),
                    next: share.index() as usize,
                    step: share.of() as usize,
                });
            }
            Arrivals::Uniform { .. } => Units::equal(share),
            _ => Units::exponential(share.seed(seed), share),
        };
        let intensity = Intensity::from_arrivals(arrivals);
        Schedule(Source::Units { units, intensity })
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match &mut self.0 {
            Source::Units { units, intensity } => {
                Some((intensity.time_s(units.next()) * NS_PER_S).round() as u64)
            }
            Source::Trace { at_ns, next, step } => {
                let due = at_ns.get(*next).copied();
                *next += *step;
                due
            }
        }
    }
}

/// Arrivals at a rate of one per second over all shares, as seconds since the start.
#[derive(Clone, Debug)]
enum Units {
    Equal {
        next: f64,
        step: f64,
    },
    Exponential {
        last: f64,
        mean: f64,
        random: Box<Pcg64>,
    },
}

impl Units {
    fn equal(share: &Share) -> Units {
        Units::Equal {
            next: f64::from(share.index()),
            step: f64::from(share.of()),
        }
    }

    fn exponential(seed: u64, share: &Share) -> Units {
        Units::Exponential {
            last: 0.0,
            mean: f64::from(share.of()),
            random: Box::new(Pcg64::seed_from_u64(seed)),
        }
    }

    fn next(&mut self) -> f64 {
        match self {
            Units::Equal { next, step } => {
                let due = *next;
                *next += *step;
                due
            }
            Units::Exponential { last, mean, random } => {
                let gap: f64 = random.sample(Exp1);
                *last += gap * *mean;
                *last
            }
        }
    }
}

#[cfg(test)]
mod tests;
