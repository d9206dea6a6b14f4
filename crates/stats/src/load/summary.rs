//! A timed load in a few figures.
//!
//! Purpose: everything that tables, claims and findings need of a trial, so that they do not read histograms. Boundaries:
//! trials are compared in `loads` and `judge`; charts use the series.

use super::generator::{bottleneck, own_stalls, short_slices};
use super::measured::{measured, recorded, sum, throughput, to_the_end};
use super::percentiles::of_notes;
use super::{accounts, conformance, stability, stale_reads, stall, steady};
use crate::series::{batches, change, period, shift, sight};
use record::load::{CARRIED, HELD_MS, LatencyKind, Loaded, Mode, UNCOUNTED, Warmup};
use record::trial::Trial;
use record::{Latency, Percentiles, Shape, Steady, Summary};
use std::borrow::Cow;

/// The version of the rules that made a summary. The store recomputes a summary of another version, so a changed rule raises it,
/// and so does a new field of [`Summary`] whose default is wrong for older records.
pub const RULES: u32 = 20;

/// The summary that the store kept, or a new one.
pub fn summary(load: &Loaded) -> Cow<'_, Summary> {
    match &load.summary {
        Some(summary) => Cow::Borrowed(summary),
        None => Cow::Owned(summarise(load)),
    }
}

/// Of the load of a trial; None without one.
pub(crate) fn of_trial(trial: &Trial) -> Option<Cow<'_, Summary>> {
    trial.load.as_deref().map(summary)
}

/// From the series and histograms of a whole load.
pub fn summarise(load: &Loaded) -> Summary {
    let steady = steady::steady(load);
    let offered = stability::offered(load, &steady);
    let unstable = offered.as_ref().is_some_and(|o| o.unstable.is_some());
    // Without a whole second nothing was measured, and what ended in a part of one would be all that is known of slow operations.
    let is_empty = steady.seconds() == 0;
    let operations = sum(load, "throughput", &steady);
    let first = short_slices::First::of(load, operations);
    let latency = |operation: Option<&str>| {
        let mut found = match unstable || is_empty {
            true => Latency::default(),
            false => latency(load, &steady, operation),
        };
        if let Some(first) = &first {
            first.mark(&mut found);
        }
        found
    };
    let mut all = latency(None);
    let own_stalls = own_stalls::check(load, &steady, &mut all);
    let count = |found: &Option<Percentiles>| found.as_ref().map(|found| found.count);
    if matches!(load.mode, Mode::Closed { .. }) && count(&all.service) == count(&all.response) {
        // They are the same, and responses are kept in shorter spans, which show from how many seconds a percentile comes.
        all.service = all.response.clone();
    }
    let values = throughput(load);
    let measured = &values[steady.from_s as usize..];
    let segments = change::segments(measured);
    let levels = shift::levels(&segments);
    // Levels and periods of a schedule are not those of the server.
    let is_scheduled = load.mode.has_changing_rate();
    let shifts_from_s = shifts_from_s(load, &steady);
    let shifts = if is_scheduled {
        Vec::new()
    } else if shifts_from_s == steady.from_s {
        shift::shifts(&levels, shifts_from_s)
    } else {
        let segments = change::segments(&values[shifts_from_s as usize..]);
        shift::shifts(&shift::levels(&segments), shifts_from_s)
    };
    Summary {
        operations: operations as u64,
        operations_counted: counted(load),
        retried: sum(load, "retried", &steady) as u64,
        errors: to_the_end(load, "errors", &steady) as u64,
        unknown: to_the_end(load, "unknown", &steady) as u64,
        accounts: accounts::accounts(load, &steady),
        throughput: own_stalls::throughput(load, &steady),
        throughput_error: batches::error(&values, &steady),
        variation: batches::variation(&values, &steady),
        by_operation: (load.operations.iter())
            .map(|name| (name.clone(), latency(Some(name))))
            .filter(|(_, latency)| *latency != Latency::default())
            .collect(),
        engine: bottleneck::check(load, &steady, &all, own_stalls),
        stale_reads: stale_reads::stale_reads(load, &steady),
        stalls: stall::stalls(load, &steady),
        shifts,
        period: period::period(measured, &levels).filter(|_| !is_scheduled),
        sight: (steady.shape != Shape::TooShort)
            .then(|| sight::sight(measured, &segments, steady.from_s))
            .flatten(),
        conformance: conformance::conformance(load, &steady, !unstable),
        latency: all,
        offered,
        steady,
    }
}

/// A slowdown counts as a level shift although the seconds before it are left out. A warm-up does not, nor does a beginning
/// that was left out without a steady state.
fn shifts_from_s(load: &Loaded, steady: &Steady) -> u32 {
    match (load.warmup, steady.shape) {
        (Warmup::Find, Shape::Slowdown) => 0,
        _ => steady.from_s,
    }
}

fn counted(load: &Loaded) -> u64 {
    let from = load.warmup.known_s().max(0.0).ceil() as usize;
    let is_counted = |second: usize| load.at(UNCOUNTED, second) != Some(1.0);
    let done = |name: &str| -> f64 {
        let seconds = load.seconds(name).iter().enumerate().skip(from);
        let counted = seconds.filter(|(second, _)| is_counted(*second));
        counted.filter_map(|(_, done)| *done).sum()
    };
    (done("throughput") + done(CARRIED)) as u64
}

fn latency(load: &Loaded, steady: &Steady, operation: Option<&str>) -> Latency {
    let of = |kind: LatencyKind| {
        let notes = measured(load, steady, operation, kind);
        let never = match kind {
            LatencyKind::Response | LatencyKind::Wait => unanswered(load, steady),
            LatencyKind::Service | LatencyKind::Failed => 0.0,
        };
        of_notes(&notes, |answered| {
            let share = match operation {
                Some(_) if never > 0.0 => answered as f64 / all_recorded(load, steady, kind) as f64,
                _ => 1.0,
            };
            (never * share).round() as u64
        })
    };
    let (response, service) = (of(LatencyKind::Response), of(LatencyKind::Service));
    // In closed loop both are the same times, but those of all operations are recorded by the second.
    let (response, service) = match load.mode {
        Mode::Open { .. } => (response, service),
        Mode::Closed { .. } => {
            let times = response.or(service);
            (times.clone(), times)
        }
    };
    Latency {
        response,
        wait: of(LatencyKind::Wait),
        failed: of(LatencyKind::Failed),
        service,
    }
}

/// Arrivals that were dropped, held back by a full queue, or still queued at the end.
fn unanswered(load: &Loaded, steady: &Steady) -> f64 {
    let open = load.open.as_ref();
    let queued = open.map_or(0.0, |open| open.queued_at_end as f64);
    // The schedule did not continue during the stall: its arrivals would have been the latest ones.
    let held_s = to_the_end(load, HELD_MS, steady) / 1e3;
    let held = held_s * load.mode.rate().unwrap_or(0.0);
    to_the_end(load, "dropped", steady) + held + queued
}

/// How many operations of any name have a latency of this kind.
fn all_recorded(load: &Loaded, steady: &Steady, kind: LatencyKind) -> u64 {
    let names = load.operations.iter();
    names.map(|name| recorded(load, steady, name, kind)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, histogram, open, series, with_response};
    use record::RateRange;
    use record::load::HistogramNote;

    const MS: u64 = 1_000_000;

    #[test]
    fn bursts_of_the_schedule_are_no_levels_periods_and_stalls_of_the_server() {
        let is_burst = |s: usize| s % 10 < 2;
        let rate = |s: usize| if is_burst(s) { 20.0 } else { 200.0 };
        let mut load = open(164.0, 240, |_| 0.0);
        load.series.insert("throughput".into(), series(240, rate));
        // An operation of a slow second is under way when it ends.
        load.series.insert("running".into(), series(240, |_| 1.0));
        load.series.insert("dropped".into(), series(240, |_| 0.0));
        assert!(!summarise(&load).stalls.is_empty());
        let Mode::Open { range, .. } = &mut load.mode else {
            panic!("an open loop");
        };
        *range = Some(RateRange {
            min: 20.0,
            max: 200.0,
        });
        let found = summarise(&load);
        assert_eq!((found.shifts, found.period), (Vec::new(), None));
        assert_eq!(found.stalls, []);
        // What is left undone is the server's.
        let stopped = |s: usize| if s == 45 { 0.0 } else { rate(s) };
        let left = |s: usize| if s == 45 { 200.0 } else { 0.0 };
        load.series
            .insert("throughput".into(), series(240, stopped));
        load.series.insert("queued".into(), series(240, left));
        let stalls = summarise(&load).stalls;
        assert_eq!((stalls.len(), stalls[0].start_s), (1, 45));
    }

    #[test]
    fn throughput_and_percentiles_are_of_the_measured_part_alone() {
        let mut load = closed(|s| if s < 10 { 100.0 } else { 1000.0 }, 40);
        load.warmup = Warmup::Seconds(10.0);
        let load = with_response(load, 40, |s| vec![if s < 10 { 900 } else { 5 } * MS; 1000]);
        let summary = summarise(&load);
        assert_eq!(
            (summary.throughput, summary.operations),
            (Some(1000.0), 30_000)
        );
        let response = summary.latency.response.unwrap();
        assert_eq!(response.count, 30_000);
        assert!((response.max_ms - 5.0).abs() < 0.01, "{}", response.max_ms);
    }

    /// The server is stopped at 12.5 s and answers again at 15 s: what it counted from 12 to 15 s is lost.
    #[test]
    fn operations_of_seconds_that_the_counters_do_not_cover_are_not_among_theirs() {
        let mut load = closed(|s| if s == 13 { 0.0 } else { 100.0 }, 20);
        load.warmup = Warmup::Seconds(5.0);
        assert_eq!(summarise(&load).operations_counted, 1400);
        let lost = series(20, |s| f64::from(u8::from((12..15).contains(&s))));
        load.series.insert(UNCOUNTED.into(), lost);
        let summary = summarise(&load);
        assert_eq!(
            (summary.operations_counted, summary.operations),
            (1200, 1400)
        );
    }

    #[test]
    fn a_load_of_less_than_a_second_has_no_percentiles_of_no_operation() {
        let mut load = closed(|_| 500.0, 1);
        load.elapsed_s = 0.5;
        load.engine.until_s = Some(0.5);
        let summary = summarise(&with_response(load, 1, |_| vec![MS; 500]));
        assert_eq!((summary.operations, summary.throughput), (0, None));
        assert_eq!(summary.latency, Latency::default());
    }

    #[test]
    fn in_closed_loop_latency_and_service_are_uncertain_alike() {
        let mut load = closed(|_| 100.0, 20);
        load.histograms.push(HistogramNote {
            operation: Some("update".into()),
            kind: LatencyKind::Service,
            every_s: 10,
            start_s: 0,
            nanoseconds: histogram((0..2000).map(|n| (1 + n % 100) * MS)),
        });
        // All slow ones are in one second.
        let load = with_response(load, 20, |s| vec![if s == 3 { 90 } else { 1 } * MS; 100]);
        let latency = summarise(&load).latency;
        assert_eq!(latency.response, latency.service);
        assert!(!latency.response.unwrap().uncertain.is_empty());
    }

    #[test]
    fn a_partial_second_counts_for_latency_but_not_for_throughput() {
        let mut load = closed(|s| if s == 20 { 7.0 } else { 1000.0 }, 21);
        load.elapsed_s = 20.3;
        let load = with_response(load, 21, |s| vec![if s == 20 { 300 } else { 5 } * MS; 100]);
        let summary = summarise(&load);
        assert_eq!(summary.throughput, Some(1000.0));
        assert!(summary.latency.response.unwrap().max_ms >= 300.0);
    }

    #[test]
    fn percentiles_are_of_merged_counts_not_averages() {
        // 99 seconds of 1 ms and one of 100 ms: the p99 is that of all, 1 ms, where the mean of the p99 would be 2.
        let load = closed(|_| 1000.0, 100);
        let load = with_response(load, 100, |s| {
            vec![if s == 50 { 100 } else { 1 } * MS; 1000]
        });
        let response = summarise(&load).latency.response.unwrap();
        assert!((response.p99_ms.unwrap() - 1.0).abs() < 0.001);
        assert!((response.p999_ms.unwrap() - 100.0).abs() < 0.1);
    }

    #[test]
    fn wait_and_service_of_all_operations_are_the_sum_over_the_operations() {
        let mut load = open(100.0, 20, |_| 0.0);
        load.operations = vec!["read".into(), "write".into()];
        for (operation, ms) in [("read", 1), ("write", 9)] {
            load.histograms.extend([0, 10].map(|start_s| HistogramNote {
                operation: Some(operation.into()),
                kind: LatencyKind::Service,
                every_s: 10,
                start_s,
                nanoseconds: histogram(vec![ms * MS; 500]),
            }));
        }
        let summary = summarise(&load);
        let all = summary.latency.service.unwrap();
        assert_eq!(all.count, 2000);
        assert!((all.mean_ms - 5.0).abs() < 0.01);
        let names: Vec<_> = summary
            .by_operation
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["read", "write"]);
    }

    #[test]
    fn in_closed_loop_the_response_of_an_operation_is_its_service() {
        let window = |kind| HistogramNote {
            operation: Some("update".into()),
            kind,
            every_s: 10,
            start_s: 0,
            nanoseconds: histogram(vec![MS; 500]),
        };
        let mut load = closed(|_| 50.0, 20);
        load.histograms.push(window(LatencyKind::Service));
        let (_, update) = &summarise(&load).by_operation[0];
        assert!(update.response.is_some() && update.response == update.service);
        let mut load = open(50.0, 20, |_| 0.0);
        load.histograms.push(window(LatencyKind::Service));
        assert_eq!(summarise(&load).by_operation[0].1.response, None);
    }

    /// 1,000 requests/s for a minute, a tenth of them reads, on a server that stalls for the last 1.1 s.
    fn stalls_at_the_end() -> Loaded {
        let done = |s: usize| match s {
            0..58 => 1000,
            58 => 900,
            _ => 0,
        };
        let mut load = open(1000.0, 60, |s| match s {
            0..58 => 0.0,
            58 => 100.0,
            _ => 1100.0,
        });
        load.series
            .insert("throughput".into(), series(60, |s| done(s) as f64));
        load.operations = vec!["read".into(), "write".into()];
        for (operation, of_ten) in [("read", 1), ("write", 9)] {
            load.histograms.push(HistogramNote {
                operation: Some(operation.into()),
                kind: LatencyKind::Response,
                every_s: 10,
                start_s: 0,
                nanoseconds: histogram(vec![5 * MS; 5890 * of_ten]),
            });
        }
        with_response(load, 60, |s| vec![5 * MS; done(s as usize)])
    }

    #[test]
    fn arrivals_that_are_still_queued_at_the_end_are_in_the_percentiles() {
        let summary = summarise(&stalls_at_the_end());
        assert_eq!(summary.offered.unwrap().unstable, None);
        let response = summary.latency.response.unwrap();
        assert_eq!((response.count, response.unanswered), (58_900, 1100));
        assert!((response.p95_ms.unwrap() - 5.0).abs() < 0.01);
        assert_eq!(response.p99_ms, None);
    }

    #[test]
    fn unanswered_arrivals_are_shared_out_among_operations() {
        let summary = summarise(&stalls_at_the_end());
        let unanswered = |(_, latency): &(String, Latency)| {
            latency.response.as_ref().map(|found| found.unanswered)
        };
        let shares: Vec<_> = summary.by_operation.iter().map(unanswered).collect();
        assert_eq!(shares, [Some(110), Some(990)]);
    }

    #[test]
    fn arrivals_dropped_in_the_warm_up_are_not_in_the_percentiles() {
        let mut load = open(1000.0, 60, |_| 0.0);
        load.warmup = Warmup::Seconds(10.0);
        load.series.insert(
            "dropped".into(),
            series(60, |s| if s < 10 { 90.0 } else { 2.0 }),
        );
        let load = with_response(load, 60, |_| vec![5 * MS; 1000]);
        let response = summarise(&load).latency.response.unwrap();
        assert_eq!(response.unanswered, 100);
    }

    /// The schedule pauses for a second, during a stall of the server.
    #[test]
    fn arrivals_that_a_full_queue_held_back_are_in_the_percentiles() {
        let held = |ms: f64| {
            let mut load = open(100.0, 60, |_| 0.0);
            let paused = series(60, |s| if s == 30 { ms } else { 0.0 });
            load.series.insert(HELD_MS.into(), paused);
            summarise(&with_response(load, 60, |_| vec![5 * MS; 100]))
        };
        let paused = held(1000.0);
        assert_eq!(paused.offered.unwrap().unstable, None);
        let response = paused.latency.response.unwrap();
        assert_eq!(response.unanswered, 100);
        assert!(response.p95_ms.is_some());
        assert_eq!(response.p99_ms, None);
        let response = held(0.0).latency.response.unwrap();
        assert!(response.p99_ms.is_some());
    }

    #[test]
    fn an_excluded_beginning_without_steady_state_is_not_a_level_shift() {
        let mut load = closed(|s| if s < 30 { 500.0 } else { 1000.0 }, 120);
        load.warmup = Warmup::Find;
        let mut steady = steady::steady(&load);
        assert_eq!((steady.shape, steady.from_s), (Shape::WarmUp, 30));
        steady.shape = Shape::NotShown;
        assert_eq!(shifts_from_s(&load, &steady), 30);
        steady.shape = Shape::Slowdown;
        assert_eq!(shifts_from_s(&load, &steady), 0);
    }

    #[test]
    fn histograms_that_overlap_the_warm_up_are_left_out() {
        let mut load = open(100.0, 30, |_| 0.0);
        load.warmup = Warmup::Seconds(5.0);
        load.histograms = [0, 10, 20]
            .map(|start_s| HistogramNote {
                operation: Some("update".into()),
                kind: LatencyKind::Wait,
                every_s: 10,
                start_s,
                nanoseconds: histogram(vec![MS; 100]),
            })
            .to_vec();
        assert_eq!(summarise(&load).latency.wait.unwrap().count, 200);
    }

    #[test]
    fn an_unstable_load_has_a_throughput_and_no_percentiles() {
        let load = open(1000.0, 60, |s| 500.0 * s as f64);
        let summary = summarise(&with_response(load, 60, |s| {
            vec![u64::from(s + 1) * MS; 1000]
        }));
        assert_eq!(summary.throughput, Some(1000.0));
        assert_eq!(summary.latency, Latency::default());
    }

    #[test]
    fn a_load_without_a_whole_second_has_no_throughput() {
        let mut load = closed(|_| 5.0, 1);
        load.elapsed_s = 0.4;
        assert_eq!(summarise(&load).throughput, None);
    }

    #[test]
    fn operations_that_are_lost_after_the_end_of_the_load_are_errors() {
        let mut load = closed(|_| 100.0, 20);
        load.engine.until_s = Some(20.0);
        let after_the_end = |s| if s >= 20 { 7.0 } else { 0.0 };
        load.series
            .insert("errors".into(), series(21, after_the_end));
        assert_eq!(summarise(&load).errors, 7);
    }

    #[test]
    fn commits_without_an_answer_are_counted_among_the_errors_and_by_themselves() {
        let mut load = closed(|_| 100.0, 20);
        let at = |second, count| series(20, |s| if s == second { count } else { 0.0 });
        load.series.insert("errors".into(), at(6, 3.0));
        load.series.insert("unknown".into(), at(6, 2.0));
        let summary = summarise(&load);
        assert_eq!((summary.errors, summary.unknown), (3, 2));
        load.series.remove("unknown");
        assert_eq!(summarise(&load).unknown, 0, "of an older record");
    }
}
