//! Rule 10: stalls, seconds in which the server hardly answered.
//!
//! Boundaries: what the response times of an open loop show is in `late_seconds`.

use super::late_seconds::{self, CHANCE, SCATTER};
use super::measured::{not_run, throughput};
use super::stability::{BACKLOG_S, queued_before};
use crate::series::running::{self, Usual};
use record::load::{Loaded, Mode, done_series};
use record::number::rate as rate_text;
use record::{Moved, Stall, State, Steady, Summary};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Below this share of the usual throughput a second counts as empty: some operations end at its edges.
const NOTHING: f64 = 0.05;
const MOVED_MAX: usize = 5;

/// In the measured part, in order.
pub(crate) fn stalls(load: &Loaded, steady: &Steady) -> Vec<Stall> {
    let values = throughput(load);
    let seconds = steady.range();
    let lost = lost(load, &values, seconds.clone());
    let mut late = of_server(load, late_seconds::seconds(load, seconds.clone()));
    // The queue of a warm-up makes operations late until it is served.
    let lengths = seconds.clone().map(|one| queued_before(load, one));
    let lengths: Vec<f64> = lengths.collect();
    let usual = BACKLOG_S * running::median(&values[seconds.clone()]) + running::median(&lengths);
    let served_by = lengths.iter().position(|length| *length <= usual);
    let served_s = seconds.start + served_by.unwrap_or(lengths.len());
    let late = late.split_off(&served_s);
    let mut stalled: BTreeSet<usize> = lost.keys().copied().collect();
    // A second that follows a stall is late because of it.
    let fresh = |second: &&usize| **second == 0 || !stalled.contains(&(**second - 1));
    let fresh: Vec<usize> = late.keys().filter(fresh).copied().collect();
    stalled.extend(fresh);
    let stalled: Vec<usize> = stalled.into_iter().collect();
    let runs = stalled.chunk_by(|a, b| a + 1 == *b);
    let mut stalls: Vec<Stall> = runs.map(|run| stall(run, &lost, &late)).collect();
    let calm = calm_seconds(steady, &stalls);
    for stall in &mut stalls {
        stall.moved = moved(load, &calm, stall);
    }
    stalls
}

/// Without the seconds in which the load generator did not run, and those in which its own queue was served.
fn of_server(load: &Loaded, mut late: BTreeMap<usize, f64>) -> BTreeMap<usize, f64> {
    for own in not_run(load) {
        late.remove(&(own as usize));
        late.remove(&(own as usize + 1));
    }
    late
}

fn stall(run: &[usize], lost: &BTreeMap<usize, f64>, late: &BTreeMap<usize, f64>) -> Stall {
    let operations_lost: f64 = run.iter().filter_map(|second| lost.get(second)).sum();
    let medians_ms = run.iter().filter_map(|second| late.get(second).copied());
    Stall {
        start_s: run[0] as u32,
        seconds: run.len() as u32,
        operations_lost,
        late_ms: medians_ms
            .reduce(f64::max)
            .filter(|_| operations_lost == 0.0),
        moved: Vec::new(),
    }
}

/// Why a closed loop does not tell whether its server stopped for a second: so few operations are missing by chance. None where it tells, and
/// in an open loop, whose late operations tell it too.
pub(crate) fn too_few(summary: &Summary) -> Option<String> {
    let rate = summary.throughput.filter(|_| summary.offered.is_none())?;
    let least = CHANCE * CHANCE;
    (rate < least).then(|| {
        format!(
            "{} ops/s are too few to tell a stall of 1 s from chance, {least} would do",
            rate_text(rate, 1)
        )
    })
}

/// The seconds with too few operations, and how many fewer than usual each of them has. In the measured part alone: a warm-up has its own
/// level.
fn lost(load: &Loaded, values: &[f64], measured: Range<usize>) -> BTreeMap<usize, f64> {
    let from = measured.start;
    let values = &values[measured];
    let (usual, scatters) = (usual(values), running::scatters(values));
    let is_low = |&second: &usize| {
        let (value, usual) = (values[second], usual[second]);
        let is_unusual = usual - value > SCATTER * scatters[second];
        let is_low = value < NOTHING * usual || (value < usual / 2.0 && is_unusual);
        let failed = load.at("errors", from + second);
        let has_failed = failed.is_some_and(|failed| failed > NOTHING * usual);
        let decided_by_arrivals =
            is_served(load, from + second) || is_scheduled(load, from + second, usual - value);
        is_low && (has_failed || !decided_by_arrivals)
    };
    let low: Vec<usize> = (0..values.len()).filter(is_low).collect();
    let missing = |second: usize| usual[second] - values[second];
    let is_beyond_chance = |run: &&[usize]| {
        let expected: f64 = run.iter().map(|second| usual[*second]).sum();
        let all: f64 = run.iter().map(|second| missing(*second)).sum();
        all > CHANCE * expected.sqrt()
    };
    let runs = low.chunk_by(|a, b| a + 1 == *b).filter(is_beyond_chance);
    let seconds = runs.flatten();
    seconds
        .map(|second| (from + second, missing(*second)))
        .collect()
}

/// What the server left undone in a second of an open loop.
const LEFT: [&str; 3] = ["queued", "running", "dropped"];

/// Whether nothing was left to do at the end of a second of an open loop: then the arrivals decide how much was done.
fn is_served(load: &Loaded, second: usize) -> bool {
    let is_none = |name: &str| load.at(name, second) == Some(0.0);
    matches!(load.mode, Mode::Open { .. }) && LEFT.into_iter().all(is_none)
}

/// Whether a schedule that changes its rate explains that so many operations are missing: less than half of them were left undone.
fn is_scheduled(load: &Loaded, second: usize, missing: f64) -> bool {
    let left = LEFT.into_iter().filter_map(|name| load.at(name, second));
    load.mode.has_changing_rate() && left.sum::<f64>() < missing / 2.0
}

/// The median of the 61 s around each second. A stall that takes most of them makes it 0: there it is the median of all
/// seconds, and where that is 0 too their mean.
fn usual(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let or = |one: f64, other: f64| if one > 0.0 { one } else { other };
    let whole = or(running::median(values), mean);
    let medians = running::medians(values).into_iter();
    medians.map(|median| or(median, whole)).collect()
}

/// The seconds of the measured part without any of its stalls.
pub fn calm_seconds(steady: &Steady, stalls: &[Stall]) -> Vec<usize> {
    let stalled = |second: &usize| stalls.iter().any(|stall| stall.range().contains(second));
    steady.range().filter(|second| !stalled(second)).collect()
}

/// Series with a value that is unusual in the calm seconds. States are left out: most repeat a counter of the server under another
/// name. So are the operations themselves.
fn moved(load: &Loaded, calm: &[usize], stall: &Stall) -> Vec<Moved> {
    let one = |(name, values): (&String, &Vec<Option<f64>>)| {
        let at = |second: usize| values.get(second).copied().flatten();
        let usual = Usual::of(calm.iter().filter_map(|&second| at(second)))?;
        let during = stall.range().filter_map(at).fold(f64::MIN, f64::max);
        (during > usual.fence).then(|| Moved {
            name: name.clone(),
            usual: usual.median,
            during,
        })
    };
    let counters = load.series.iter();
    let counters = counters.filter(|(name, _)| State::of_series(name).is_none());
    let operations: Vec<String> = load.operations.iter().map(|one| done_series(one)).collect();
    let counters = counters.filter(|(name, _)| !operations.contains(name));
    let mut moved: Vec<Moved> = counters.filter_map(one).collect();
    let rise = |moved: &Moved| (moved.during + 1.0) / (moved.usual.abs() + 1.0);
    moved.sort_by(|a, b| rise(b).total_cmp(&rise(a)));
    moved.truncate(MOVED_MAX);
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, noisy, open, series};
    use crate::summarise;
    use record::load::Warmup;

    #[test]
    fn seconds_under_half_of_their_neighbours_are_found_and_counted() {
        let mut load = closed(|s| if (40..43).contains(&s) { 100.0 } else { 1000.0 }, 120);
        load.series.insert(
            "Innodb_log_waits".into(),
            series(120, |s| if s == 41 { 30.0 } else { 1.0 }),
        );
        load.series
            .insert("Threads_connected".into(), series(120, |_| 8.0));
        let stalls = summarise(&load).stalls;
        assert_eq!(stalls.len(), 1);
        assert_eq!((stalls[0].start_s, stalls[0].seconds), (40, 3));
        assert_eq!(stalls[0].operations_lost, 2700.0);
        let moved = Moved {
            name: "Innodb_log_waits".into(),
            usual: 1.0,
            during: 30.0,
        };
        assert_eq!(stalls[0].moved, [moved]);
    }

    #[test]
    fn a_second_at_zero_is_a_stall_and_one_at_half_the_median_is_not() {
        let load = closed(
            |s| match s {
                50 => 0.0,
                80 => 500.0,
                _ => 1000.0,
            },
            120,
        );
        let stalls = summarise(&load).stalls;
        assert_eq!(stalls.iter().map(|s| s.start_s).collect::<Vec<_>>(), [50]);
    }

    /// Below half of the median alone, 47 % of these trials have a stall at a noise of 20 %, and 93 % at 25 %.
    #[test]
    fn steady_noise_is_hardly_ever_called_a_stall() {
        for noise in [0.2, 0.25] {
            let has_stall = |seed: &u64| {
                let values = noisy(120, *seed, |_| 1000.0, 1000.0 * noise);
                !summarise(&closed(|s| values[s].max(0.0), 120))
                    .stalls
                    .is_empty()
            };
            let wrong = (0..100).filter(has_stall).count();
            assert!(wrong <= 9, "noise {noise}: {wrong} of 100");
        }
    }

    #[test]
    fn a_second_with_next_to_nothing_is_a_stall_in_any_noise_and_beside_another_level() {
        // A server paused for one second, with 8 clients; the first ten seconds are its warm-up.
        let paused = [
            3765.0, 4213.0, 4783.0, 4749.0, 4918.0, 4723.0, 4432.0, 4806.0, 4790.0, 4908.0, 5.0,
            2908.0, 2910.0, 2945.0, 2998.0, 2656.0, 3001.0, 2952.0, 2952.0, 3214.0,
        ];
        let mut load = closed(|s| paused[s], 20);
        load.warmup = Warmup::Seconds(10.0);
        let stalls = summarise(&load).stalls;
        assert_eq!((stalls.len(), stalls[0].start_s), (1, 10));
        // One client on a busy machine: the seconds scatter by a third.
        let paused = [
            1514.0, 1135.0, 970.0, 1059.0, 814.0, 1.0, 2028.0, 2066.0, 1022.0, 927.0, 1707.0,
            942.0, 1436.0, 1446.0, 2505.0,
        ];
        let stalls = summarise(&closed(|s| paused[s], 15)).stalls;
        assert_eq!((stalls.len(), stalls[0].start_s), (1, 5));
    }

    #[test]
    fn stalls_are_found_in_noise_of_a_tenth() {
        for seed in 0..40 {
            let values = noisy(120, seed, |s| if s == 70 { 50.0 } else { 1000.0 }, 100.0);
            let stalls = summarise(&closed(|s| values[s].max(0.0), 120)).stalls;
            assert!(stalls.iter().any(|stall| stall.start_s == 70), "{seed}");
        }
    }

    #[test]
    fn a_stall_longer_than_half_of_its_neighbourhood_is_one_stall() {
        for (begin, seconds) in [(100, 31), (100, 40), (100, 60), (280, 20)] {
            let stalled = begin..begin + seconds;
            let load = closed(|s| if stalled.contains(&s) { 0.0 } else { 1000.0 }, 300);
            let stalls = summarise(&load).stalls;
            assert_eq!(stalls.len(), 1, "{seconds} s");
            let found = (stalls[0].start_s as usize, stalls[0].seconds as usize);
            assert_eq!(found, (begin, seconds));
            assert_eq!(stalls[0].operations_lost, 1000.0 * seconds as f64);
        }
    }

    #[test]
    fn a_stall_may_last_more_than_half_of_the_measured_part() {
        let load = closed(|s| if s < 20 { 1000.0 } else { 0.0 }, 60);
        let stalls = summarise(&load).stalls;
        let found: Vec<_> = stalls.iter().map(|s| (s.start_s, s.seconds)).collect();
        assert_eq!(found, [(20, 40)]);
    }

    /// A recorded trace has quiet seconds.
    #[test]
    fn a_second_in_which_nothing_arrived_is_no_stall_and_one_in_which_all_failed_is() {
        let quiet = |s: usize| (50..60).contains(&s);
        let stalls = |waiting: f64, failed: f64| {
            let mut load = open(100.0, 120, |s| if quiet(s) { waiting } else { 0.0 });
            let done = series(120, |s| if quiet(s) { 0.0 } else { 100.0 });
            load.series.insert("throughput".into(), done);
            for name in ["running", "dropped"] {
                load.series.insert(name.into(), series(120, |_| 0.0));
            }
            let errors = series(120, |s| if quiet(s) { failed } else { 0.0 });
            load.series.insert("errors".into(), errors);
            summarise(&load).stalls.len()
        };
        let found = [stalls(0.0, 0.0), stalls(7.0, 0.0), stalls(0.0, 100.0)];
        assert_eq!(found, [0, 1, 1]);
    }

    #[test]
    fn a_load_that_does_one_operation_in_ten_seconds_has_no_stalls() {
        let load = closed(|s| if s % 10 == 0 { 1.0 } else { 0.0 }, 600);
        assert!(summarise(&load).stalls.is_empty());
    }

    #[test]
    fn a_stop_of_a_second_is_found_at_the_rates_that_are_said_to_tell_it() {
        for rate in [0.0, 3.0, 10.0, 15.0, 17.0, 100.0] {
            let stopped = closed(move |s| if s == 50 { 0.0 } else { rate }, 120);
            let found = summarise(&stopped);
            let tells = too_few(&found).is_none();
            assert_eq!(tells, !found.stalls.is_empty(), "{rate}");
        }
        let text = too_few(&summarise(&closed(|_| 3.0, 120))).unwrap();
        assert!(text.starts_with("3.0 ops/s are too few"), "{text}");
        assert_eq!(too_few(&summarise(&open(3.0, 120, |_| 0.0))), None);
    }

    #[test]
    fn empty_seconds_at_a_low_rate_are_chance_until_they_last() {
        let low = |gap: std::ops::Range<usize>| {
            closed(move |s| if gap.contains(&s) { 0.0 } else { 3.0 }, 120)
        };
        assert!(summarise(&low(50..52)).stalls.is_empty());
        assert_eq!(summarise(&low(50..60)).stalls.len(), 1);
    }
}
