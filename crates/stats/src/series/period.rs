//! Drops at equal intervals, such as those of an SSD that collects garbage every 20 s.
//!
//! Source: epoch folding (Leahy et al., "On searches for pulsed emission", 1983): the seconds are laid over each other by
//! each period in turn, and where their means along it differ by more than chance, it is one. Seconds that resemble the
//! one before would look so by themselves, so a first-order autoregression is taken out first.

use super::change::{Segment, least_deviation};
use super::running::{self, median};
use record::Period;

/// Minimum number of cycles, and minimum length of a period (s).
pub(crate) const CYCLES_MIN: usize = 4;
pub(crate) const SECONDS_MIN: usize = 3;
const PLACES_FEW: usize = 10;
const MULTIPLE_MAX: u32 = 4;
/// Minimum share of the cycles with a drop.
const CYCLES_SHARE: f64 = 2.0 / 3.0;
/// Error rate of all candidate periods together.
const ALPHA: f64 = 0.001;
/// Minimum depth of the drop, as a share of the median.
const DEPTH: f64 = 0.1;

/// The strongest period of a measured part, with its level shifts taken away.
pub(crate) fn period(values: &[f64], levels: &[Segment]) -> Option<Period> {
    let levelled = levelled(values, levels);
    let white = whitened(&levelled)?;
    let n = white.len();
    // Half a cycle over the whole series is the resolution of the method.
    let half_cycles = half_cycles(n);
    let bar = bar(half_cycles.clone().count());
    let periods = half_cycles.map(|half_cycles| 2.0 * values.len() as f64 / half_cycles as f64);
    let (every, _) = periods
        .map(|every| (every, log_p(&white, every)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, log_p)| *log_p < bar)?;
    // A fraction of a period between two candidates can be stronger than both.
    let mut multiples = (1..=MULTIPLE_MAX)
        .map(|times| f64::from(times) * every)
        .take_while(|every| CYCLES_MIN as f64 * every <= values.len() as f64);
    let every = multiples.find(|every| recurs(&levelled, *every))?;
    described(values, every)
}

/// The half cycles of all candidate periods in a measured part of this length.
fn half_cycles(seconds: usize) -> std::ops::RangeInclusive<usize> {
    2 * CYCLES_MIN..=2 * seconds / SECONDS_MIN
}

/// The logarithm of the chance below which the strongest of the candidates is a period.
fn bar(candidates: usize) -> f64 {
    (ALPHA / 2.0 / candidates.max(1) as f64).ln()
}

/// The chi squared that the means along a period need in a measured part of this length.
pub(crate) fn chi_squared(free: f64, seconds: usize) -> f64 {
    let bar = bar(half_cycles(seconds.saturating_sub(1)).count());
    let is_enough = |chi: f64| log_chance(chi, free) < bar;
    // It falls from the degrees of freedom on, and for long measured parts slowly.
    let (mut low, mut high) = (free, 1000.0 * free);
    for _ in 0..60 {
        let middle = low.midpoint(high);
        match is_enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// A second is a drop if it lies this many standard deviations below the usual one.
const DROP: f64 = 4.0;
/// Drops recur if their distances differ by less than this share, or by a second.
const DISTANCES: f64 = 0.1;

/// The distance (s) of drops that lie in the whole measured part as those of a period would: at equal distances, none missing at its
/// beginning or end. They may be too few for [`period`].
pub(crate) fn few_drops(values: &[f64], levels: &[Segment]) -> Option<f64> {
    let usual = median(values);
    let levelled = levelled(values, levels);
    let middle = median(&levelled);
    let scatter = running::deviation(&levelled).max(least_deviation(usual));
    let bar = middle - (DROP * scatter).max(DEPTH * usual);
    let low: Vec<usize> = (0..values.len())
        .filter(|second| levelled[*second] < bar)
        .collect();
    let centre = |run: &[usize]| (run[0] + run[run.len() - 1]) as f64 / 2.0;
    let drops: Vec<f64> = low.chunk_by(|a, b| a + 1 == *b).map(centre).collect();
    let [first, .., last] = drops[..] else {
        return None;
    };
    let every = (last - first) / (drops.len() - 1) as f64;
    let reach = (DISTANCES * every).max(1.0);
    let are_equal = drops
        .windows(2)
        .all(|pair| (pair[1] - pair[0] - every).abs() <= reach);
    let none_misses = first < every + reach && last + every + reach > values.len() as f64;
    (are_equal && none_misses).then_some(every)
}

/// Each second relative to its level. Seconds between levels belong to the one before.
fn levelled(values: &[f64], levels: &[Segment]) -> Vec<f64> {
    let level = |second: usize| {
        let level = levels.iter().rfind(|level| level.from <= second);
        level.or(levels.first()).map_or(0.0, |level| level.mean)
    };
    (values.iter().enumerate())
        .map(|(second, value)| value - level(second))
        .collect()
}

/// What a second has that does not follow from the one before, around 0 with a variance of 1. None where all are alike.
fn whitened(values: &[f64]) -> Option<Vec<f64>> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let product = |a: f64, b: f64| (a - mean) * (b - mean);
    let variance: f64 = values.iter().map(|&a| product(a, a)).sum();
    let pairs = || values.windows(2).map(|pair| (pair[0], pair[1]));
    let neighbours: f64 = pairs().map(|(a, b)| product(a, b)).sum();
    // Values that alternate from second to second are left unchanged.
    let correlation = (neighbours / variance).clamp(0.0, 0.99);
    let rest: Vec<f64> = pairs().map(|(a, b)| b - correlation * a).collect();
    let rest = Segment::of(&rest, 0, rest.len()).normalised(&rest)?;
    (rest.len() > CYCLES_MIN * SECONDS_MIN).then_some(rest)
}

/// Count and mean of the seconds at each of so many places along the period, all of one width: a narrower one can
/// hold all drops of a longer period and nothing else.
fn folded(values: &[f64], every: f64, places: usize) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); places];
    let scale = places as f64 / every;
    let mut phase = 0.0;
    for value in values {
        let (count, sum) = &mut sums[((phase * scale) as usize).min(places - 1)];
        *count += 1.0;
        *sum += value;
        phase += 1.0;
        if phase >= every {
            phase -= every;
        }
    }
    sums.retain(|(count, _)| *count > 0.0);
    sums.into_iter()
        .map(|(count, sum)| (count, sum / count))
        .collect()
}

/// The logarithm of the chance of means as different as these, second by second for short drops or in few places for
/// waves, whichever is less.
fn log_p(white: &[f64], every: f64) -> f64 {
    let places = every as usize;
    let fine = log_p_of(&folded(white, every, places));
    match places > PLACES_FEW {
        true => fine.min(log_p_of(&folded(white, every, PLACES_FEW))),
        false => fine,
    }
}

/// Chernoff's bound for chi squared.
fn log_p_of(means: &[(f64, f64)]) -> f64 {
    let free = means.len() as f64 - 1.0;
    let chi: f64 = means.iter().map(|(count, mean)| count * mean * mean).sum();
    log_chance(chi, free)
}

fn log_chance(chi: f64, free: f64) -> f64 {
    match chi > free {
        true => (free - chi) / 2.0 + free / 2.0 * (chi / free).ln(),
        false => 0.0,
    }
}

/// Whether the cycles drop, by half of the mean drop at least, near the place that is lowest in the mean: two stalls can
/// make a mean, but not a period.
///
/// Half a cycle over the whole series lies between two periods that are tried, so drops wander by a quarter of one.
fn recurs(levelled: &[f64], every: f64) -> bool {
    let places = every as usize;
    let means = folded(levelled, every, places);
    let means = means.iter().map(|(_, mean)| *mean).enumerate();
    let Some((place, least)) = means.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return false;
    };
    let bar = (median(levelled) + least) / 2.0;
    let lowest = (place as f64 + 0.5) * every / places as f64;
    let reach = (every / 4.0).max(1.0);
    let drops: Vec<bool> = (0u32..)
        .map(|cycle| f64::from(cycle) * every + lowest)
        .take_while(|second| *second < levelled.len() as f64)
        .map(|second| {
            let until = ((second + reach) as usize + 1).min(levelled.len());
            let near = &levelled[(second - reach).max(0.0) as usize..until];
            near.iter().any(|value| *value < bar)
        })
        .collect();
    let count = drops.iter().filter(|dropped| **dropped).count();
    count as f64 >= CYCLES_SHARE * drops.len() as f64
}

/// None if the drop is too small.
fn described(values: &[f64], every: f64) -> Option<Period> {
    let usual = median(values);
    let means = folded(values, every, every as usize)
        .into_iter()
        .map(|(_, mean)| mean);
    let least = means.fold(f64::INFINITY, f64::min);
    (least < usual * (1.0 - DEPTH)).then_some(Period {
        every_s: every,
        usual,
        least,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::noisy;
    use crate::series::change::segments;
    use crate::series::shift::levels;
    use std::f64::consts::TAU;

    fn found(values: &[f64]) -> Option<Period> {
        period(values, &levels(&segments(values)))
    }

    #[test]
    fn a_drop_every_20_seconds_is_found() {
        // P4: 148 MiB/s, every 20 s a drop to 87.
        let drops = |s: usize| if s % 20 == 7 { 87.0 } else { 148.0 };
        for seconds in [120, 600, 3600] {
            let period = found(&noisy(seconds, 1, drops, 4.0)).unwrap();
            assert_eq!(period.every_s, 20.0);
            assert!((period.usual - 148.0).abs() < 2.0 && (period.least - 87.0).abs() < 4.0);
        }
    }

    #[test]
    fn a_period_is_described_in_a_sentence() {
        let period = Period {
            every_s: 20.0,
            usual: 148.0,
            least: 87.0,
        };
        let expected = "every 20 s the throughput drops from 148 to 87 ops/s";
        assert_eq!(period.sentence(), expected);
    }

    #[test]
    fn a_wave_is_found() {
        let wave = |s: usize| 1000.0 + 300.0 * (TAU * s as f64 / 50.0).sin();
        let period = found(&noisy(600, 2, wave, 60.0)).unwrap();
        assert!((period.every_s - 50.0).abs() <= 1.0, "{period:?}");
    }

    #[test]
    fn a_drop_beside_a_level_shift_is_found() {
        for phase in [0, 1, 7] {
            let both = |s: usize| {
                let level = if s < 300 { 400.0 } else { 300.0 };
                level - if s % 25 == phase { 150.0 } else { 0.0 }
            };
            let period = found(&noisy(900, 3, both, 8.0)).unwrap();
            assert_eq!(period.every_s, 25.0, "{phase}");
        }
    }

    #[test]
    fn a_few_drops_at_equal_distances_may_recur_and_others_do_not() {
        let few = |seconds: usize, drops: &'static [usize]| {
            let of = move |s: usize| if drops.contains(&s) { 600.0 } else { 1000.0 };
            let values = noisy(seconds, 1, of, 20.0);
            few_drops(&values, &levels(&segments(&values)))
        };
        assert_eq!(few(60, &[10, 30, 50]), Some(20.0));
        assert_eq!(few(60, &[14, 44]), Some(30.0));
        for drops in [&[][..], &[30], &[10, 12], &[5, 9, 50], &[10, 30, 31, 58]] {
            assert_eq!(few(60, drops), None, "{drops:?}");
        }
    }

    #[test]
    fn two_stalls_are_not_a_period() {
        let stalls = |s: usize| match s {
            100..103 | 250..253 => 0.0,
            _ => 3000.0,
        };
        for seed in 0..20 {
            assert_eq!(found(&noisy(600, seed, stalls, 60.0)), None, "{seed}");
        }
    }

    #[test]
    fn a_period_between_two_candidates_is_found() {
        // 1,200 half seconds in 63 and 64 half cycles: 19.05 and 18.75 s.
        let drops = |s: usize| {
            let phase = (s as f64 + 9.0) % 18.9;
            if phase < 1.0 { 0.0 } else { 3000.0 }
        };
        let period = found(&noisy(600, 4, drops, 60.0)).unwrap();
        assert!((period.every_s - 18.9).abs() < 0.2, "{period:?}");
    }

    #[test]
    fn noise_has_a_period_in_hardly_one_case_of_a_thousand() {
        let wrong = (0..400).filter(|&seed| found(&noisy(120, seed, |_| 1000.0, 300.0)).is_some());
        assert!(wrong.count() <= 2);
    }

    #[test]
    fn seconds_that_depend_on_the_one_before_have_no_period() {
        let red = |seed| {
            let mut last = 0.0;
            let shocks = noisy(300, seed, |_| 0.0, 100.0);
            shocks
                .into_iter()
                .map(|shock| {
                    last = 0.8 * last + shock;
                    1000.0 + last
                })
                .collect::<Vec<_>>()
        };
        let wrong = (0..200).filter(|&seed| found(&red(seed)).is_some()).count();
        assert!(wrong <= 4, "{wrong}");
    }

    #[test]
    fn constant_and_short_series_have_none() {
        assert_eq!(found(&[5.0; 300]), None);
        assert_eq!(found(&[1.0, 2.0, 3.0]), None);
    }
}
