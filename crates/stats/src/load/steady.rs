//! Rule 5: where the measured part of a trial begins, and whether it is steady.
//!
//! Purpose: choose the measured part and explain the choice in a sentence. Boundaries: stalls are found in `stall`; here
//! outliers of single seconds are smoothed first.

use super::measured::throughput;
use crate::inference::estimate::mean;
use crate::inference::ratio::MARGIN;
use crate::series::change::{self, Segment};
use crate::series::line::{Line, batches};
use crate::series::running;
use record::load::{Loaded, Warmup};
use record::{Shape, Steady};

const SECONDS_MIN: usize = 20;
/// The steady part must begin before the last quarter.
const END_SHARE: f64 = 0.25;
/// Up to this share of it may be short spells at another level: these are stalls, which are reported separately.
const SPELL_SHARE: f64 = 0.25;

/// The measured part by the throughput of each second.
pub(crate) fn steady(load: &Loaded) -> Steady {
    let values = throughput(load);
    match load.warmup {
        Warmup::Seconds(seconds) => fixed(&values, seconds),
        Warmup::Find => {
            let found = look(&values, 0);
            let reason = match found.from_s {
                0 => format!("{}; nothing is left out", found.reason),
                from => format!("{}; the first {from} s are left out", found.reason),
            };
            Steady { reason, ..found }
        }
    }
}

/// The throughput (ops/s) after a fixed cut of this share of the whole seconds, to compare with the warm-up that was found. None
/// if no second is left, or the load was read without its series.
pub fn throughput_after(load: &Loaded, cut: f64) -> Option<f64> {
    let values = throughput(load);
    let kept = &values[(values.len() as f64 * cut) as usize..];
    mean(kept)
}

fn fixed(values: &[f64], warmup_s: f64) -> Steady {
    let from = warmup_s.max(0.0).ceil() as usize;
    if from > 0 && from >= values.len() {
        let until_s = values.len() as u32;
        let reason = format!(
            "the load ended after {until_s} s, within its warm-up of {from} s: nothing is left to measure"
        );
        return too_short(until_s, until_s, reason);
    }
    let rest = look(&values[from..], from);
    let cut = match from {
        0 => "no warm-up was requested".to_string(),
        from => format!("the first {from} s are left out as warm-up"),
    };
    Steady {
        from_s: from as u32,
        reason: format!("{cut}; {}", rest.reason),
        ..rest
    }
}

fn too_short(from_s: u32, until_s: u32, reason: String) -> Steady {
    Steady {
        from_s,
        until_s,
        shape: Shape::TooShort,
        changes_s: Vec::new(),
        mser_s: None,
        reason,
    }
}

/// The shape of the seconds from `offset` on.
fn look(values: &[f64], offset: usize) -> Steady {
    let at = |second: usize| (offset + second) as u32;
    let short = |reason| too_short(at(0), at(values.len()), reason);
    if values.is_empty() {
        return short("the load has no whole second: nothing is measured".to_string());
    }
    if values.len() < SECONDS_MIN {
        return short(format!(
            "{} s are too short to establish a steady state",
            values.len()
        ));
    }
    let smooth = running::without_outliers(values);
    let segments = change::segments(&smooth);
    let (mut shape, mut from) = classify(&segments);
    let smooth = without_spells(smooth, &segments, from);
    let mser = mser5(&smooth);
    let mut reason = words(shape, &segments, at(from));
    if shape.is_steady() && differ(&smooth, from, mser) {
        reason = format!(
            "steady state not shown: it begins at {} s by change points and at {} s by MSER-5, and the throughput differs by more than {:.0} %",
            at(from),
            at(mser),
            MARGIN * 100.0
        );
        (shape, from) = (Shape::NotShown, from.max(mser));
    }
    if let Some(trend) = trend(&smooth[from..]).filter(|_| shape.is_steady()) {
        let verb = if trend > 0.0 { "rises" } else { "falls" };
        reason = format!(
            "steady state not shown: from {} s on the throughput {verb} by {:.0} %",
            at(from),
            100.0 * trend.abs()
        );
        shape = Shape::NotShown;
    }
    Steady {
        from_s: at(from),
        until_s: at(values.len()),
        shape,
        changes_s: segments.iter().skip(1).map(|s| at(s.from)).collect(),
        mser_s: Some(at(mser)),
        reason,
    }
}

/// The shape, and the second from which everything but short spells is at the level of the end.
fn classify(segments: &[Segment]) -> (Shape, usize) {
    let end = segments[segments.len() - 1];
    let like = |segment: &&Segment| alike(segment, &end);
    let unlike = |segment: &&Segment| !alike(segment, &end);
    let unlike = segments.iter().take_while(unlike).count();
    let (beginning, rest) = segments.split_at(unlike);
    let rest_s = end.until - rest[0].from;
    let like_s: usize = rest.iter().filter(like).map(Segment::len).sum();
    if (rest_s as f64) < END_SHARE * end.until as f64
        || (like_s as f64) < (1.0 - SPELL_SHARE) * rest_s as f64
    {
        return (Shape::NoSteadyState, 0);
    }
    let shape = match beginning.iter().any(|segment| segment.mean > end.mean) {
        _ if beginning.is_empty() => Shape::Flat,
        true => Shape::Slowdown,
        false => Shape::WarmUp,
    };
    (shape, rest[0].from)
}

/// Replaces spells at another level by the mean of the end: MSER-5 would take one for the end of a warm-up.
fn without_spells(mut values: Vec<f64>, segments: &[Segment], from: usize) -> Vec<f64> {
    let end = segments[segments.len() - 1];
    let spells = segments
        .iter()
        .filter(|s| s.from >= from && !alike(s, &end));
    for spell in spells {
        values[spell.from..spell.until].fill(end.mean);
    }
    values
}

/// Within the noise of the end, or within the margin.
fn alike(segment: &Segment, end: &Segment) -> bool {
    (segment.mean - end.mean).abs() <= end.deviation.max(MARGIN * end.mean.abs())
}

fn words(shape: Shape, segments: &[Segment], from_s: u32) -> String {
    let (first, end) = (segments[0].mean, segments[segments.len() - 1].mean);
    let means = format!("{first:.0} ops/s at first, {end:.0} ops/s at the end");
    match shape {
        Shape::Flat => "the throughput is flat".to_string(),
        Shape::WarmUp => format!("a warm-up until {from_s} s ({means})"),
        Shape::Slowdown => format!("a slowdown until {from_s} s ({means})"),
        _ => format!(
            "no steady state: the throughput changes in the last quarter or back and forth ({means})"
        ),
    }
}

/// A trend is certain at this level.
const ALPHA: f64 = 0.01;

/// By which share of its mean a series rises from its beginning to its end: the slope of its batch means over its length. None within the
/// margin, and where noise explains it.
fn trend(values: &[f64]) -> Option<f64> {
    let batches = batches(values);
    let line = Line::through(&batches);
    let mean = batches.iter().sum::<f64>() / batches.len().max(1) as f64;
    let rise = line.slope * batches.len() as f64 / mean;
    (rise.abs() > MARGIN && line.p_of_any() < ALPHA).then_some(rise)
}

fn differ(values: &[f64], one: usize, other: usize) -> bool {
    let mean = |from: usize| Segment::of(values, from, values.len()).mean;
    let (one, other) = (mean(one), mean(other));
    (one - other).abs() > MARGIN * one.abs().max(other.abs())
}

/// The beginning that minimises the standard error of the mean of the rest, in means of five seconds, at most
/// half way (White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics", 2000).
fn mser5(values: &[f64]) -> usize {
    let batches: Vec<f64> = values
        .chunks_exact(5)
        .map(|five| five.iter().sum::<f64>() / 5.0)
        .collect();
    let error = |from: usize| {
        let rest = Segment::of(&batches, from, batches.len());
        rest.deviation.powi(2) / rest.len() as f64
    };
    let best = (0..=batches.len() / 2).min_by(|&a, &b| error(a).total_cmp(&error(b)));
    best.unwrap_or(0) * 5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, noisy, wandering};
    use crate::load::summary::summarise;

    fn shape(values: &[f64]) -> (Shape, u32) {
        let found = look(values, 0);
        (found.shape, found.from_s)
    }

    #[test]
    fn equal_seconds_are_flat() {
        let is_refused = |seed: &u64| shape(&noisy(120, *seed, |_| 2000.0, 60.0)).0 != Shape::Flat;
        let refused = (0..100).filter(is_refused).count();
        assert!(refused <= 4, "{refused} of 100");
    }

    #[test]
    fn the_end_of_a_slow_start_is_the_end_of_the_warm_up() {
        let (shape, from) = shape(&noisy(
            120,
            1,
            |s| if s < 30 { 800.0 } else { 2000.0 },
            40.0,
        ));
        assert_eq!((shape, from), (Shape::WarmUp, 30));
    }

    #[test]
    fn a_fast_beginning_is_a_slowdown() {
        let (shape, from) = shape(&noisy(
            120,
            2,
            |s| if s < 50 { 2000.0 } else { 1500.0 },
            40.0,
        ));
        assert_eq!((shape, from), (Shape::Slowdown, 50));
    }

    #[test]
    fn a_change_in_the_last_quarter_means_no_steady_state() {
        let values = noisy(120, 3, |s| if s < 100 { 2000.0 } else { 1000.0 }, 40.0);
        assert_eq!(shape(&values), (Shape::NoSteadyState, 0));
    }

    #[test]
    fn a_slow_climb_on_which_the_methods_disagree_is_not_shown_steady() {
        // It climbs for the whole first half, so each method that cuts at all cuts elsewhere, or it is no steady state.
        let climb = |s: usize| 1000.0 + 1000.0 * (s.min(80) as f64 / 80.0).sqrt();
        let found = look(&noisy(100, 4, climb, 150.0), 0);
        assert!(
            matches!(found.shape, Shape::NotShown | Shape::NoSteadyState),
            "{found:?}"
        );
    }

    /// Without a look at the trend 73 % of such trials pass as steady, with a throughput that is 12 % too low.
    #[test]
    fn a_load_that_approaches_its_throughput_throughout_is_not_steady() {
        for (seconds, noise) in [(60, 20.0), (120, 50.0), (600, 50.0)] {
            let approach = |s: usize| 1000.0 * (1.0 - (-(s as f64) / (seconds as f64 / 2.0)).exp());
            let passes = |seed: &u64| {
                let values = noisy(seconds, *seed, approach, noise);
                look(&values, 0).shape.is_steady()
            };
            let wrong = (0..100).filter(passes).count();
            assert!(wrong <= 5, "{seconds} s: {wrong} of 100");
        }
    }

    #[test]
    fn a_trend_beyond_the_margin_is_named_with_its_size() {
        let rising = |slope: f64| look(&noisy(120, 1, |s| 1000.0 + slope * s as f64, 30.0), 0);
        let found = rising(0.5);
        assert_eq!(found.shape, Shape::NotShown);
        let expected = "steady state not shown: from 0 s on the throughput rises by 6 %";
        assert_eq!(found.reason, expected);
        let within = rising(0.1);
        assert_eq!(within.shape, Shape::Flat, "{}", within.reason);
    }

    #[test]
    fn seconds_that_wander_around_one_level_are_steady() {
        for phi in [0.0, 0.8, 0.95] {
            let is_refused = |seed: &u64| {
                let noise = wandering(600, *seed, phi, 50.0);
                let values: Vec<f64> = noise.iter().map(|noise| 1000.0 + noise).collect();
                look(&values, 0).shape == Shape::NoSteadyState
            };
            let wrong = (0..60).filter(is_refused).count();
            assert!(wrong <= 4, "phi {phi}: {wrong} of 60");
        }
    }

    #[test]
    fn mser_cuts_a_transient_and_leaves_flat_series_alone() {
        let step = noisy(200, 5, |s| if s < 40 { 100.0 } else { 1000.0 }, 10.0);
        assert_eq!(mser5(&step), 40);
        assert_eq!(mser5(&[7.0; 100]), 0);
    }

    #[test]
    fn a_short_stall_late_in_the_trial_is_not_a_warm_up() {
        let mut values = noisy(60, 6, |_| 2000.0, 60.0);
        values[45..47].fill(0.0);
        assert_eq!(shape(&values), (Shape::Flat, 0));
    }

    #[test]
    fn a_long_stall_in_the_middle_is_not_a_warm_up() {
        let values = noisy(
            600,
            8,
            |s| if (200..225).contains(&s) { 0.0 } else { 3230.0 },
            20.0,
        );
        assert_eq!(shape(&values), (Shape::Flat, 0));
    }

    #[test]
    fn an_alternating_throughput_is_not_a_steady_state() {
        let values = noisy(
            600,
            9,
            |s| if s / 60 % 2 == 0 { 3000.0 } else { 1500.0 },
            20.0,
        );
        assert_eq!(shape(&values).0, Shape::NoSteadyState);
    }

    #[test]
    fn a_fixed_warm_up_is_always_left_out() {
        let values = noisy(60, 7, |s| if s < 20 { 500.0 } else { 1000.0 }, 10.0);
        let cut = fixed(&values, 9.5);
        assert_eq!((cut.from_s, cut.until_s), (10, 60));
        assert_eq!(
            (cut.shape, cut.changes_s.as_slice()),
            (Shape::WarmUp, &[20][..])
        );
        assert!(
            cut.reason
                .starts_with("the first 10 s are left out as warm-up; a warm-up until 20 s")
        );
    }

    #[test]
    fn a_warm_up_as_long_as_the_load_leaves_nothing() {
        assert_eq!(fixed(&[5.0; 12], 30.0).seconds(), 0);
    }

    #[test]
    fn seconds_in_which_nothing_was_started_any_more_do_not_count() {
        // Driven for 60 s; one running operation ends at 80 s.
        let mut load = closed(
            |s| match s {
                0..60 => 1000.0,
                79 => 1.0,
                _ => 0.0,
            },
            80,
        );
        load.engine.until_s = Some(60.0);
        let summary = summarise(&load);
        assert_eq!(summary.steady.until_s, 60);
        assert_eq!(summary.throughput, Some(1000.0));
        assert!(summary.stalls.is_empty());
    }

    #[test]
    fn a_last_second_in_which_little_ended_counts_whole() {
        let mut load = closed(|_| 2.0, 60);
        load.elapsed_s = 59.2;
        load.engine.until_s = Some(60.0);
        assert_eq!(summarise(&load).steady.until_s, 60);
    }

    #[test]
    fn a_few_seconds_are_too_short_to_judge() {
        assert_eq!(shape(&[5.0; 19]).0, Shape::TooShort);
        assert_eq!(shape(&[]).0, Shape::TooShort);
    }

    #[test]
    fn a_fixed_cut_leaves_the_throughput_of_the_rest() {
        let load = closed(|s| if s < 30 { 500.0 } else { 1000.0 }, 60);
        assert_eq!(throughput_after(&load, 0.5), Some(1000.0));
        assert_eq!(throughput_after(&load, 0.0), Some(750.0));
        assert_eq!(throughput_after(&load, 1.0), None);
    }
}
