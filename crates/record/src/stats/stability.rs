//! Rule 3: whether an open load was more than could be served.
//!
//! Goal: a sentence such as "unstable: the queue grows by 412 a second", or the assurance that percentiles mean something.

use super::steady::Steady;
use crate::load::{Loaded, Mode};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What an open load offered and what came of it, over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// Arrivals a second.
    pub offered: f64,
    /// Operations that ended, whichever way, a second.
    pub completed: f64,
    pub queued_at_end: u64,
    /// In all, warm-up included.
    pub dropped: u64,
    /// By how many the queue grows each second: the slope of a line through it.
    pub growth: f64,
    /// Why there are no percentiles; none where the load could be served.
    pub unstable: Option<String>,
}

/// Less than this share of what was offered is not served.
const SERVED_MIN: f64 = 0.98;
/// The growth of the queue is certain at this level.
const ALPHA: f64 = 0.01;
const BATCHES: usize = 10;
/// Judging needs so many seconds; where fewer are left of the warm-up, all are taken.
const SECONDS_MIN: usize = 5;

/// None in closed loop.
pub(super) fn offered(load: &Loaded, steady: &Steady) -> Option<Offered> {
    let (Mode::Open { .. }, Some(open)) = (&load.mode, &load.open) else {
        return None;
    };
    let from = match steady.seconds() as usize {
        0..SECONDS_MIN => 0,
        _ => steady.from_s as usize,
    };
    let part = |name: &str| part(load, name, from, steady.until_s as usize);
    let queue = part("queued");
    let seconds = queue.len().max(1) as f64;
    let ended = part("throughput").iter().sum::<f64>() + part("errors").iter().sum::<f64>();
    let dropped: f64 = part("dropped").iter().sum();
    let before = load.seconds("queued").get(from.wrapping_sub(1)).copied();
    let grown = queue.last().copied().unwrap_or(0.0) - before.flatten().unwrap_or(0.0);
    let mut offered = Offered {
        offered: (ended + dropped + grown).max(0.0) / seconds,
        completed: ended / seconds,
        queued_at_end: open.queued_at_end,
        dropped: open.dropped,
        growth: slope(&queue),
        unstable: None,
    };
    offered.unstable = why_unstable(&offered, load, &queue, dropped / seconds);
    Some(offered)
}

/// A second that could not be read counts as the one before it.
fn part(load: &Loaded, name: &str, from: usize, until: usize) -> Vec<f64> {
    let seconds = load.seconds(name);
    let until = until.min(seconds.len());
    let mut before = 0.0;
    let value = |value: &Option<f64>| {
        before = value.unwrap_or(before);
        before
    };
    seconds[from.min(until)..until].iter().map(value).collect()
}

fn why_unstable(
    offered: &Offered,
    load: &Loaded,
    queue: &[f64],
    dropped_per_s: f64,
) -> Option<String> {
    let stopped = load.engine.stopped.as_deref();
    let held_s = load.open.as_ref().map_or(0.0, |open| open.held_s);
    let short = offered.completed < SERVED_MIN * offered.offered;
    let full = stopped.filter(|why| why.contains("queue"));
    if dropped_per_s > (1.0 - SERVED_MIN) * offered.offered {
        Some(format!(
            "unstable: the queue is full, and {dropped_per_s:.0} arrivals a second are dropped"
        ))
    } else if held_s > (1.0 - SERVED_MIN) * load.elapsed_s {
        Some(format!(
            "unstable: the queue was full, and the schedule stood still for {held_s:.1} s of {:.1} s",
            load.elapsed_s
        ))
    } else if full.is_some() || (short && offered.growth > 0.0) || grows(queue, offered) {
        let growth = format!(
            "unstable: the queue grows by {:.0} a second",
            offered.growth
        );
        Some(full.map_or(growth.clone(), |why| format!("{growth}; {why}")))
    } else {
        None
    }
}

/// Certainly, and by more than chance: at an offered load of just what can be served, arrivals and services wander apart
/// by the square root of twice their number, and three times that is past (the diffusion limit of a queue).
fn grows(queue: &[f64], offered: &Offered) -> bool {
    let arrivals = offered.offered * queue.len() as f64;
    let growth = offered.growth * queue.len() as f64;
    growth > 3.0 * (2.0 * arrivals).sqrt().max(1.0) && p_of_growth(queue) < ALPHA
}

/// The one-sided p of the slope over ten batch means: neighbouring seconds of a queue are alike, means over longer spans
/// much less.
fn p_of_growth(queue: &[f64]) -> f64 {
    let width = queue.len().div_ceil(BATCHES).max(1);
    let batches: Vec<f64> = queue
        .chunks_exact(width)
        .map(|batch| batch.iter().sum::<f64>() / width as f64)
        .collect();
    let Ok(student) = StudentsT::new(0.0, 1.0, batches.len() as f64 - 2.0) else {
        return 1.0;
    };
    let line = Line::through(&batches);
    match line.standard_error {
        0.0 if line.slope > 0.0 => 0.0,
        0.0 => 1.0,
        error => student.sf(line.slope / error),
    }
}

fn slope(values: &[f64]) -> f64 {
    Line::through(values).slope
}

/// Least squares over 0, 1, 2, ...
struct Line {
    slope: f64,
    standard_error: f64,
}

impl Line {
    fn through(values: &[f64]) -> Line {
        let count = values.len() as f64;
        // Two points have a slope and nothing to tell its error by.
        if values.len() < 3 {
            let slope = values.get(1).map_or(0.0, |second| second - values[0]);
            return Line {
                slope,
                standard_error: f64::INFINITY,
            };
        }
        let (x_mean, y_mean) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
        let points = || {
            values
                .iter()
                .enumerate()
                .map(|(x, y)| (x as f64 - x_mean, y - y_mean))
        };
        let xx: f64 = points().map(|(x, _)| x * x).sum();
        let slope = points().map(|(x, y)| x * y).sum::<f64>() / xx;
        let residual: f64 = points().map(|(x, y)| (y - slope * x).powi(2)).sum();
        Line {
            slope,
            standard_error: (residual / (count - 2.0) / xx).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{open, series};
    use super::super::noise::noisy;
    use super::super::summary::summarise;
    use super::*;

    fn judged(load: &Loaded) -> Offered {
        summarise(load).offered.unwrap()
    }

    #[test]
    fn a_queue_that_grows_is_unstable_and_by_how_much_is_told() {
        let offered = judged(&open(3000.0, 60, |s| 412.0 * (s + 1) as f64));
        assert_eq!(
            offered.unstable.as_deref(),
            Some("unstable: the queue grows by 412 a second")
        );
        assert_eq!((offered.offered, offered.completed), (3412.0, 3000.0));
        assert_eq!(offered.queued_at_end, 412 * 60);
    }

    #[test]
    fn two_seconds_are_enough_where_a_tenth_was_served() {
        let offered = judged(&open(10.0, 2, |s| 90.0 * (s + 1) as f64));
        let says = "unstable: the queue grows by 90 a second";
        assert_eq!(offered.unstable.as_deref(), Some(says));
    }

    #[test]
    fn a_queue_that_comes_and_goes_is_stable() {
        for seed in 0..50 {
            let queue = noisy(60, seed, |s| if s % 7 == 0 { 90.0 } else { 10.0 }, 8.0);
            let offered = judged(&open(3000.0, 60, move |s| queue[s].max(0.0).round()));
            assert_eq!(offered.unstable, None);
            assert!((offered.offered - 3000.0).abs() < 3.0);
        }
    }

    /// A queue as it is at just the rate that can be served wanders by chance, and that is not called growth.
    #[test]
    fn growth_that_chance_explains_is_not_unstable() {
        let called = |seed| {
            let steps = noisy(120, seed, |_| 0.0, (2.0f64 * 1000.0).sqrt());
            let mut queue = vec![0.0f64];
            for step in steps {
                queue.push((queue[queue.len() - 1] + step).max(0.0));
            }
            judged(&open(1000.0, 120, move |s| queue[s].round())).unstable
        };
        let wrong = (0..200).filter(|&seed| called(seed).is_some()).count();
        assert!(wrong <= 6, "{wrong} of 200");
    }

    #[test]
    fn one_part_in_twenty_too_much_is_seen_within_a_minute() {
        let called = |seed| {
            let steps = noisy(60, seed, |_| 150.0, (2.0f64 * 3000.0).sqrt());
            let mut queue = vec![0.0f64];
            for step in steps {
                queue.push((queue[queue.len() - 1] + step).max(0.0));
            }
            judged(&open(2850.0, 60, move |s| queue[s].round())).unstable
        };
        assert!((0..50).all(|seed| called(seed).is_some()));
    }

    #[test]
    fn arrivals_that_a_full_queue_drops_are_unstable_though_the_queue_grows_no_more() {
        let mut load = open(1000.0, 60, |_| 10_000.0);
        load.warmup = crate::load::Warmup::Seconds(10.0);
        load.series.insert("dropped".into(), series(60, |_| 200.0));
        let offered = judged(&load);
        assert_eq!((offered.offered, offered.completed), (1200.0, 1000.0));
        let says = "unstable: the queue is full, and 200 arrivals a second are dropped";
        assert_eq!(offered.unstable.as_deref(), Some(says));
    }

    #[test]
    fn a_schedule_that_stood_still_is_unstable() {
        let mut load = open(1000.0, 60, |_| 100.0);
        load.open.as_mut().unwrap().held_s = 30.0;
        let unstable = judged(&load).unstable.unwrap();
        assert!(
            unstable.contains("stood still for 30.0 s of 60.0 s"),
            "{unstable}"
        );
    }

    #[test]
    fn a_drive_that_stopped_at_a_full_queue_within_its_warm_up_is_judged_by_what_there_is() {
        let mut load = open(1000.0, 12, |s| 800.0 * (s + 1) as f64);
        load.warmup = crate::load::Warmup::Seconds(30.0);
        load.engine.stopped = Some("the queue was full at 12.4 s".into());
        assert_eq!(
            judged(&load).unstable.as_deref(),
            Some("unstable: the queue grows by 800 a second; the queue was full at 12.4 s")
        );
    }
}
