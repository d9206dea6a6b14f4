//! Rule 10: stalls, seconds with almost no throughput.

use super::running::{self, Usual};
use super::steady::{Steady, throughput};
use crate::load::{Loaded, done_series};
use crate::state::State;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Consecutive seconds with a throughput below half of the running median, or of zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Of the trial.
    pub start_s: u32,
    pub seconds: u32,
    /// Fewer operations than usual by this number.
    pub operations_lost: f64,
    /// Series that rose during the stall, the largest rise first.
    pub moved: Vec<Moved>,
}

impl Stall {
    /// Its seconds of the trial.
    pub fn range(&self) -> Range<usize> {
        let from = self.start_s as usize;
        from..from + self.seconds as usize
    }
}

/// A series of the record during a stall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    pub name: String,
    /// The median of the seconds without a stall.
    pub usual: f64,
    /// The largest value during the stall.
    pub during: f64,
}

/// At low rates chance alone leaves seconds empty. Poisson arrivals miss their mean by more than four times its square root in
/// one case of 30,000.
const CHANCE: f64 = 4.0;
const MOVED_MAX: usize = 5;

/// In the measured part, in order.
pub(super) fn stalls(load: &Loaded, steady: &Steady) -> Vec<Stall> {
    let values = throughput(load);
    let seconds = steady.from_s as usize..steady.until_s as usize;
    let usual = usual(&values, &values[seconds.clone()]);
    let low = |second: &usize| values[*second] < usual[*second] / 2.0;
    let counts: Vec<usize> = seconds.filter(low).collect();
    let runs = counts.chunk_by(|a, b| a + 1 == *b);
    let mut stalls: Vec<Stall> = runs.filter_map(|run| stall(run, &values, &usual)).collect();
    let calm = calm_seconds(steady, &stalls);
    for stall in &mut stalls {
        stall.moved = moved(load, &calm, stall);
    }
    stalls
}

/// The median of the 61 s around each second. A stall that takes most of them makes it 0: there it is the median of the
/// measured part, and where that is 0 too its mean.
fn usual(values: &[f64], measured: &[f64]) -> Vec<f64> {
    let mean = measured.iter().sum::<f64>() / measured.len().max(1) as f64;
    let or = |one: f64, other: f64| if one > 0.0 { one } else { other };
    let whole = or(running::median(measured), mean);
    let medians = running::medians(values).into_iter();
    medians.map(|median| or(median, whole)).collect()
}

fn stall(run: &[usize], values: &[f64], usual: &[f64]) -> Option<Stall> {
    let usual: f64 = run.iter().map(|&second| usual[second]).sum();
    let lost = usual - run.iter().map(|&second| values[second]).sum::<f64>();
    (lost > CHANCE * usual.sqrt()).then(|| Stall {
        start_s: run[0] as u32,
        seconds: run.len() as u32,
        operations_lost: lost,
        moved: Vec::new(),
    })
}

/// The seconds of the measured part without any of its stalls.
pub fn calm_seconds(steady: &Steady, stalls: &[Stall]) -> Vec<usize> {
    let stalled = |second: &usize| stalls.iter().any(|stall| stall.range().contains(second));
    (steady.from_s as usize..steady.until_s as usize)
        .filter(|second| !stalled(second))
        .collect()
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

/// All stalls of a measured part in one sentence; none without stalls.
pub(super) fn sentence(stalls: &[Stall], seconds: u32) -> Option<String> {
    let longest = stalls.iter().map(|stall| stall.seconds).max()?;
    let lost: f64 = stalls.iter().map(|stall| stall.operations_lost).sum();
    let count = match stalls.len() {
        1 => "one stall".to_string(),
        count => format!("{count} stalls"),
    };
    let per_hour = stalls.len() as f64 * 3600.0 / f64::from(seconds.max(1));
    Some(format!(
        "{count} ({per_hour:.1} per hour), the longest {longest} s; {lost:.0} fewer operations than usual"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{closed, series};
    use super::*;
    use crate::stats::summarise;

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

    #[test]
    fn a_load_that_does_one_operation_in_ten_seconds_has_no_stalls() {
        let load = closed(|s| if s % 10 == 0 { 1.0 } else { 0.0 }, 600);
        assert!(summarise(&load).stalls.is_empty());
    }

    #[test]
    fn empty_seconds_at_a_low_rate_are_chance_until_they_last() {
        let low = |gap: std::ops::Range<usize>| {
            closed(move |s| if gap.contains(&s) { 0.0 } else { 3.0 }, 120)
        };
        assert!(summarise(&low(50..52)).stalls.is_empty());
        assert_eq!(summarise(&low(50..60)).stalls.len(), 1);
    }

    #[test]
    fn stalls_are_described_in_a_sentence() {
        let stall = |start_s, seconds, operations_lost| Stall {
            start_s,
            seconds,
            operations_lost,
            moved: vec![],
        };
        let two = [stall(5, 1, 900.0), stall(60, 4, 4000.0)];
        assert_eq!(
            sentence(&two, 600).unwrap(),
            "2 stalls (12.0 per hour), the longest 4 s; 4900 fewer operations than usual"
        );
        assert_eq!(sentence(&[], 600), None);
    }
}
