//! Closed loop, and counting that both loops share.

use super::*;

#[test]
fn in_closed_loop_each_client_waits_for_its_reply() {
    let workload = fake(|_| (MS, Outcome::Done));
    let (driven, observed) = driven(&workload, &closed(4, 500));
    assert!(driven.started >= 4 && driven.started <= 4 * 501);
    assert!(driven.elapsed >= Duration::from_millis(499));
    let service = observed.of(LatencyKind::Service);
    assert_eq!(service.len(), driven.started);
    assert!(service.min() >= MS * 999 / 1000);
    assert_eq!(observed.of(LatencyKind::Response).len(), 0);
    assert_eq!((driven.stopped, driven.ended_early.len()), (None, 0));
}

#[test]
fn every_operation_has_a_unique_number_that_selects_it() {
    let workload = fake(|_| (MS / 10, Outcome::Done));
    let (driven, _) = driven(&workload, &closed(3, 100));
    let mut numbers: Vec<u64> = Vec::new();
    for request in workload.started.lock().unwrap().iter() {
        assert_eq!(u64::from(request.operation), request.number % 2);
        numbers.push(request.number);
    }
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len() as u64, driven.started);
}

#[test]
fn operations_on_blocking_threads_are_counted() {
    let mut workload = fake(|_| (MS, Outcome::Done));
    workload.placement = Placement::Threads;
    let (driven, _) = driven(&workload, &closed(5, 500));
    assert_eq!((driven.backend, driven.reactors), (Backend::Blocking, 5));
    assert!(driven.started >= 5);
}

#[test]
fn think_times_reduce_the_throughput() {
    let workload = fake(|_| (0, Outcome::Done));
    let mut settings = closed(10, 400);
    settings.load = Load::Closed(Closed {
        clients: 10,
        think: Duration::from_millis(20),
    });
    let (driven, _) = driven(&workload, &settings);
    // 10 clients, 400 ms, one operation per 20 ms and client: 200 are expected, fewer on a busy machine.
    assert!((1..300).contains(&driven.started), "{}", driven.started);
}

#[test]
fn errors_are_counted_by_operation_ending_and_code() {
    let workload = fake(|request| {
        let outcome = match (request.number % 4, request.retries) {
            (0, 0..2) => Outcome::Retry(1213),
            (1, _) => Outcome::Failed(1062),
            _ => Outcome::Done,
        };
        (MS / 2, outcome)
    });
    let (driven, observed) = driven(&workload, &closed(1, 1_000));
    let tally = observed.tally();
    let (retried, failed) = (tally[Ending::Retried], tally[Ending::Failed]);
    assert!(retried > 0 && failed > 0);
    assert_eq!(observed.errors(Ending::Retried, 1213), 2 * retried);
    assert_eq!(observed.errors(Ending::Failed, 1062), failed);
    let [even, odd] = driven.tallies[..] else {
        panic!("{:?}", driven.tallies);
    };
    assert_eq!(
        (even[Ending::Retried], odd[Ending::Failed]),
        (retried, failed)
    );
    assert_eq!((even[Ending::Failed], odd[Ending::Retried]), (0, 0));
}

#[test]
fn seconds_are_reported_while_every_client_stalls() {
    let workload = fake(|_| (1_500 * MS, Outcome::Done));
    let seen = AtomicU64::new(0);
    let settings = closed(2, 1_000);
    let watch = Watch {
        second: &mut |second| {
            if second.second == 0 {
                seen.store(u64::from(second.running), SeqCst);
                assert_eq!(second.tally.ended(), 0);
            }
        },
        ..Watch::default()
    };
    let driven = drive(&workload, &settings, &AtomicBool::new(false), watch);
    assert_eq!(driven.expect("it starts").started, 2);
    assert_eq!(seen.load(SeqCst), 2);
}
