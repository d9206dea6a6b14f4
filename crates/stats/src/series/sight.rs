//! What the detectors of shapes can see: the probability that they find a change of a fifth, by the length and the scatter of a load.
//!
//! Purpose: "no level shift" and "no period" are answers only where one would have been seen. The probabilities are computed, not
//! simulated, so that they cost nothing; the tests simulate them (Cohen, "Statistical power analysis for the behavioral sciences",
//! 1988, for the question).

use super::change::{self, Segment};
use super::{period, shift};
use record::{AtEdge, LevelShift, Seen, Shape, Sight, Summary};
use statrs::distribution::{ContinuousCDF, Normal};

/// The change that has to be seen, as a share of the throughput.
const CHANGE: f64 = 0.2;
/// With this probability.
const POWER: f64 = 0.8;
/// A level shift is looked for at a quarter of the time, the edge of its middle half.
const PART: f64 = 0.25;
/// The cycle of the drops, each of one second.
const EVERY_S: f64 = 10.0;
/// With fewer cycles the seconds of one place are too few, and the candidate periods too far apart.
const CYCLES: f64 = 6.0;
/// Longer loads are not recommended.
const LONGEST_S: u32 = 4 * 3600;

/// Seconds without a detected change.
#[derive(Clone, Copy)]
struct Noise {
    /// The standard deviation around the levels as a share of the mean.
    scatter: f64,
    /// The correlation of neighbours.
    correlation: f64,
    /// The least standard deviation that the detector of changes takes, as a share of the mean: that of rounding to whole operations.
    least: f64,
}

impl Noise {
    /// The variance of a mean over that of as many independent seconds.
    fn dependent(&self) -> f64 {
        (1.0 + self.correlation) / (1.0 - self.correlation)
    }
}

/// Of a measured part with these segments, from this second of the load on; None if nothing was done.
pub(crate) fn sight(values: &[f64], segments: &[Segment], from_s: u32) -> Option<Sight> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    if mean <= 0.0 {
        return None;
    }
    let squares: f64 = segments
        .iter()
        .map(|one| one.deviation.powi(2) * one.len() as f64)
        .sum();
    let deviation = (squares / values.len() as f64).sqrt();
    let noise = Noise {
        scatter: deviation / mean,
        correlation: change::correlation(values),
        least: change::least_deviation(mean) / mean,
    };
    Some(Sight {
        at_edge: at_edge(values, noise, from_s),
        // Drops that only a longer load than recommended could tell are beyond the periods that the answer names.
        drops_every_s: period::few_drops(values, &shift::levels(segments))
            .filter(|every_s| CYCLES * every_s <= f64::from(LONGEST_S)),
        ..powers(noise, values.len() as u32)
    })
}

/// What the summary says, or what follows from its figures. None if it is too short.
pub(crate) fn of_summary(summary: &Summary) -> Option<Sight> {
    summary.sight.clone().or_else(|| assumed(summary))
}

/// Of a summary that an older prony made and whose seconds are not kept: as if they did not depend on each other.
fn assumed(summary: &Summary) -> Option<Sight> {
    let long_enough = summary.steady.shape != Shape::TooShort;
    let rate = summary
        .throughput
        .filter(|rate| long_enough && *rate > 0.0)?;
    let noise = Noise {
        scatter: summary.variation?,
        correlation: 0.0,
        least: change::least_deviation(rate) / rate,
    };
    Some(powers(noise, summary.steady.seconds()))
}

fn powers(noise: Noise, seconds: u32) -> Sight {
    let seen = |power: &dyn Fn(Noise, f64) -> f64| Seen {
        power: power(noise, f64::from(seconds)),
        enough_s: enough_s(|seconds| power(noise, seconds) >= POWER),
    };
    Sight {
        seconds,
        scatter: noise.scatter,
        shift: seen(&of_shift),
        period: seen(&|noise, seconds| of_period(noise, seconds, EVERY_S)),
        at_edge: None,
        drops_every_s: None,
        longest_period_s: longest_period_s(noise, seconds),
    }
}

/// The longest period whose drops are found, with the same probability.
fn longest_period_s(noise: Noise, seconds: u32) -> u32 {
    let seen = |every: &u32| of_period(noise, f64::from(seconds), f64::from(*every)) >= POWER;
    let candidates = EVERY_S as u32..=seconds / CYCLES as u32;
    candidates.take_while(seen).last().unwrap_or_default()
}

/// Seconds of a load from `from_s` on.
fn at_edge(values: &[f64], noise: Noise, from_s: u32) -> Option<AtEdge> {
    let longest = (PART * values.len() as f64) as usize;
    let found = shift::at_edge(values, longest, noise.dependent())?;
    let (before, after) = (found.at_s, values.len() as u32 - found.at_s);
    // Until the shorter level is as long as that which has to be seen.
    let needed = f64::from(before.max(after)) / (1.0 - PART);
    let least = 4.0 * shift::shortest(values.len()) as f64;
    Some(AtEdge {
        enough_s: needed.max(least).ceil() as u32,
        shift: LevelShift {
            at_s: from_s + found.at_s,
            ..found
        },
    })
}

/// Whether the shape would have been seen.
pub(crate) fn is_enough(seen: &Seen) -> bool {
    seen.power >= POWER
}

/// `24 s that scatter by 3.0 % are too short to tell: 60 s would do`
pub(crate) fn too_short(sight: &Sight, seen: &Seen) -> String {
    let enough = match seen.enough_s {
        Some(seconds) => format!("{seconds} s would do"),
        None => "no load of a few hours would do".to_string(),
    };
    format!(
        "{} s that scatter by {} are too short to tell: {enough} for a change of a fifth",
        sight.seconds,
        record::percent(sight.scatter)
    )
}

/// `the throughput falls from 1,000 to 800 ops/s at 34 s (-20 %), too near to the edge to tell whether it lasts: 46 s would do`
pub(crate) fn near_the_edge(at_edge: &AtEdge) -> String {
    format!(
        "{}, too near to the edge to tell whether it lasts: {} s would do",
        at_edge.shift.sentence(),
        at_edge.enough_s
    )
}

/// `drops 20 s apart are too few to tell whether they recur: 120 s would do`
pub(crate) fn few_drops(every_s: f64) -> String {
    format!(
        "drops {every_s:.0} s apart are too few to tell whether they recur: {:.0} s would do",
        CYCLES * every_s
    )
}

/// What a measured part without a period shows.
pub(crate) fn no_period(summary: &Summary) -> String {
    let longest_s = of_summary(summary).map_or(0, |sight| sight.longest_period_s);
    format!("no period of {} to {longest_s} s", period::SECONDS_MIN)
}

/// The least number of seconds that is enough, among lengths a tenth apart.
fn enough_s(is_enough: impl Fn(f64) -> bool) -> Option<u32> {
    let longer = |seconds: &u32| Some((seconds + seconds / 10).max(seconds + 1));
    let lengths = std::iter::successors(Some(20), longer);
    let mut lengths = lengths.take_while(|seconds| *seconds <= LONGEST_S);
    lengths.find(|seconds| is_enough(f64::from(*seconds)))
}

/// That change points separate two levels that differ by [`CHANGE`].
///
/// A cut lowers the cost by `n ln(1 + q d²)` for levels `d` deviations apart, `q` the product of the shares of their seconds. It has to exceed the
/// penalty, and the levels have to differ by more than their deviation.
fn of_shift(noise: Noise, seconds: f64) -> f64 {
    let shortest = shift::shortest(seconds as usize);
    if ((PART * seconds) as usize) < shortest {
        return 0.0;
    }
    let deviation = noise.scatter.max(noise.least);
    let separated = PART * (1.0 - PART);
    let apart = CHANGE / deviation;
    let penalty = change::penalty(seconds, noise.correlation);
    let needed = ((penalty / seconds).exp_m1() / separated).sqrt();
    let needed = needed.max(1.0).max(shift::DIFFERENCE / deviation);
    let error = noise.dependent() / (seconds * separated) + apart.powi(2) / (2.0 * seconds);
    normal((apart - needed) / error.sqrt())
}

/// The probability that epoch folding finds drops of [`CHANGE`] for one second in every cycle.
///
/// Of `n` seconds around 0 with a variance of 1, the means along the period have a chi squared of `n` times the share of the variance that the
/// drops explain. Taking out the correlation of neighbours changes both variances.
fn of_period(noise: Noise, seconds: f64, every_s: f64) -> f64 {
    if seconds < CYCLES * every_s {
        return 0.0;
    }
    let drops = CHANGE.powi(2) / every_s * (1.0 - 1.0 / every_s);
    let rest = noise.scatter.powi(2);
    let taken_out = noise.correlation * rest / (rest + drops);
    let drops = drops * (1.0 + taken_out.powi(2));
    let rest = rest * (1.0 + taken_out.powi(2) - 2.0 * taken_out * noise.correlation);
    let explained = drops / (drops + rest);
    let (count, free) = (seconds - 1.0, every_s - 1.0);
    let expected = count * explained + free * (1.0 - explained);
    let variance =
        2.0 * free * (1.0 - explained).powi(2) + 4.0 * count * explained * (1.0 - explained) + 0.25;
    let needed = period::chi_squared(free, seconds as usize);
    normal((expected - needed) / variance.sqrt())
}

fn normal(deviations: f64) -> f64 {
    Normal::standard().cdf(deviations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{noisy, wandering};
    use crate::series::change::segments;
    use crate::series::shift::levels;

    /// Seconds around a mean of 1,000.
    fn series(seconds: usize, seed: u64, scatter: f64, change: impl Fn(usize) -> f64) -> Vec<f64> {
        let noise = noisy(seconds, seed, |_| 0.0, 1000.0 * scatter);
        noise
            .iter()
            .enumerate()
            .map(|(s, noise)| 1000.0 * change(s) + noise)
            .collect()
    }

    fn noise(scatter: f64) -> Noise {
        Noise {
            scatter,
            correlation: 0.0,
            least: 0.001,
        }
    }

    /// The share of 60 series in which it is found.
    fn share(is_found: impl Fn(u64) -> bool) -> f64 {
        (0..60).filter(|seed| is_found(*seed)).count() as f64 / 60.0
    }

    #[test]
    fn level_shifts_of_a_fifth_are_found_as_often_as_computed() {
        for (seconds, scatter) in [
            (30, 0.01),
            (40, 0.01),
            (40, 0.05),
            (60, 0.05),
            (60, 0.1),
            (120, 0.07),
            (120, 0.1),
        ] {
            let found = share(|seed| {
                let values = series(seconds, seed, scatter, |s| {
                    if s < seconds / 4 { 1.0 } else { 0.8 }
                });
                levels(&segments(&values)).len() > 1
            });
            let computed = of_shift(noise(scatter), seconds as f64);
            assert!(
                (found - computed).abs() < 0.25,
                "{seconds} s, {scatter}: {found}, computed {computed}"
            );
        }
    }

    #[test]
    fn drops_of_a_fifth_are_found_as_often_as_computed() {
        for (seconds, scatter) in [
            (24, 0.01),
            (60, 0.005),
            (60, 0.05),
            (90, 0.02),
            (90, 0.1),
            (120, 0.05),
            (240, 0.1),
        ] {
            let found = share(|seed| {
                let drop = |s: usize| {
                    if (s + seed as usize).is_multiple_of(10) {
                        0.8
                    } else {
                        1.0
                    }
                };
                let values = series(seconds, seed, scatter, drop);
                period::period(&values, &levels(&segments(&values))).is_some()
            });
            let computed = of_period(noise(scatter), seconds as f64, 10.0);
            assert!(
                (found - computed).abs() < 0.25,
                "{seconds} s, {scatter}: {found}, computed {computed}"
            );
        }
    }

    #[test]
    fn seconds_that_wander_need_a_longer_load() {
        let enough = |phi: f64| {
            let values: Vec<f64> = wandering(300, 1, phi, 30.0)
                .iter()
                .map(|v| 1000.0 + v)
                .collect();
            sight(&values, &segments(&values), 0)
                .unwrap()
                .shift
                .enough_s
                .unwrap()
        };
        assert!(
            enough(0.8) > 2 * enough(0.0),
            "{} {}",
            enough(0.8),
            enough(0.0)
        );
    }

    #[test]
    fn a_drop_every_four_seconds_is_beyond_the_sight_of_24_seconds() {
        let values: Vec<f64> = (0..24)
            .map(|s| if s % 4 == 0 { 66.0 } else { 200.0 })
            .collect();
        let sight = sight(&values, &segments(&values), 0).unwrap();
        assert_eq!(sight.period.power, 0.0);
        assert_eq!(sight.shift.power, 0.0);
        let text = too_short(&sight, &sight.period);
        assert!(
            text.starts_with("24 s that scatter by 35 % are too short to tell: "),
            "{text}"
        );
    }
}
