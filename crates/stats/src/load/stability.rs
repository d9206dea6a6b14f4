//! Rule 3: whether an open load exceeded the server's capacity.
//!
//! The result is a sentence such as "unstable: the queue grows by 412 requests/s"; without one the percentiles are valid.

use crate::series::line::{BATCHES, Line, batches};
use crate::series::running::median;
use record::load::{CARRIED, CARRIED_ERRORS, HELD_MS, Loaded, Mode, Warmup};
use record::{Offered, Steady, Summary, number};
use std::ops::Range;

/// Less than this share of what was offered is not served.
const SERVED_MIN: f64 = 0.98;
/// The growth of the queue is certain at this level.
const ALPHA: f64 = 0.01;
/// Below this length the slope depends on a few points, so the completed share decides.
const SHORT_S: usize = 2 * BATCHES;
/// How the reason of a drive begins that stopped at a full queue.
const FULL: &str = "the queue";
/// How the reason of a merged load begins: with the shard that stopped, and a colon.
const SHARD: &str = "shard ";
/// A queue that holds the arrivals of less time is full after a short stall.
const SMALL_S: f64 = 1.0;
/// A queue at the beginning is a backlog above so many times the usual one, and the arrivals of this time, and a few by chance.
const USUAL: f64 = 4.0;
pub(crate) const BACKLOG_S: f64 = 0.1;
const BACKLOG: f64 = 10.0;
/// Judging needs so many seconds; where fewer are left of the warm-up, all are taken.
const SECONDS_MIN: usize = 5;

/// None in closed loop.
pub(crate) fn offered(load: &Loaded, steady: &Steady) -> Option<Offered> {
    let (Mode::Open { .. }, Some(open)) = (&load.mode, &load.open) else {
        return None;
    };
    let measured = steady.range();
    let seconds = match steady.seconds() as usize {
        0..SECONDS_MIN => 0..measured.end,
        _ => measured.clone(),
    };
    let queue = Queue::of(load, &seconds);
    let (offered, completed) = rates(load, &seconds, &queue);
    let judged = Offered {
        offered,
        completed,
        queued_at_end: open.queued_at_end,
        queued_at_start: queued_before(load, measured.start) as u64,
        dropped: open.dropped,
        growth: Line::through(&queue.lengths).slope,
        unstable: None,
    };
    let unstable = why_unstable(&judged, load, &queue);
    // What is shown is of the measured part, also where more had to be judged.
    let (offered, completed) = rates(load, &measured, &Queue::of(load, &measured));
    Some(Offered {
        offered,
        completed,
        unstable,
        ..judged
    })
}

/// What was offered and completed in one of these seconds, with their queue.
fn rates(load: &Loaded, seconds: &Range<usize>, queue: &Queue) -> (f64, f64) {
    let sum = |name: &str| part(load, name, seconds).iter().sum::<f64>();
    let count = queue.lengths.len().max(1) as f64;
    let ended = sum("throughput") + sum("errors");
    let carried = sum(CARRIED) + sum(CARRIED_ERRORS);
    let offered = ended + carried + sum("dropped") + queue.grown;
    let completed = ended + queue.without_served(carried);
    (offered.max(0.0) / count, completed / count)
}

/// Operations of the warm-up that were done in the measured part, without those of a queue that became shorter in it.
pub(crate) fn carried(load: &Loaded, steady: &Steady) -> f64 {
    let measured = &steady.range();
    let carried = part(load, CARRIED, measured).iter().sum();
    Queue::of(load, measured).without_served(carried)
}

/// The length of the queue when a second begins.
pub(crate) fn queued_before(load: &Loaded, second: usize) -> f64 {
    let before = second.checked_sub(1);
    let before = before.and_then(|second| load.at("queued", second));
    before.unwrap_or(0.0)
}

/// Whether this is why a drive stopped at a full queue: `the queue of 10 was full at 1.2 s`, `shard 1/2: the queue of 5 was full at 1.2 s`.
pub(crate) fn is_full(stopped: &str) -> bool {
    let parts = stopped.split_once(": ");
    let of_shard = parts.filter(|_| stopped.starts_with(SHARD));
    of_shard.map_or(stopped, |(_, why)| why).starts_with(FULL)
}

/// A sentence if more operations of the warm-up waited when measuring began than this load usually queues.
pub fn backlog(load: &Loaded, summary: &Summary) -> Option<String> {
    let offered = summary.offered.as_ref()?;
    let lengths = part(load, "queued", &summary.steady.range());
    let waiting = offered.queued_at_start as f64;
    let usual = USUAL * median(&lengths) + BACKLOG_S * offered.offered + BACKLOG;
    (offered.unstable.is_none() && !lengths.is_empty() && waiting > usual).then(|| {
        let (they, remedy) = match load.warmup {
            Warmup::Seconds(_) => ("they do not count", "use a longer warm-up"),
            Warmup::Find => ("they count, because the warm-up was found afterwards", "set a warmup in seconds"),
        };
        format!(
            "{} operations of the warm-up were waiting when measuring began, the arrivals of {:.1} s: {they}, and those that were due after them had to wait for them; {remedy}",
            number::grouped(offered.queued_at_start),
            waiting / offered.offered.max(1e-9)
        )
    })
}

/// The queue over the seconds that are judged.
struct Queue {
    /// At each second's end.
    lengths: Vec<f64>,
    /// From its beginning to its end.
    grown: f64,
    /// The median growth of a second.
    usual_growth: f64,
    dropped_per_s: f64,
    /// For how long the schedule was paused.
    held_s: f64,
    /// The seconds in which it was paused for that long: those of the whole drive where the pauses of each second are not known.
    held_of_s: f64,
}

impl Queue {
    fn of(load: &Loaded, seconds: &Range<usize>) -> Queue {
        let held = part(load, HELD_MS, seconds);
        let all_held_s = load.open.as_ref().map_or(0.0, |open| open.held_s);
        let (held_s, held_of_s) = match held.len() {
            0 => (all_held_s, load.driven_s()),
            seconds => (held.iter().sum::<f64>() / 1e3, seconds as f64),
        };
        let lengths = part(load, "queued", seconds);
        let dropped: f64 = part(load, "dropped", seconds).iter().sum();
        let before = queued_before(load, seconds.start);
        Queue {
            grown: lengths.last().copied().unwrap_or(0.0) - before,
            usual_growth: usual_growth(before, &lengths),
            dropped_per_s: dropped / lengths.len().max(1) as f64,
            held_s,
            held_of_s,
            lengths,
        }
    }

    /// Operations of the warm-up, without those by which the queue became shorter: the server did these in addition to what was offered. The
    /// others take the place of what the end cuts off.
    fn without_served(&self, carried: f64) -> f64 {
        (carried + self.grown.min(0.0)).max(0.0)
    }
}

/// A second that could not be read counts as the one before it.
fn part(load: &Loaded, name: &str, measured: &Range<usize>) -> Vec<f64> {
    let seconds = load.seconds(name);
    let until = measured.end.min(seconds.len());
    let mut before = 0.0;
    let value = |value: &Option<f64>| {
        before = value.unwrap_or(before);
        before
    };
    let kept = &seconds[measured.start.min(until)..until];
    kept.iter().map(value).collect()
}

fn why_unstable(offered: &Offered, load: &Loaded, queue: &Queue) -> Option<String> {
    let stopped = load.engine.stopped.as_deref();
    let full = stopped.filter(|why| is_full(why));
    let (held_s, of_s) = (queue.held_s, queue.held_of_s);
    if queue.dropped_per_s > (1.0 - SERVED_MIN) * offered.offered {
        Some(format!(
            "unstable: the queue is full and drops {} arrivals per second",
            number::rate(queue.dropped_per_s, 0)
        ))
    } else if held_s > (1.0 - SERVED_MIN) * of_s {
        Some(format!(
            "unstable: the queue was full, and the schedule paused for {held_s:.1} s of {of_s:.1} s"
        ))
    } else if full.is_some() || grew(queue, offered) || grows(queue, offered) {
        let full = full.map(|why| format!("{why}{}", smallness(&load.mode)));
        Some(growing(offered.growth, full.as_deref()))
    } else {
        None
    }
}

/// Completes "the queue of 10000 was full at 12.4 s" where a short stall is enough for that.
fn smallness(mode: &Mode) -> String {
    match mode {
        Mode::Open { rate, queue, .. } if (*queue as f64) < SMALL_S * rate => format!(
            " (it holds the arrivals of {:.2} s, so a short stall fills it)",
            *queue as f64 / rate
        ),
        _ => String::new(),
    }
}

/// `full` expected that the queue was full; that can be before it was seen to grow.
fn growing(growth: f64, full: Option<&str>) -> String {
    let rate = number::rate(growth, usize::from(growth < 1.0));
    match full {
        None => format!("unstable: the queue grows by {rate} requests/s"),
        Some(why) if growth < 0.5 => format!("unstable: {why}"),
        Some(why) => format!("unstable: the queue grows by {rate} requests/s; {why}"),
    }
}

/// In a short load: too little was completed, the queue is longer at the end by more than chance, and it grew in most seconds: after
/// one stall it did not.
fn grew(queue: &Queue, offered: &Offered) -> bool {
    let short = offered.completed < SERVED_MIN * offered.offered;
    let few = queue.lengths.len() < SHORT_S;
    let rose = offered.growth > 0.0 && queue.usual_growth > 0.0;
    few && short && rose && queue.grown > by_chance(queue, offered)
}

/// Certainly, and by more than chance. A queue that was drained by the end did not exceed what the server can serve.
fn grows(queue: &Queue, offered: &Offered) -> bool {
    let growth = offered.growth * queue.lengths.len() as f64;
    let by_chance = by_chance(queue, offered);
    // Up to ten seconds each is a batch.
    let line = Line::through(&batches(&queue.lengths));
    growth > by_chance && queue.grown > by_chance && line.p_of_rise() < ALPHA
}

/// The median growth of a second of a queue that had the length `before` at first.
fn usual_growth(before: f64, lengths: &[f64]) -> f64 {
    let earlier = [before].into_iter().chain(lengths.iter().copied());
    let grown = lengths.iter().zip(earlier).map(|(now, then)| now - then);
    let grown: Vec<f64> = grown.collect();
    median(&grown)
}

/// A queue hardly ever grows by more where all that arrives can be served: at an offered load of just that, arrivals and
/// services wander apart by the square root of twice their number, and this is three times that (the diffusion limit of
/// a queue).
fn by_chance(queue: &Queue, offered: &Offered) -> f64 {
    let arrivals = offered.offered * queue.lengths.len() as f64;
    3.0 * (2.0 * arrivals).sqrt().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{noisy, open, series, with_response};
    use crate::load::summary::summarise;

    fn judged(load: &Loaded) -> Offered {
        summarise(load).offered.unwrap()
    }

    #[test]
    fn a_growing_queue_is_unstable_and_its_rate_is_reported() {
        let offered = judged(&open(3000.0, 60, |s| 412.0 * (s + 1) as f64));
        assert_eq!(
            offered.unstable.as_deref(),
            Some("unstable: the queue grows by 412 requests/s")
        );
        assert_eq!((offered.offered, offered.completed), (3412.0, 3000.0));
        assert_eq!(offered.queued_at_end, 412 * 60);
    }

    #[test]
    fn what_is_offered_is_that_of_the_measured_part_however_short_it_is() {
        let mut load = open(100.0, 6, |_| 0.0);
        let ramp = [40.0, 80.0, 140.0, 180.0, 200.0, 200.0];
        load.series
            .insert("throughput".into(), series(6, |s| ramp[s]));
        load.warmup = record::Warmup::Seconds(2.0);
        let offered = judged(&load);
        assert_eq!((offered.offered, offered.completed), (180.0, 180.0));
        assert_eq!(offered.unstable, None);
    }

    #[test]
    fn two_seconds_are_enough_where_a_tenth_was_served() {
        let offered = judged(&open(10.0, 2, |s| 90.0 * (s + 1) as f64));
        let expected = "unstable: the queue grows by 90 requests/s";
        assert_eq!(offered.unstable.as_deref(), Some(expected));
    }

    /// 100 a second at one worker that is busy for 90 % of the time: after 8 s its queue is often longer by 17.
    #[test]
    fn a_few_queued_arrivals_after_a_short_load_are_chance() {
        let offered = judged(&open(100.0, 8, |s| {
            [2.0, 0.0, 4.0, 3.0, 8.0, 6.0, 11.0, 17.0][s]
        }));
        assert!(offered.completed < SERVED_MIN * offered.offered);
        assert_eq!(offered.unstable, None);
    }

    #[test]
    fn a_queue_that_drains_is_stable() {
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
    fn an_overload_of_five_percent_is_detected_within_a_minute() {
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
    fn a_queue_that_filled_for_half_a_minute_and_drained_is_stable() {
        let filled = |s: usize| 400.0 * s.saturating_sub(18) as f64;
        let drained = |s: usize| 4000.0 * (59 - s.min(59)) as f64;
        let offered = judged(&open(3000.0, 60, |s| filled(s).min(drained(s))));
        assert!(offered.growth * 60.0 > 3.0 * (2.0f64 * 3000.0 * 60.0).sqrt());
        assert_eq!(offered.unstable, None);
    }

    #[test]
    fn one_stall_at_the_end_of_a_short_load_is_stable() {
        let offered = judged(&open(2700.0, 10, |s| if s == 9 { 3000.0 } else { 0.0 }));
        assert!(offered.completed < SERVED_MIN * offered.offered);
        assert_eq!(offered.unstable, None);
    }

    #[test]
    fn a_full_queue_of_less_than_a_second_says_so() {
        let mut load = open(43_000.0, 1, |_| 10_000.0);
        load.engine.stopped = Some("the queue of 10000 was full at 0.9 s".into());
        let Mode::Open { queue, .. } = &mut load.mode else {
            panic!()
        };
        *queue = 10_000;
        let unstable = judged(&load).unstable.unwrap();
        assert!(
            unstable.ends_with("(it holds the arrivals of 0.23 s, so a short stall fills it)"),
            "{unstable}"
        );
    }

    #[test]
    fn dropped_arrivals_make_a_load_unstable_even_if_the_queue_does_not_grow() {
        let mut load = open(1000.0, 60, |_| 10_000.0);
        load.warmup = record::load::Warmup::Seconds(10.0);
        load.series.insert("dropped".into(), series(60, |_| 200.0));
        let offered = judged(&load);
        assert_eq!((offered.offered, offered.completed), (1200.0, 1000.0));
        let expected = "unstable: the queue is full and drops 200 arrivals per second";
        assert_eq!(offered.unstable.as_deref(), Some(expected));
    }

    #[test]
    fn a_paused_schedule_is_unstable() {
        let mut load = open(1000.0, 60, |_| 100.0);
        load.open.as_mut().unwrap().held_s = 30.0;
        let unstable = judged(&load).unstable.unwrap();
        assert!(
            unstable.contains("the schedule paused for 30.0 s of 60.0 s"),
            "{unstable}"
        );
    }

    #[test]
    fn only_pauses_of_the_measured_part_make_a_load_unstable() {
        let held = |ms: fn(usize) -> f64| {
            let mut load = open(1000.0, 60, |_| 100.0);
            load.warmup = record::Warmup::Seconds(40.0);
            load.series.insert(HELD_MS.into(), series(60, ms));
            judged(&load).unstable
        };
        assert_eq!(held(|s| if s < 40 { 500.0 } else { 0.0 }), None);
        let unstable = held(|s| if s < 40 { 0.0 } else { 30.0 }).unwrap();
        let expected = "the schedule paused for 0.6 s of 20.0 s";
        assert!(unstable.contains(expected), "{unstable}");
    }

    #[test]
    fn a_queue_that_fills_within_a_second_has_no_growth_rate() {
        let mut load = open(1000.0, 1, |_| 2.0);
        load.elapsed_s = 0.06;
        load.engine.stopped = Some("the queue of 2 was full at 0.1 s".into());
        assert_eq!(
            judged(&load).unstable.as_deref(),
            Some("unstable: the queue of 2 was full at 0.1 s")
        );
    }

    #[test]
    fn a_merged_load_whose_shards_stopped_at_full_queues_is_unstable() {
        let mut load = open(100.0, 60, |_| 0.0);
        load.engine.stopped = Some("shard 1/2: the queue of 500 was full at 60.0 s".into());
        assert_eq!(
            judged(&load).unstable.as_deref(),
            Some("unstable: shard 1/2: the queue of 500 was full at 60.0 s")
        );
        assert!(!is_full("shard 1/2: interrupted at 60.0 s"));
    }

    #[test]
    fn a_load_that_stopped_for_an_error_about_a_queue_is_not_unstable() {
        let mut load = open(1000.0, 30, |_| 0.0);
        let why = "all clients had ended at 30.0 s: the queue table is gone";
        load.engine.stopped = Some(why.into());
        assert_eq!(judged(&load).unstable, None);
    }

    /// A table was locked until the warm-up ended at 5 s: 6,600 of 1,500 requests/s wait, and are served until 9 s.
    fn after_a_lock() -> Loaded {
        let left = [6600.0, 4950.0, 3300.0, 1650.0];
        let mut load = open(1500.0, 25, |s| match s {
            0..5 => 1320.0 * (s + 1) as f64,
            5..8 => left[s - 4],
            _ => 0.0,
        });
        load.warmup = record::Warmup::Seconds(5.0);
        let carried = series(25, |s| if (5..9).contains(&s) { 1650.0 } else { 0.0 });
        load.series.insert(CARRIED.into(), carried);
        load
    }

    #[test]
    fn what_waited_when_measuring_began_is_reported_and_is_not_offered() {
        let load = after_a_lock();
        let summary = summarise(&load);
        let offered = summary.offered.as_ref().unwrap();
        assert_eq!((offered.offered, offered.completed), (1500.0, 1500.0));
        assert_eq!(offered.queued_at_start, 6600);
        assert_eq!(summary.throughput, Some(1500.0));
        let of_server = 30_000 + 6600;
        assert_eq!(summary.operations_counted, of_server);
        let text = backlog(&load, &summary).unwrap();
        let expected = "6,600 operations of the warm-up were waiting when measuring began, the arrivals of 4.4 s: ";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains(": they do not count, and"), "{text}");
        assert!(summary.stalls.is_empty(), "{:?}", summary.stalls);
    }

    /// The load with a warm-up that ends where these seconds begin. In them the server does what the warm-up left, at the same rate.
    fn carrying(mut load: Loaded, rate: f64, left: Range<usize>) -> Loaded {
        load.warmup = record::Warmup::Seconds(left.start as f64);
        let seconds = load.elapsed_s as usize;
        let own = series(seconds, |s| if left.contains(&s) { 0.0 } else { rate });
        let carried = series(seconds, |s| if left.contains(&s) { rate } else { 0.0 });
        load.series.insert("throughput".into(), own);
        load.series.insert(CARRIED.into(), carried);
        load
    }

    /// 1,400 requests/s at a server that does 1,000, with a warm-up of 10 s. Until 14 s it does what the warm-up left.
    #[test]
    fn an_overloaded_server_completes_what_it_can_whichever_part_it_was_due_in() {
        let load = open(1400.0, 30, |s| 400.0 * (s + 1) as f64);
        let load = carrying(load, 1000.0, 10..14);
        let summary = summarise(&load);
        assert_eq!(summary.throughput, Some(1000.0));
        let offered = summary.offered.unwrap();
        assert_eq!((offered.offered, offered.completed), (1400.0, 1000.0));
        let expected = "unstable: the queue grows by 400 requests/s";
        assert_eq!(offered.unstable.as_deref(), Some(expected));
    }

    /// 100 requests/s that take 2 s each: 200 are under way at each edge of the measured part.
    #[test]
    fn operations_under_way_at_the_edges_do_not_lower_the_throughput() {
        let load = carrying(open(100.0, 20, |_| 0.0), 100.0, 10..12);
        let summary = summarise(&load);
        assert_eq!(summary.throughput, Some(100.0));
        assert_eq!(summary.offered.unwrap().completed, 100.0);
    }

    /// Its own operations wait behind those of the warm-up.
    #[test]
    fn what_waits_behind_the_queue_of_the_warm_up_is_no_stall() {
        let load = with_response(after_a_lock(), 25, |second| match second {
            5 | 6 => Vec::new(),
            7 => vec![2_000_000_000; 100],
            8 => vec![1_000_000_000; 100],
            _ => vec![1_000_000; 100],
        });
        let stalls = summarise(&load).stalls;
        assert!(stalls.is_empty(), "{stalls:?}");
    }

    #[test]
    fn a_queue_as_usual_is_no_backlog() {
        let mut load = open(100.0, 60, |s| (s % 7) as f64);
        load.warmup = record::Warmup::Seconds(5.0);
        assert_eq!(backlog(&load, &summarise(&load)), None);
    }

    #[test]
    fn a_slowly_growing_queue_is_reported_with_a_decimal() {
        let offered = judged(&open(1.0, 1200, |s| 0.3 * s as f64));
        let expected = "unstable: the queue grows by 0.3 requests/s";
        assert_eq!(offered.unstable.as_deref(), Some(expected));
    }

    #[test]
    fn a_load_that_stopped_at_a_full_queue_during_warm_up_is_unstable() {
        let mut load = open(1000.0, 12, |s| 800.0 * (s + 1) as f64);
        load.warmup = record::load::Warmup::Seconds(30.0);
        load.engine.stopped = Some("the queue was full at 12.4 s".into());
        assert_eq!(
            judged(&load).unstable.as_deref(),
            Some("unstable: the queue grows by 800 requests/s; the queue was full at 12.4 s")
        );
    }
}
