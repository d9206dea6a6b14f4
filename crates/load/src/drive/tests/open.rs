//! Open loop: stalls, overload, a full queue.

use super::*;

/// A server that stalls from `from_ms` to `to_ms` after the start of the drive.
fn stalling(from_ms: u64, to_ms: u64) -> impl Fn(&Request) -> Answer + Sync {
    move |request| {
        let stalled = (from_ms * MS..to_ms * MS).contains(&request.started_ns);
        let stall_ns = to_ms * MS - request.started_ns.min(to_ms * MS);
        (if stalled { stall_ns } else { 0 }, Outcome::Done)
    }
}

#[test]
fn open_loop_shows_a_stall_that_closed_loop_hides() {
    let arrivals = Arrivals::Uniform { rate: 200.0 };
    let settings = open(arrivals, 2, 1_000, WhenFull::Stop, 2_000);
    let workload = fake(stalling(1_000, 1_200));
    let (opened, observed) = driven(&workload, &settings);
    // If its workers wake late at the end, the last arrivals stay queued.
    assert_eq!(opened.arrived, 400);
    assert_eq!(opened.started + opened.queued_at_end, 400);
    assert!(opened.started > 300, "{}", opened.started);
    let response = observed.of(LatencyKind::Response);
    // 40 operations arrive during the stall of 200 ms: the first waits for all of it, the last for almost nothing.
    let late = response.count_between(100 * MS, 10_000 * MS);
    assert!(late >= 19, "{late}");
    let at_p99 = response.value_at_quantile(0.99);
    assert!(at_p99 > 170 * MS, "{at_p99}");
    let service = observed.of(LatencyKind::Service);
    assert!(service.count_between(100 * MS, 10_000 * MS) < 19);

    let workload = fake(|request| {
        let (stall_ns, outcome) = stalling(1_000, 1_200)(request);
        (stall_ns.max(MS), outcome)
    });
    let (closed, observed) = driven(&workload, &closed(2, 2_000));
    let at_p99 = observed.of(LatencyKind::Service).value_at_quantile(0.99);
    assert!(closed.started < 400 || at_p99 < 100 * MS, "{at_p99}");
}

#[test]
fn overload_leaves_a_queue_that_is_counted() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (20 * MS, Outcome::Done));
    let (driven, observed) = driven(&workload, &open(arrivals, 2, 100_000, WhenFull::Stop, 500));
    assert_eq!(driven.arrived, 500);
    assert!(driven.started <= 52, "{}", driven.started);
    assert_eq!(driven.queued_at_end, 500 - driven.started);
    assert_eq!(observed.seconds[0].queued, driven.queued_at_end);
    assert_eq!(driven.stopped, None);
}

#[test]
fn a_full_queue_ends_the_drive_and_reports_when() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (60 * MS, Outcome::Done));
    let (driven, _) = driven(&workload, &open(arrivals, 1, 20, WhenFull::Stop, 20_000));
    let why = driven.stopped.expect("it was stopped");
    assert!(why.starts_with("the queue of 20 was full at 0."), "{why}");
    assert!(driven.elapsed < Duration::from_secs(10));
    assert_eq!(driven.queued_at_end, 20);
    assert_eq!(driven.arrived, driven.started + 20);
    assert!(driven.until < Duration::from_secs(10));
}

#[test]
fn a_full_queue_is_detected_while_the_server_stalls() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (3_000 * MS, Outcome::Done));
    let settings = open(arrivals, 1, 600, WhenFull::Stop, 20_000);
    let (driven, _) = driven(&workload, &settings);
    assert_eq!((driven.started, driven.queued_at_end), (1, 600));
}

#[test]
fn arrivals_dropped_by_a_full_queue_are_counted_per_second() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (20 * MS, Outcome::Done));
    let (driven, observed) = driven(&workload, &open(arrivals, 1, 5, WhenFull::Drop, 1_300));
    assert_eq!(driven.arrived, 1_300);
    assert!(driven.dropped >= 1_300 - 66 - 5, "{}", driven.dropped);
    assert!(driven.queued_at_end <= 5);
    let dropped: u64 = observed.seconds.iter().map(|second| second.dropped).sum();
    assert_eq!(dropped, driven.dropped);
}

#[test]
fn a_schedule_that_pauses_drops_nothing_and_reports_the_pause() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (20 * MS, Outcome::Done));
    let (driven, observed) = driven(&workload, &open(arrivals, 1, 5, WhenFull::Wait, 500));
    assert_eq!((driven.dropped, driven.stopped), (0, None));
    let held: Duration = observed.seconds.iter().map(|second| second.held).sum();
    assert_eq!(held, driven.held);
    assert!(driven.arrived <= 26 + 5, "{}", driven.arrived);
    assert!(
        driven.held >= Duration::from_millis(300),
        "{:?}",
        driven.held
    );
}

#[test]
fn arrivals_before_the_end_are_started_and_numbered_in_order() {
    let workload = fake(|_| (0, Outcome::Done));
    let arrivals = Arrivals::Poisson { rate: 2_000.0 };
    let (driven, _) = driven(&workload, &open(arrivals, 8, 10_000, WhenFull::Stop, 300));
    let mut started = workload.started.into_inner().unwrap();
    started.sort_by_key(|request| request.number);
    let numbers: Vec<u64> = started.iter().map(|request| request.number).collect();
    let expected: Vec<u64> = (0..driven.arrived - driven.queued_at_end).collect();
    assert_eq!(numbers, expected);
    assert!(started.is_sorted_by_key(|request| request.scheduled_ns));
    assert!(
        started
            .iter()
            .all(|request| request.started_ns >= request.scheduled_ns)
    );
    assert!(driven.lateness.len() <= driven.started);
}

#[test]
fn a_drive_lasts_its_time_whatever_the_trace() {
    let at_ns: std::sync::Arc<[u64]> = [0, 5 * MS, 9 * MS, 1_250 * MS].into();
    let workload = fake(|_| (0, Outcome::Done));
    let settings = open(Arrivals::Trace { at_ns }, 2, 10, WhenFull::Stop, 1_000);
    let (driven, _) = driven(&workload, &settings);
    assert_eq!(
        (driven.arrived, driven.started, driven.stopped),
        (3, 3, None)
    );
    assert_eq!(driven.until, Duration::from_millis(1_000));
}

/// The server stalls until 1,200 ms, the warm-up ends at 1,000 ms, and each second has 200 arrivals.
#[test]
fn an_operation_belongs_to_the_part_in_which_it_was_due() {
    let arrivals = Arrivals::Uniform { rate: 200.0 };
    let settings = Drive {
        warmup: Duration::from_millis(900),
        ..open(arrivals, 2, 1_000, WhenFull::Stop, 2_000)
    };
    let (driven, observed) = driven(&fake(stalling(500, 1_200)), &settings);
    let carried: u64 = observed.carried().iter().map(Tally::done).sum();
    // 100 are due from 500 to 1,000 ms, and a busy machine may start some of before in the stall.
    assert!((90..=150).contains(&carried), "{carried}");
    assert_eq!(observed.seconds[0].carried.tallies[0], Tally::default());
    let measured: u64 = observed.seconds[1..]
        .iter()
        .map(|one| one.tally.done())
        .sum();
    assert!(measured + driven.queued_at_end <= 200, "{measured}");
    assert!(measured > 150, "{measured}");
    let response = observed.of(LatencyKind::Response);
    assert_eq!(response.len(), driven.started - carried);
    // From the end of the warm-up it is 200 ms, for those of the warm-up 700.
    let stood_ns = longest_stall_ns(&driven);
    assert!(response.max() < 500 * MS + stood_ns, "{}", response.max());
}
