//! Server outages: whether clients reconnect, and how the outage is counted.

use super::*;
use std::sync::Arc;
use std::time::Instant;

/// Length of the outage, during which the server refuses clients and loses operations.
const GONE: Duration = Duration::from_millis(400);
/// Number of the first operation of the outage.
const BEFORE: u64 = 20;
const REFUSED: u16 = 2002;

/// A server with one outage of length [`GONE`].
#[derive(Default)]
struct Server {
    went: Mutex<Option<Instant>>,
}

impl Server {
    fn is_gone(&self) -> bool {
        let went = self.went.lock().unwrap();
        went.is_some_and(|at| at.elapsed() < GONE)
    }

    fn go(&self) {
        self.went.lock().unwrap().get_or_insert_with(Instant::now);
    }
}

/// A workload on such a server. Operations take 1 ms; during the outage they end with `outcome`.
fn outage(outcome: Outcome) -> Fake<'static> {
    let server = Arc::new(Server::default());
    let to_open = server.clone();
    let workload = fake(move |request| {
        if request.number >= BEFORE {
            server.go();
        }
        if server.is_gone() {
            (0, outcome)
        } else {
            (MS, Outcome::Done)
        }
    });
    *workload.open.lock().unwrap() = Box::new(move |_| match to_open.is_gone() {
        true => Err(Failure {
            code: REFUSED,
            text: "127.0.0.1:1 refuses".into(),
            transient: true,
        }),
        false => Ok(()),
    });
    workload
}

fn patient(settings: Drive) -> Drive {
    Drive {
        reconnect_for: Duration::from_secs(900),
        ..settings
    }
}

fn gone_ns() -> u64 {
    GONE.as_nanos() as u64
}

#[test]
fn in_closed_loop_an_outage_counts_in_the_operation_that_is_due() {
    let workload = outage(Outcome::Lost(2013));
    let (driven, observed) = driven(&workload, &patient(closed(3, 2_000)));
    assert_eq!((driven.ended_early.len(), driven.stopped), (0, None));
    // Each client loses at most one operation. Its next one waits for the server.
    let lost = observed.tally()[Ending::Lost];
    assert!((1..=3).contains(&lost), "{lost}");
    assert_eq!(observed.errors(Ending::Lost, 2013), lost);
    // A client that the machine lets wait may lose its operation late in the outage, and then waits for the rest of it.
    let service = observed.of(LatencyKind::Service);
    let waited = service.count_between(gone_ns() / 2, u64::MAX);
    assert!(waited >= 1, "the outage is visible: {}", service.max());
    let last = workload.started.lock().unwrap().last().copied().unwrap();
    assert!(
        last.number > BEFORE + 10,
        "the clients go on: {}",
        last.number
    );
    assert!(
        last.scheduled_ns == last.started_ns,
        "in closed loop both are the same"
    );
}

#[test]
fn in_closed_loop_with_think_times_clients_continue_after_an_outage() {
    let workload = outage(Outcome::Lost(2013));
    let mut settings = patient(closed(2, 2_000));
    settings.load = Load::Closed(Closed {
        clients: 2,
        think: Duration::from_millis(2),
    });
    let (driven, observed) = driven(&workload, &settings);
    assert_eq!(driven.ended_early.len(), 0);
    let service = observed.of(LatencyKind::Service);
    assert!(service.max() > gone_ns() / 2, "{}", service.max());
    assert!(observed.tally().done() > BEFORE);
}

#[test]
fn in_open_loop_arrivals_queue_during_an_outage_and_their_wait_is_measured() {
    let workload = outage(Outcome::Lost(2013));
    let arrivals = Arrivals::Uniform { rate: 200.0 };
    let settings = patient(open(arrivals, 3, 1_000, WhenFull::Stop, 2_000));
    let (driven, observed) = driven(&workload, &settings);
    assert_eq!((driven.arrived, driven.ended_early.len()), (400, 0));
    let lost = observed.tally()[Ending::Lost];
    assert!((1..=3).contains(&lost), "{lost}");
    let response = observed.of(LatencyKind::Response);
    // 80 operations arrive in the 400 ms, 5 ms apart: the first waits for all of it, half of them for at least half of it.
    let late = response.count_between(gone_ns() / 2, u64::MAX);
    assert!(late >= 30, "{late}");
    let wait = observed.of(LatencyKind::Wait);
    assert!(wait.max() >= gone_ns() * 8 / 10, "{}", wait.max());
    // Reconnecting does not count as service time. The time in which the engine itself did not run does.
    let service = observed.of(LatencyKind::Service);
    let stood_ns = longest_stall_ns(&driven);
    assert_eq!(
        service.count_between(gone_ns() * 9 / 10 + stood_ns, u64::MAX),
        0
    );
}

#[test]
fn a_worker_that_reconnects_delays_no_arrival_while_others_are_idle() {
    let workload = fake(|request| match request.number {
        20 => (0, Outcome::Lost(2013)),
        _ => (MS, Outcome::Done),
    });
    let began = Instant::now();
    let mut opened = 0;
    *workload.open.lock().unwrap() = Box::new(move |_| {
        opened += 1;
        // The lost session is not reopened during the drive.
        if opened > 2 && began.elapsed() < Duration::from_secs(60) {
            Err(Failure {
                code: REFUSED,
                text: "127.0.0.1:1 refuses".into(),
                transient: true,
            })
        } else {
            Ok(())
        }
    });
    let arrivals = Arrivals::Uniform { rate: 100.0 };
    let settings = patient(open(arrivals, 2, 1_000, WhenFull::Stop, 1_000));
    let (driven, observed) = driven(&workload, &settings);
    // If the last worker wakes late at the end, the last arrivals stay queued.
    assert_eq!(driven.started + driven.queued_at_end, 100);
    assert!(driven.started > 50, "{}", driven.started);
    assert_eq!(observed.tally().not_done(), 1);
    let at_median = observed.of(LatencyKind::Response).value_at_quantile(0.5);
    let stood_ns = longest_stall_ns(&driven);
    assert!(at_median < 100 * MS + stood_ns, "{at_median} {stood_ns}");
}

#[test]
fn unknown_outcomes_are_counted_separately_and_the_client_reconnects() {
    let arrivals = || Arrivals::Uniform { rate: 200.0 };
    for settings in [
        closed(1, 1_500),
        open(arrivals(), 1, 1_000, WhenFull::Stop, 1_500),
    ] {
        let workload = fake(|request| match request.number {
            3 => (0, Outcome::Unknown(2013)),
            7 => (0, Outcome::Lost(2013)),
            _ => (MS, Outcome::Done),
        });
        let opened = Arc::new(AtomicU32::new(0));
        let counted = opened.clone();
        *workload.open.lock().unwrap() = Box::new(move |_| {
            counted.fetch_add(1, SeqCst);
            Ok(())
        });
        let (driven, observed) = driven(&workload, &settings);
        let tally = observed.tally();
        assert_eq!((tally[Ending::Unknown], tally[Ending::Lost]), (1, 1));
        assert_eq!((tally.not_done(), tally[Ending::Failed]), (2, 0));
        assert_eq!(observed.errors(Ending::Unknown, 2013), 1);
        assert_eq!(driven.tallies[1][Ending::Unknown], 1, "3 is odd");
        assert_eq!(opened.load(SeqCst), 3, "both sessions are opened again");
        assert!(driven.started > 8 && driven.ended_early.is_empty());
    }
}

/// A server that fails with the first operation and does not come back.
fn gone_for_good() -> Fake<'static> {
    let workload = fake(|_| (0, Outcome::Lost(2013)));
    let mut first = true;
    *workload.open.lock().unwrap() = Box::new(move |_| match std::mem::take(&mut first) {
        true => Ok(()),
        false => Err(Failure {
            code: REFUSED,
            text: "127.0.0.1:1 refuses".into(),
            transient: true,
        }),
    });
    workload
}

#[test]
fn a_client_tries_to_reconnect_for_as_long_as_the_drive_allows() {
    let budget = Duration::from_millis(600);
    let settings = Drive {
        reconnect_for: budget,
        ..closed(1, 60_000)
    };
    let (driven, observed) = driven(&gone_for_good(), &settings);
    assert!(driven.elapsed >= budget, "{:?}", driven.elapsed);
    assert!(driven.elapsed < 20 * budget, "{:?}", driven.elapsed);
    let (_, why) = &driven.ended_early[0];
    assert_eq!(why.code, REFUSED);
    assert!(why.text.contains("attempts to reconnect in"), "{why}");
    // The operation that was due waited for the whole time, which is visible.
    assert_eq!(driven.started, 2);
    assert_eq!(observed.errors(Ending::Lost, REFUSED), 1);
    let longest_ns = observed.of(LatencyKind::Service).max();
    assert!(u128::from(longest_ns) >= budget.as_nanos() * 99 / 100);
}

#[test]
fn a_reconnect_time_of_zero_ends_the_client_at_the_first_lost_session() {
    let settings = Drive {
        reconnect_for: Duration::ZERO,
        ..closed(1, 60_000)
    };
    let (driven, _) = driven(&gone_for_good(), &settings);
    let (_, why) = &driven.ended_early[0];
    assert_eq!(why.text, "the session was lost (error 2013)");
}

#[test]
fn a_successful_operation_resets_the_time_for_reconnecting() {
    // Sessions are lost every 100 ms, in total for much longer than the time for reconnecting.
    let workload = fake(|request| match request.number % 10 {
        9 => (0, Outcome::Lost(2013)),
        _ => (10 * MS, Outcome::Done),
    });
    let settings = Drive {
        reconnect_for: Duration::from_millis(800),
        ..closed(1, 3_000)
    };
    let (driven, observed) = driven(&workload, &settings);
    assert_eq!((driven.ended_early.len(), driven.stopped), (0, None));
    assert!(observed.tally()[Ending::Lost] > 5);
}

#[test]
fn a_workload_behind_a_trait_object_gives_the_same_results() {
    let arrivals: Arc<[u64]> = (0..200).map(|place| place * MS).collect();
    let settings = open(
        Arrivals::Trace { at_ns: arrivals },
        4,
        1_000,
        WhenFull::Stop,
        1_500,
    );
    let answer = |request: &Request| match request.number % 5 {
        1 => (0, Outcome::Failed(1062)),
        _ => (0, Outcome::Done),
    };
    let direct = {
        let workload = fake(answer);
        driven(&workload, &settings).0
    };
    let mut workload = fake(answer);
    let drivable: &dyn Drivable = &workload;
    assert_eq!(drivable.operations(), ["even", "odd"]);
    let behind = drivable.drive(&settings, &AtomicBool::new(false), Watch::default());
    let behind = behind.expect("it starts");
    assert_eq!(
        (behind.started, &behind.tallies),
        (direct.started, &direct.tallies)
    );
    assert_eq!(behind.started, 200);

    workload.placement = Placement::Threads;
    let needs = (&workload as &dyn Drivable).needs();
    let expected = Needs {
        placement: Placement::Threads,
        connections: 1,
        statements: 0,
    };
    assert_eq!(needs, expected);
}
