//! Drives of fake workloads. Times are short; what is asserted are counts and orders that hold on a busy machine.

use super::*;
use crate::arrivals::Arrivals;
use crate::io::Io;
use crate::seam::{Failure, Outcome, Request};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

const MS: u64 = 1_000_000;

/// A server that is asked by `answer`; sessions are numbered by their client.
struct Fake<F> {
    placement: Placement,
    answer: F,
    open: Mutex<Box<dyn FnMut(u32) -> Result<(), Failure> + Send>>,
    /// Sessions that are open now.
    sessions: AtomicU32,
    started: Mutex<Vec<Request>>,
}

/// What a fake does with a request: sleep so many nanoseconds, and then this.
type Answer = (u64, Outcome);

fn fake<F: Fn(&Request) -> Answer + Sync>(answer: F) -> Fake<F> {
    Fake {
        placement: Placement::Reactors,
        answer,
        open: Mutex::new(Box::new(|_| Ok(()))),
        sessions: AtomicU32::new(0),
        started: Mutex::new(Vec::new()),
    }
}

impl<F: Fn(&Request) -> Answer + Sync> Workload for Fake<F> {
    type Session = Io;

    fn placement(&self) -> Placement {
        self.placement
    }

    fn operations(&self) -> Vec<String> {
        vec!["even".into(), "odd".into()]
    }

    fn pick(&self, number: u64) -> u16 {
        (number % 2) as u16
    }

    async fn open(&self, io: &Io, client: u32) -> Result<Io, Failure> {
        (self.open.lock().unwrap())(client)?;
        self.sessions.fetch_add(1, SeqCst);
        Ok(io.clone())
    }

    async fn operate(&self, io: &mut Io, request: &Request) -> Outcome {
        self.started.lock().unwrap().push(*request);
        let (service_ns, outcome) = (self.answer)(request);
        if service_ns > 0 {
            io.sleep_until(io.now_ns() + service_ns).await;
        }
        outcome
    }

    async fn close(&self, _: Io) {
        self.sessions.fetch_sub(1, SeqCst);
    }
}

fn closed(clients: u32, time_ms: u64) -> Drive {
    Drive {
        load: Load::Closed(Closed {
            clients,
            think: Duration::ZERO,
        }),
        time: Duration::from_millis(time_ms),
        seed: 1,
        reactors: None,
        backend: None,
        reconnects_max: 3,
        stalled: None,
    }
}

fn open(arrivals: Arrivals, workers: u32, queue: u64, when_full: WhenFull, time_ms: u64) -> Drive {
    Drive {
        load: Load::Open(Open {
            arrivals,
            workers,
            queue,
            when_full,
        }),
        ..closed(1, time_ms)
    }
}

fn driven<F>(workload: &Fake<F>, asked: &Drive) -> (Driven, Vec<Second>)
where
    F: Fn(&Request) -> Answer + Sync,
{
    let mut seconds = Vec::new();
    let driven = drive(workload, asked, &AtomicBool::new(false), &mut |second| {
        seconds.push(second);
    })
    .expect("it begins");
    assert_eq!(workload.sessions.load(SeqCst), 0, "every session is closed");
    let counted: u64 = seconds
        .iter()
        .map(|second| second.done + second.failed)
        .sum();
    assert_eq!(counted, driven.started, "every operation is in a second");
    let places: Vec<u32> = seconds.iter().map(|second| second.second).collect();
    assert_eq!(places, (0..seconds.len() as u32).collect::<Vec<_>>());
    (driven, seconds)
}

fn windows_of(driven: &Driven, kind: Kind) -> hdrhistogram::Histogram<u64> {
    let mut all = hdrhistogram::Histogram::new(3).unwrap();
    for window in driven.windows.iter().filter(|window| window.kind == kind) {
        all.add(&window.nanoseconds).unwrap();
    }
    all
}

#[test]
fn in_closed_loop_each_client_asks_when_it_was_answered() {
    let workload = fake(|_| (MS, Outcome::Done));
    let (driven, _) = driven(&workload, &closed(4, 300));
    assert!(driven.started >= 4 && driven.started <= 4 * 301);
    assert!(driven.elapsed >= Duration::from_millis(299));
    let service = windows_of(&driven, Kind::Service);
    assert_eq!(service.len(), driven.started);
    assert!(service.min() >= MS * 999 / 1000);
    assert_eq!(windows_of(&driven, Kind::Response).len(), 0);
    assert_eq!((driven.stopped, driven.ended_early.len()), (None, 0));
}

#[test]
fn every_operation_has_a_number_of_its_own_and_its_numbers_operation() {
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
fn operations_of_threads_that_block_are_counted_alike() {
    let mut workload = fake(|_| (MS, Outcome::Done));
    workload.placement = Placement::Threads;
    let (driven, _) = driven(&workload, &closed(5, 100));
    assert_eq!((driven.backend, driven.reactors), (Backend::Blocking, 5));
    assert!(driven.started >= 5);
}

#[test]
fn who_thinks_asks_less_often() {
    let workload = fake(|_| (0, Outcome::Done));
    let mut asked = closed(10, 400);
    asked.load = Load::Closed(Closed {
        clients: 10,
        think: Duration::from_millis(20),
    });
    let (driven, _) = driven(&workload, &asked);
    // 10 clients in 400 ms at one operation in 20 ms: 200 expected, fewer where the machine is busy.
    assert!((1..300).contains(&driven.started), "{}", driven.started);
}

#[test]
fn outcomes_are_counted_by_code() {
    let workload = fake(|request| {
        let outcome = match request.number % 4 {
            0 => Outcome::Retried {
                times: 2,
                code: 1213,
            },
            1 => Outcome::Failed(1062),
            _ => Outcome::Done,
        };
        (MS / 2, outcome)
    });
    let (_, seconds) = driven(&workload, &closed(1, 200));
    let sum = |figure: fn(&Second) -> u64| seconds.iter().map(figure).sum::<u64>();
    let (done, retried, failed) = (sum(|s| s.done), sum(|s| s.retried), sum(|s| s.failed));
    assert!(retried > 0 && failed > 0);
    assert_eq!(
        sum(|s| s.errors.get(&1213).copied().unwrap_or(0)),
        2 * retried
    );
    assert_eq!(sum(|s| s.errors.get(&1062).copied().unwrap_or(0)), failed);
    assert!(done >= retried);
}

/// Nothing is answered from `from_ms` to `to_ms` after the drive's beginning.
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
    let asked = open(arrivals, 2, 1_000, WhenFull::Stop, 2_000);
    let workload = fake(stalling(1_000, 1_200));
    let (opened, _) = driven(&workload, &asked);
    assert_eq!((opened.arrived, opened.started), (400, 400));
    let response = windows_of(&opened, Kind::Response);
    // 40 arrivals fall into the 200 ms; the first of them waits for all of it, the last for nothing.
    let late = response.count_between(100 * MS, 10_000 * MS);
    assert!((19..=200).contains(&late), "{late}");
    let at_p99 = response.value_at_quantile(0.99);
    assert!(at_p99 > 170 * MS, "{at_p99}");
    let service = windows_of(&opened, Kind::Service);
    assert!(service.count_between(100 * MS, 10_000 * MS) < 19);

    let workload = fake(|request| {
        let (stall_ns, outcome) = stalling(1_000, 1_200)(request);
        (stall_ns.max(MS), outcome)
    });
    let (closed, _) = driven(&workload, &closed(2, 2_000));
    let at_p99 = windows_of(&closed, Kind::Service).value_at_quantile(0.99);
    assert!(closed.started < 400 || at_p99 < 100 * MS, "{at_p99}");
}

#[test]
fn overload_leaves_a_queue_that_is_counted() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (20 * MS, Outcome::Done));
    let (driven, seconds) = driven(&workload, &open(arrivals, 2, 100_000, WhenFull::Stop, 500));
    assert_eq!(driven.arrived, 500);
    assert!(driven.started <= 52, "{}", driven.started);
    assert_eq!(driven.queued_at_end, 500 - driven.started);
    assert_eq!(seconds[0].queued, driven.queued_at_end);
    assert_eq!(driven.stopped, None);
}

#[test]
fn a_full_queue_ends_the_drive_and_says_when() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (60 * MS, Outcome::Done));
    let (driven, _) = driven(&workload, &open(arrivals, 1, 20, WhenFull::Stop, 20_000));
    let why = driven.stopped.expect("it was stopped");
    assert!(why.starts_with("the queue of 20 was full at 0."), "{why}");
    assert!(driven.elapsed < Duration::from_secs(10));
    assert_eq!(driven.queued_at_end, 20);
    assert_eq!(driven.arrived, driven.started + 20);
}

#[test]
fn a_full_queue_is_found_also_while_nothing_is_answered() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (700 * MS, Outcome::Done));
    let (driven, _) = driven(&workload, &open(arrivals, 1, 20, WhenFull::Stop, 20_000));
    assert_eq!((driven.started, driven.queued_at_end), (1, 20));
}

#[test]
fn a_full_queue_drops_arrivals_and_counts_them_each_second() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (20 * MS, Outcome::Done));
    let (driven, seconds) = driven(&workload, &open(arrivals, 1, 5, WhenFull::Drop, 1_300));
    assert_eq!(driven.arrived, 1_300);
    assert!(driven.dropped >= 1_300 - 66 - 5, "{}", driven.dropped);
    assert!(driven.queued_at_end <= 5);
    let dropped: u64 = seconds.iter().map(|second| second.dropped).sum();
    assert_eq!(dropped, driven.dropped);
}

#[test]
fn a_schedule_that_waits_for_room_drops_nothing_and_tells_how_long_it_stood() {
    let arrivals = Arrivals::Uniform { rate: 1_000.0 };
    let workload = fake(|_| (20 * MS, Outcome::Done));
    let (driven, _) = driven(&workload, &open(arrivals, 1, 5, WhenFull::Wait, 500));
    assert_eq!((driven.dropped, driven.stopped), (0, None));
    assert!(driven.arrived <= 26 + 5, "{}", driven.arrived);
    assert!(
        driven.held >= Duration::from_millis(300),
        "{:?}",
        driven.held
    );
}

#[test]
fn arrivals_before_the_end_are_started_and_numbered_in_their_order() {
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
fn a_trace_ends_the_drive_with_its_last_arrival() {
    let at_ns: std::sync::Arc<[u64]> = [0, 5 * MS, 9 * MS].into();
    let workload = fake(|_| (0, Outcome::Done));
    let asked = open(Arrivals::Trace { at_ns }, 2, 10, WhenFull::Stop, 60_000);
    let (driven, _) = driven(&workload, &asked);
    assert_eq!(
        (driven.arrived, driven.started, driven.stopped),
        (3, 3, None)
    );
    assert!(driven.elapsed < Duration::from_secs(30));
}

#[test]
fn a_lost_session_is_opened_again_and_its_client_goes_on() {
    let workload = fake(|request| match request.number {
        1 => (MS, Outcome::Lost(2013)),
        _ => (MS, Outcome::Done),
    });
    let opened = std::sync::Arc::new(AtomicU32::new(0));
    let counted = opened.clone();
    *workload.open.lock().unwrap() = Box::new(move |_| {
        counted.fetch_add(1, SeqCst);
        Ok(())
    });
    let (driven, seconds) = driven(&workload, &closed(1, 300));
    assert_eq!(opened.load(SeqCst), 2);
    assert_eq!(seconds[0].errors.get(&2013), Some(&1));
    assert!(driven.started > 2 && driven.ended_early.is_empty());
}

fn refused(passing: bool) -> Failure {
    Failure {
        code: 2002,
        text: "127.0.0.1:1 refuses".into(),
        passing,
    }
}

#[test]
fn a_session_that_is_always_lost_ends_its_client_and_the_last_client_ends_the_drive() {
    let workload = fake(|_| (0, Outcome::Lost(2013)));
    let (driven, seconds) = driven(&workload, &closed(2, 60_000));
    assert_eq!(driven.started, 2 * 4, "once and three times again, each");
    let clients: Vec<u32> = driven
        .ended_early
        .iter()
        .map(|(client, _)| *client)
        .collect();
    assert_eq!(clients, [0, 1]);
    let why = driven.stopped.expect("it was stopped");
    assert!(why.starts_with("all clients had ended at"), "{why}");
    assert!(
        why.contains("error 2013") && why.contains("3 times in a row"),
        "{why}"
    );
    assert_eq!(seconds[0].failed, 8);
}

#[test]
fn a_server_that_does_not_come_back_ends_the_client_with_its_words() {
    let workload = fake(|_| (0, Outcome::Lost(2013)));
    let mut first = true;
    *workload.open.lock().unwrap() = Box::new(move |_| match std::mem::take(&mut first) {
        true => Ok(()),
        false => Err(refused(false)),
    });
    let (driven, _) = driven(&workload, &closed(1, 60_000));
    let (_, failure) = &driven.ended_early[0];
    assert!(failure.text.starts_with("127.0.0.1:1 refuses"), "{failure}");
    assert_eq!(driven.started, 1);
}

#[test]
fn a_passing_failure_to_open_is_tried_again() {
    let workload = fake(|_| (MS, Outcome::Done));
    let mut left = 3;
    *workload.open.lock().unwrap() = Box::new(move |_| {
        left -= 1;
        if left > 0 { Err(refused(true)) } else { Ok(()) }
    });
    let (driven, _) = driven(&workload, &closed(1, 50));
    assert!(driven.started > 0);
}

#[test]
fn a_session_that_cannot_be_opened_ends_the_drive_and_closes_the_others() {
    let workload = fake(|_| (0, Outcome::Done));
    *workload.open.lock().unwrap() = Box::new(|client| match client {
        70 => Err(refused(false)),
        _ => Ok(()),
    });
    let asked = closed(100, 60_000);
    let refusal = drive(&workload, &asked, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "client 70 could not begin: 127.0.0.1:1 refuses"
    );
    assert_eq!(workload.sessions.load(SeqCst), 0);
}

#[test]
fn an_interrupt_before_the_beginning_closes_what_is_open() {
    let workload = fake(|_| (0, Outcome::Done));
    *workload.open.lock().unwrap() = Box::new(|client| match client {
        1 => Err(refused(true)),
        _ => Ok(()),
    });
    let refusal = drive(
        &workload,
        &closed(2, 60_000),
        &AtomicBool::new(true),
        &mut |_| (),
    );
    assert!(matches!(refusal, Err(DriveError::Interrupted)));
    assert_eq!(workload.sessions.load(SeqCst), 0);
}

/// Interrupts after `after_ms`.
fn interrupted<F>(workload: &Fake<F>, asked: &Drive, after_ms: u64) -> Driven
where
    F: Fn(&Request) -> Answer + Sync,
{
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(after_ms));
            stop.store(true, SeqCst);
        });
        drive(workload, asked, &stop, &mut |_| ()).expect("it begins")
    })
}

#[test]
fn an_interrupt_ends_the_drive_soon_with_everything_counted() {
    let workload = fake(|_| (MS, Outcome::Done));
    let driven = interrupted(&workload, &closed(4, 600_000), 200);
    assert!(
        driven
            .stopped
            .expect("it says so")
            .starts_with("interrupted at")
    );
    assert_eq!(
        driven.started,
        workload.started.lock().unwrap().len() as u64
    );
    assert!(driven.elapsed < Duration::from_secs(60));
}

#[test]
fn an_interrupt_ends_waits_that_would_not_end_by_themselves() {
    for placement in [Placement::Reactors, Placement::Threads] {
        let mut workload = fake(|_| (600_000 * MS, Outcome::Lost(60_001)));
        workload.placement = placement;
        let driven = interrupted(&workload, &closed(3, 600_000), 100);
        assert_eq!(driven.started, 3);
        assert!(driven.elapsed < Duration::from_secs(60));
        assert_eq!(workload.sessions.load(SeqCst), 0);
    }
}

#[test]
fn what_stalls_at_the_end_is_given_up_after_the_time_that_was_asked_for() {
    let workload = fake(|_| (600_000 * MS, Outcome::Lost(60_001)));
    let mut asked = closed(2, 50);
    asked.stalled = Some(Duration::from_millis(100));
    let (driven, _) = driven(&workload, &asked);
    assert_eq!((driven.started, driven.stopped), (2, None));
    assert!(driven.elapsed >= Duration::from_millis(150));
}

#[test]
fn seconds_come_also_while_every_client_stalls() {
    let workload = fake(|_| (1_500 * MS, Outcome::Done));
    let seen = AtomicU64::new(0);
    let asked = closed(2, 1_000);
    let driven = drive(&workload, &asked, &AtomicBool::new(false), &mut |second| {
        if second.second == 0 {
            seen.store(u64::from(second.running), SeqCst);
            assert_eq!(second.done, 0);
        }
    });
    assert_eq!(driven.expect("it begins").started, 2);
    assert_eq!(seen.load(SeqCst), 2);
}

#[test]
fn what_cannot_be_driven_is_refused_before_anything_is_opened() {
    let workload = fake(|_| (0, Outcome::Done));
    let refusal = |asked: &Drive| {
        let refused = drive(&workload, asked, &AtomicBool::new(false), &mut |_| ());
        refused.unwrap_err().to_string()
    };
    assert!(refusal(&closed(0, 100)).contains("at least 1"));
    assert!(refusal(&closed(1, 0)).contains("time of zero"));
    let never = Arrivals::Poisson { rate: 0.0 };
    assert!(refusal(&open(never, 1, 1, WhenFull::Stop, 100)).contains("rate of zero"));
}

#[test]
#[should_panic(expected = "on purpose")]
fn a_workload_that_panics_ends_the_drive_and_panics() {
    let workload = fake(|request| {
        assert!(request.number < 5, "on purpose");
        (MS, Outcome::Done)
    });
    driven(&workload, &closed(2, 600_000));
}
