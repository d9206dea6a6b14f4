//! Rule 8: seconds in which the load generator itself did not run, and the figures that they decide.
//!
//! A stopped process, a CPU quota, a paused machine or a busy core delays operations as a slow server does. The engine knows when its
//! threads did not run. Boundaries: its lateness for single operations and its CPU use are in `bottleneck`.

use crate::inference::estimate::mean;
use crate::load::measured::{measured, not_run, throughput as each_second};
use crate::load::stability::{carried, is_full};
use hdrhistogram::Histogram;
use record::claim::Percentile;
use record::histogram::merged;
use record::load::{EngineStall, LatencyKind, Loaded, Mode};
use record::{Latency, OwnStalls, Percentiles, Steady};
use std::collections::BTreeSet;

/// Percentiles are decided by the generator from this share on, and from this time (ms).
const SHARE: f64 = 0.1;
const LEAST_MS: f64 = 1.0;
/// A stall delays no operation by more than itself, plus a queue that is served meanwhile.
const REACH: f64 = 2.0;

/// None where no second of the measured part is affected and no percentile is decided. Marks percentiles of `latency` that remain
/// valid, but are the generator's.
pub(crate) fn check(load: &Loaded, steady: &Steady, latency: &mut Latency) -> Option<OwnStalls> {
    let is_measured = |second: u32| (steady.from_s..steady.until_s).contains(&second);
    let stalls = load.engine.stalls.iter();
    let stalls: Vec<&EngineStall> = stalls.filter(|one| is_measured(one.second)).collect();
    if stalls.is_empty() {
        return None;
    }
    let long = not_run(load).into_iter().filter(|one| is_measured(*one));
    let seconds: Vec<u32> = long.collect();
    let all = Stalls::of(load, steady, stalls);
    let decided = latency.response.as_ref().and_then(|one| all.decided(one));
    let most = steady.seconds() as usize / 2;
    let invalid = decided
        .or_else(|| (seconds.len() > most).then(|| "little else was measured".to_string()))
        .or_else(|| all.filled_the_queue(&seconds));
    let Latency {
        response,
        wait,
        service,
        ..
    } = latency;
    let is_closed = matches!(load.mode, Mode::Closed { .. });
    let service = service.as_mut().filter(|_| is_closed);
    for found in response.iter_mut().chain(wait).chain(service) {
        all.mark(found);
    }
    let stood = all.sentence();
    (!seconds.is_empty() || invalid.is_some()).then(|| OwnStalls {
        text: match &invalid {
            Some(why) => format!("{stood}: {why}"),
            None => format!("{stood}; these seconds count for no stall, level shift or period"),
        },
        is_invalid: invalid.is_some(),
        seconds,
    })
}

/// The operations done per second of the measured part, in closed loop without the seconds in which the generator did not run: what
/// it did not issue then is never issued. In open loop with those of the warm-up, but for a queue that was served in addition. None if no
/// second is left.
pub(crate) fn throughput(load: &Loaded, steady: &Steady) -> Option<f64> {
    let stood = match load.mode {
        Mode::Closed { .. } => not_run(load),
        Mode::Open { .. } => BTreeSet::new(),
    };
    let values = load.seconds("throughput").iter().zip(0..steady.until_s);
    let kept = values.skip(steady.from_s as usize);
    let kept: Vec<f64> = kept
        .filter(|(_, second)| !stood.contains(second))
        .map(|(value, _)| value.unwrap_or(0.0))
        .collect();
    let of_warmup = carried(load, steady) / kept.len() as f64;
    mean(&kept).map(|own| own + of_warmup)
}

/// The generator's stalls of the measured part.
struct Stalls<'l> {
    load: &'l Loaded,
    steady: &'l Steady,
    stalls: Vec<&'l EngineStall>,
    /// The responses of the seconds without a stall in them or right before them. None where these are the smaller part.
    clean: Option<Histogram<u64>>,
}

impl<'l> Stalls<'l> {
    fn of(load: &'l Loaded, steady: &'l Steady, stalls: Vec<&'l EngineStall>) -> Stalls<'l> {
        let touched = stalls.iter().flat_map(|one| [one.second, one.second + 1]);
        let touched: BTreeSet<u32> = touched.collect();
        let is_clean = |second: u32| !touched.contains(&second);
        let notes = measured(load, steady, None, LatencyKind::Response);
        let by_second = notes.iter().all(|note| note.every_s == 1);
        let clean = notes.iter().filter(|note| is_clean(note.start_s));
        let enough = 2 * clean.clone().count() >= notes.len();
        Stalls {
            load,
            steady,
            stalls,
            clean: (by_second && enough)
                .then(|| merged(clean.map(|note| &note.nanoseconds)))
                .flatten(),
        }
    }

    fn longest_s(&self) -> f64 {
        let longest = self.stalls.iter().map(|stall| stall.longest_s);
        longest.fold(0.0, f64::max)
    }

    /// Why the percentiles are the generator's own; none where they are not.
    fn decided(&self, response: &Percentiles) -> Option<String> {
        let highest_first = [Percentile::P99, Percentile::P95, Percentile::P50];
        highest_first.into_iter().find_map(|percentile| {
            let own_ms = self.own_ms(response, percentile)?;
            let whole_ms = response.at(percentile)?;
            Some(format!(
                "about {own_ms:.1} ms of the {} latency of {whole_ms:.1} ms are its own",
                percentile.text()
            ))
        })
    }

    /// Adds the percentiles that are the generator's to the uncertain ones.
    fn mark(&self, found: &mut Percentiles) {
        for percentile in [Percentile::P999, Percentile::Max] {
            if self.own_ms(found, percentile).is_some() {
                found.of_generator.push(percentile);
                found.doubt(percentile);
            }
        }
    }

    /// The part of a percentile (ms) that is the generator's, where that is a large one.
    fn own_ms(&self, found: &Percentiles, percentile: Percentile) -> Option<f64> {
        let whole_ms = found.at(percentile)?;
        let below = percentile.share_below();
        let own_ms = match &self.clean {
            Some(clean) => {
                let own_ms = whole_ms - clean.value_at_quantile(below) as f64 / 1e6;
                let reach_ms = REACH * self.longest_s() * 1e3;
                (own_ms <= reach_ms).then_some(own_ms)?
            }
            None => self.delay_ms(1.0 - below).min(whole_ms),
        };
        (own_ms > LEAST_MS && own_ms > SHARE * whole_ms).then_some(own_ms)
    }

    /// The delay (ms) that this share of the operations has at least from the stalls alone: one that is due in a stall waits for the
    /// rest of it.
    fn delay_ms(&self, share: f64) -> f64 {
        let with = |delay_s: f64| -> f64 {
            let one = |stall: &&EngineStall| {
                self.weight(stall) * (1.0 - delay_s / stall.longest_s.max(1e-9)).max(0.0)
            };
            self.stalls.iter().map(one).sum()
        };
        let (mut low_s, mut high_s) = (0.0, self.longest_s());
        for _ in 0..40 {
            let middle_s = (low_s + high_s) / 2.0;
            match with(middle_s) > share {
                true => low_s = middle_s,
                false => high_s = middle_s,
            }
        }
        low_s * 1e3
    }

    /// The share of all operations that one second of stalls delays: those that are due in them, in closed loop one of each client.
    fn weight(&self, stall: &EngineStall) -> f64 {
        match self.load.mode {
            Mode::Open { .. } => stall.stood_s / f64::from(self.steady.seconds().max(1)),
            Mode::Closed { clients, .. } => {
                let values = each_second(self.load);
                let done: f64 = values[self.steady.from_s as usize..].iter().sum();
                let times = stall.stood_s / stall.longest_s.max(1e-9);
                times * f64::from(clients) / done.max(1.0)
            }
        }
    }

    /// A queue that is full in such a second says nothing about the server.
    fn filled_the_queue(&self, seconds: &[u32]) -> Option<String> {
        let stopped = self.load.engine.stopped.as_ref()?;
        let last = self.steady.until_s.saturating_sub(1);
        let is_near = seconds.iter().any(|second| second + 1 >= last);
        (is_full(stopped) && is_near).then(|| stopped.clone())
    }

    fn sentence(&self) -> String {
        let stood_s: f64 = self.stalls.iter().map(|stall| stall.stood_s).sum();
        let (first, last) = (
            self.stalls[0].second,
            self.stalls[self.stalls.len() - 1].second,
        );
        let when = match first == last {
            true => format!("in second {first}"),
            false => format!("in {} seconds from {first} to {last}", self.stalls.len()),
        };
        format!(
            "the load generator did not run for {stood_s:.2} s {when}, up to {:.2} s at once (stopped, out of CPU time, or the machine was paused)",
            self.longest_s()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, open, with_response};
    use crate::load::summary::summarise;
    use record::Summary;

    const MS: u64 = 1_000_000;

    fn stall(second: u32, stood_s: f64, longest_s: f64) -> EngineStall {
        EngineStall {
            second,
            stood_s,
            longest_s,
        }
    }

    /// The generator stops from 8.6 to 10.1 s.
    fn stop() -> Vec<EngineStall> {
        vec![stall(8, 0.4, 1.5), stall(9, 1.0, 1.5), stall(10, 0.1, 1.5)]
    }

    /// 1,000 requests/s of 0.4 ms; those that are due in the stop wait for its rest, and are answered in second 10.
    fn stopped(seconds: u32) -> Loaded {
        let mut load = open(1000.0, seconds as usize, |_| 0.0);
        load.engine.stalls = stop();
        let done = [(8, 600.0), (9, 0.0), (10, 2400.0)];
        let series = load.series.get_mut("throughput").unwrap();
        for (second, count) in done {
            series[second] = Some(count);
        }
        with_response(load, seconds, |second| match second {
            8 => vec![400_000; 600],
            9 => vec![],
            10 => (0..1500)
                .map(|ms| 400_000 + ms * MS)
                .chain(vec![400_000; 900])
                .collect(),
            _ => vec![400_000; 1000],
        })
    }

    fn own(summary: &Summary) -> &OwnStalls {
        summary.engine.stalls.as_ref().expect("a stall of its own")
    }

    #[test]
    fn a_trial_whose_p99_the_generator_decides_is_invalid() {
        let summary = summarise(&stopped(20));
        let own = own(&summary);
        assert!(own.is_invalid);
        assert_eq!(own.seconds, [8, 9, 10]);
        let expected = "the load generator did not run for 1.50 s in 3 seconds from 8 to 10, up to 1.50 s at once (stopped, out of CPU time, or the machine was paused): about 1299.";
        assert!(own.text.starts_with(expected), "{}", own.text);
        let expected = "ms of the p99 latency of 1300.2 ms are its own";
        assert!(own.text.ends_with(expected), "{}", own.text);
    }

    #[test]
    fn its_seconds_are_no_stall_of_the_server() {
        let mut load = stopped(20);
        assert!(summarise(&load).stalls.is_empty());
        load.engine.stalls.clear();
        assert!(!summarise(&load).stalls.is_empty(), "the server's own");
    }

    #[test]
    fn a_stall_of_the_server_remains_one_beside_it() {
        let mut load = closed(
            |s| match s {
                30..33 => 0.0,
                60 => 100.0,
                _ => 1000.0,
            },
            120,
        );
        load.engine.stalls = vec![stall(60, 0.9, 0.9)];
        let starts: Vec<u32> = summarise(&load)
            .stalls
            .iter()
            .map(|one| one.start_s)
            .collect();
        assert_eq!(starts, [30]);
    }

    #[test]
    fn in_a_long_load_the_percentiles_hold_and_the_largest_are_marked() {
        let summary = summarise(&stopped(400));
        assert!(!own(&summary).is_invalid);
        let response = summary.latency.response.unwrap();
        assert_eq!(response.of_generator, [Percentile::P999, Percentile::Max]);
        assert!(response.p99_ms.unwrap() < 0.5);
        let why = response.why_uncertain(Percentile::Max, 400).unwrap();
        assert_eq!(
            why,
            "the load generator did not run while the operations above the max waited"
        );
    }

    #[test]
    fn a_closed_loop_does_not_count_the_seconds_in_which_nothing_was_issued() {
        let done = |second| match second {
            8 => 600.0,
            9 => 0.0,
            10 => 900.0,
            _ => 1000.0,
        };
        let mut load = closed(done, 20);
        load.engine.stalls = stop();
        let load = with_response(load, 20, |_| vec![8 * MS; 900]);
        let summary = summarise(&load);
        assert_eq!(summary.throughput, Some(1000.0));
        assert!(!own(&summary).is_invalid, "8 of 18,000 operations waited");
        assert!(
            own(&summary)
                .text
                .ends_with("these seconds count for no stall, level shift or period")
        );
    }

    #[test]
    fn short_gaps_in_every_second_spoil_nothing_where_they_are_a_small_part() {
        let mut load = closed(|_| 1000.0, 20);
        load.engine.stalls = (0..20).map(|second| stall(second, 0.025, 0.025)).collect();
        // 64 clients on a busy machine: the p99 is 80 ms, and at most 8 operations wait for each gap.
        let load = with_response(load, 20, |_| {
            (0..1000).map(|n| (n % 100) * 800_000).collect()
        });
        let summary = summarise(&load);
        assert_eq!(summary.engine.stalls, None);
        assert_eq!(summary.throughput, Some(1000.0));
    }

    #[test]
    fn a_quota_that_takes_most_of_each_second_leaves_nothing() {
        let mut load = open(100.0, 20, |_| 0.0);
        load.engine.stalls = (0..20).map(|second| stall(second, 0.8, 0.08)).collect();
        let load = with_response(load, 20, |_| (0..100).map(|n| n * MS).collect());
        assert!(own(&summarise(&load)).is_invalid);
    }

    #[test]
    fn a_queue_that_was_full_while_the_generator_stood_still_is_invalid() {
        let mut load = stopped(11);
        load.engine.stopped = Some("the queue of 1000 was full at 10.1 s".into());
        let summary = summarise(&load);
        assert!(own(&summary).is_invalid);
    }

    #[test]
    fn a_stall_in_the_warm_up_does_not_matter() {
        let mut load = stopped(60);
        load.warmup = record::Warmup::Seconds(15.0);
        assert_eq!(summarise(&load).engine.stalls, None);
    }
}
