//! A server that is gone for a while: who comes back, what counts, and whether the gap shows.

use super::*;
use std::sync::Arc;
use std::time::Instant;

/// How long the server is gone: it refuses clients and loses operations.
const GONE: Duration = Duration::from_millis(400);
/// The number of the first operation that the server does not survive.
const BEFORE: u64 = 20;
const REFUSED: u16 = 2002;

/// A server that is gone for [`GONE`], once.
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

/// A workload on such a server. Operations take 1 ms; while the server is gone they end with `outcome`.
fn outage(outcome: Outcome) -> Fake<impl Fn(&Request) -> Answer + Sync> {
    let server = Arc::new(Server::default());
    let to_open = server.clone();
    let workload = fake(move |request| {
        if request.number >= BEFORE {
            server.go();
        }
        match server.is_gone() {
            true => (0, outcome),
            false => (MS, Outcome::Done),
        }
    });
    *workload.open.lock().unwrap() = Box::new(move |_| match to_open.is_gone() {
        true => Err(Failure {
            code: REFUSED,
            text: "127.0.0.1:1 refuses".into(),
            passing: true,
        }),
        false => Ok(()),
    });
    workload
}

fn patient(asked: Drive) -> Drive {
    Drive {
        reconnect_for: Duration::from_secs(900),
        ..asked
    }
}

fn gone_ns() -> u64 {
    GONE.as_nanos() as u64
}

#[test]
fn in_closed_loop_an_outage_counts_in_the_operation_that_was_due() {
    let workload = outage(Outcome::Lost(2013));
    let (driven, heard) = driven(&workload, &patient(closed(3, 2_000)));
    assert_eq!((driven.ended_early.len(), driven.stopped), (0, None));
    // Each client loses at most one operation; its next one waits for the server.
    let lost = heard.tally()[Ending::Lost];
    assert!((1..=3).contains(&lost), "{lost}");
    assert_eq!(heard.errors(Ending::Lost, 2013), lost);
    let service = heard.of(Kind::Service);
    let waited = service.count_between(gone_ns() * 9 / 10, u64::MAX);
    assert_eq!(waited, lost, "nobody hides the gap: {}", service.max());
    let last = workload.started.lock().unwrap().last().copied().unwrap();
    assert!(
        last.number > BEFORE + 100,
        "the clients go on: {}",
        last.number
    );
    assert!(
        last.scheduled_ns == last.started_ns,
        "in closed loop both are one"
    );
}

#[test]
fn in_closed_loop_the_wait_for_a_session_does_not_delay_what_a_thinking_client_does_later() {
    let workload = outage(Outcome::Lost(2013));
    let mut asked = patient(closed(2, 2_000));
    asked.load = Load::Closed(Closed {
        clients: 2,
        think: Duration::from_millis(2),
    });
    let (driven, heard) = driven(&workload, &asked);
    assert_eq!(driven.ended_early.len(), 0);
    let service = heard.of(Kind::Service);
    assert!(service.max() > gone_ns() / 2, "{}", service.max());
    assert!(heard.tally().done() > BEFORE);
}

#[test]
fn in_open_loop_arrivals_queue_during_an_outage_and_their_wait_counts() {
    let workload = outage(Outcome::Lost(2013));
    let arrivals = Arrivals::Uniform { rate: 200.0 };
    let asked = patient(open(arrivals, 3, 1_000, WhenFull::Stop, 2_000));
    let (driven, heard) = driven(&workload, &asked);
    assert_eq!((driven.arrived, driven.ended_early.len()), (400, 0));
    let lost = heard.tally()[Ending::Lost];
    assert!((1..=3).contains(&lost), "{lost}");
    let response = heard.of(Kind::Response);
    // 80 arrive in the 400 ms, 5 ms apart: the first waits for all of it, and half of them for at least half.
    let late = response.count_between(gone_ns() / 2, u64::MAX);
    assert!(late >= 30, "{late}");
    let wait = heard.of(Kind::Wait);
    assert!(wait.max() >= gone_ns() * 8 / 10, "{}", wait.max());
    // Reconnecting is no operation's service.
    let service = heard.of(Kind::Service);
    assert!(service.count_between(0, gone_ns() / 2) >= driven.started - 2);
}

#[test]
fn an_outage_of_a_single_worker_delays_no_arrival_while_others_are_idle() {
    let workload = fake(|request| match request.number {
        20 => (0, Outcome::Lost(2013)),
        _ => (MS, Outcome::Done),
    });
    let began = Instant::now();
    let mut opened = 0;
    *workload.open.lock().unwrap() = Box::new(move |_| {
        opened += 1;
        // The lost session of the two is not opened again for as long as the drive lasts.
        match opened > 2 && began.elapsed() < Duration::from_secs(60) {
            true => Err(Failure {
                code: REFUSED,
                text: "127.0.0.1:1 refuses".into(),
                passing: true,
            }),
            false => Ok(()),
        }
    });
    let arrivals = Arrivals::Uniform { rate: 100.0 };
    let asked = patient(open(arrivals, 2, 1_000, WhenFull::Stop, 1_000));
    let (driven, heard) = driven(&workload, &asked);
    assert_eq!((driven.started, driven.queued_at_end), (100, 0));
    assert_eq!(heard.tally().not_done(), 1);
    let at_median = heard.of(Kind::Response).value_at_quantile(0.5);
    assert!(at_median < 100 * MS, "{at_median}");
}

#[test]
fn an_unknown_outcome_is_counted_apart_and_the_client_goes_on() {
    let arrivals = || Arrivals::Uniform { rate: 200.0 };
    for asked in [
        closed(1, 500),
        open(arrivals(), 1, 1_000, WhenFull::Stop, 500),
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
        let (driven, heard) = driven(&workload, &asked);
        let tally = heard.tally();
        assert_eq!((tally[Ending::Unknown], tally[Ending::Lost]), (1, 1));
        assert_eq!((tally.not_done(), tally[Ending::Failed]), (2, 0));
        assert_eq!(heard.errors(Ending::Unknown, 2013), 1);
        assert_eq!(driven.tallies[1][Ending::Unknown], 1, "3 is odd");
        assert_eq!(opened.load(SeqCst), 3, "both sessions are opened again");
        assert!(driven.started > 8 && driven.ended_early.is_empty());
    }
}

/// A server that goes with the first operation and stays away.
fn gone_for_good() -> Fake<impl Fn(&Request) -> Answer + Sync> {
    let workload = fake(|_| (0, Outcome::Lost(2013)));
    let mut first = true;
    *workload.open.lock().unwrap() = Box::new(move |_| match std::mem::take(&mut first) {
        true => Ok(()),
        false => Err(Failure {
            code: REFUSED,
            text: "127.0.0.1:1 refuses".into(),
            passing: true,
        }),
    });
    workload
}

#[test]
fn a_client_tries_to_reconnect_for_as_long_as_the_drive_allows() {
    let budget = Duration::from_millis(600);
    let asked = Drive {
        reconnect_for: budget,
        ..closed(1, 60_000)
    };
    let (driven, heard) = driven(&gone_for_good(), &asked);
    assert!(driven.elapsed >= budget, "{:?}", driven.elapsed);
    assert!(driven.elapsed < 20 * budget, "{:?}", driven.elapsed);
    let (_, why) = &driven.ended_early[0];
    assert_eq!(why.code, REFUSED);
    assert!(why.text.contains("attempts to reconnect in"), "{why}");
    // The operation that was due waited for the whole budget, and nobody hides it.
    assert_eq!(driven.started, 2);
    assert_eq!(heard.errors(Ending::Lost, REFUSED), 1);
    let longest_ns = heard.of(Kind::Service).max();
    assert!(u128::from(longest_ns) >= budget.as_nanos() * 99 / 100);
}

#[test]
fn a_budget_of_zero_ends_the_client_with_its_first_lost_session() {
    let asked = Drive {
        reconnect_for: Duration::ZERO,
        ..closed(1, 60_000)
    };
    let (driven, _) = driven(&gone_for_good(), &asked);
    let (_, why) = &driven.ended_early[0];
    assert_eq!(why.text, "the session was lost (error 2013)");
}

#[test]
fn an_answer_ends_the_outage_and_gives_the_next_one_the_whole_budget() {
    // Lost every 30 ms: together much longer than the budget.
    let workload = fake(|request| match request.number % 10 {
        9 => (0, Outcome::Lost(2013)),
        _ => (3 * MS, Outcome::Done),
    });
    let asked = Drive {
        reconnect_for: Duration::from_millis(50),
        ..closed(1, 1_500)
    };
    let (driven, heard) = driven(&workload, &asked);
    assert_eq!((driven.ended_early.len(), driven.stopped), (0, None));
    assert!(heard.tally()[Ending::Lost] > 5);
}

#[test]
fn behind_a_pointer_a_workload_is_driven_as_directly() {
    let arrivals: Arc<[u64]> = (0..200).map(|place| place * MS).collect();
    let asked = open(
        Arrivals::Trace { at_ns: arrivals },
        4,
        1_000,
        WhenFull::Stop,
        60_000,
    );
    let answer = |request: &Request| match request.number % 5 {
        1 => (0, Outcome::Failed(1062)),
        _ => (0, Outcome::Done),
    };
    let direct = {
        let workload = fake(answer);
        driven(&workload, &asked).0
    };
    let mut workload = fake(answer);
    let drivable: &dyn Drivable = &workload;
    assert_eq!(drivable.operations(), ["even", "odd"]);
    let watch = Watch {
        begun: &mut |_| (),
        second: &mut |_| (),
        window: &mut |_| (),
    };
    let behind = drivable.drive(&asked, &AtomicBool::new(false), watch);
    let behind = behind.expect("it begins");
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
