//! Pauses of clients, and work that operations leave to the background.

use super::*;
use crate::seam::{Background, Left, Pauses};
use std::collections::VecDeque;

/// A workload whose operation `queue` leaves work of 1 ms to one worker, as the operation `complete`.
#[derive(Default)]
struct Leaving {
    left: Mutex<VecDeque<Left>>,
    /// The clients that ran each operation.
    ran_by: Mutex<[Vec<u32>; 2]>,
    pauses: Pauses,
    never_completes: bool,
    /// Scheduled times of `queue`.
    times: Mutex<Vec<u64>>,
}

impl Leaving {
    /// Leaves work behind. Returns the service time of the operation itself.
    fn leave(&self, request: &Request) -> u64 {
        self.left.lock().unwrap().push_back(Left {
            number: request.number,
            since_ns: request.started_ns,
        });
        self.times.lock().unwrap().push(request.scheduled_ns);
        20 * MS
    }
}

struct Terminal {
    io: Io,
    number: u32,
}

impl Workload for Leaving {
    type Session = Terminal;

    fn operations(&self) -> Vec<String> {
        vec!["queue".into(), "complete".into()]
    }

    fn pick(&self, _: u64) -> u16 {
        0
    }

    fn has_pauses(&self) -> bool {
        self.pauses != Pauses::default()
    }

    fn pauses(&self, _: u16, _: u64) -> Pauses {
        self.pauses
    }

    fn background(&self, _: u32) -> Option<Background> {
        Some(Background { workers: 1 })
    }

    fn take(&self, _: &mut Terminal) -> Option<Left> {
        self.left.lock().unwrap().pop_front()
    }

    fn give_up(&self) -> Option<Left> {
        self.left.lock().unwrap().pop_front()
    }

    async fn open(&self, io: &Io, number: u32) -> Result<Terminal, Failure> {
        let io = io.clone();
        Ok(Terminal { io, number })
    }

    async fn operate(&self, terminal: &mut Terminal, request: &Request) -> Outcome {
        self.ran_by.lock().unwrap()[usize::from(request.operation)].push(terminal.number);
        let service_ns = match request.operation {
            0 => self.leave(request),
            _ if self.never_completes => 3_600_000 * MS,
            _ => MS,
        };
        let until_ns = terminal.io.now_ns() + service_ns;
        terminal.io.sleep_until(until_ns).await;
        match self.never_completes && request.operation == 1 {
            true => Outcome::Lost(2013),
            false => Outcome::Done,
        }
    }

    async fn close(&self, _: Terminal) {}
}

fn run(workload: &Leaving, settings: &Drive) -> (Driven, u64, Vec<Window>) {
    let (mut ended, mut windows) = (0, Vec::new());
    let watch = Watch {
        second: &mut |second| ended += second.tally.ended(),
        window: &mut |window| windows.push(window),
        ..Watch::default()
    };
    let driven = drive(workload, settings, &AtomicBool::new(false), watch).expect("it starts");
    (driven, ended, windows)
}

#[test]
fn work_left_to_the_background_is_completed_by_its_worker_and_counted_apart() {
    for settings in [
        closed(2, 1_000),
        open(
            Arrivals::Uniform { rate: 50.0 },
            2,
            100,
            WhenFull::Stop,
            1_000,
        ),
    ] {
        let workload = Leaving::default();
        let (driven, ended, windows) = run(&workload, &settings);
        let [queued, completed] = &driven.tallies[..] else {
            panic!("{:?}", driven.tallies);
        };
        assert!(queued.done() > 0);
        assert_eq!(queued.done(), completed.done(), "nothing is left");
        assert_eq!((driven.started, ended), (queued.done(), queued.done()));
        let of = |operation: u16| {
            let own = windows
                .iter()
                .filter(move |window| window.operation == operation);
            own.filter(|window| window.kind == LatencyKind::Service)
                .map(|window| window.nanoseconds.len())
                .sum::<u64>()
        };
        assert_eq!((of(0), of(1)), (queued.done(), completed.done()));
        let ran_by = workload.ran_by.lock().unwrap();
        assert!(
            ran_by[0]
                .iter()
                .all(|client| *client < settings.load.clients())
        );
        assert!(
            ran_by[1]
                .iter()
                .all(|client| *client == settings.load.clients())
        );
    }
}

#[test]
fn work_that_is_still_queued_when_the_drive_is_given_up_counts_as_lost() {
    let workload = Leaving {
        never_completes: true,
        ..Leaving::default()
    };
    let settings = Drive {
        drain_timeout: Some(Duration::from_millis(50)),
        ..closed(2, 300)
    };
    let (driven, _, _) = run(&workload, &settings);
    let [queued, completed] = &driven.tallies[..] else {
        panic!("{:?}", driven.tallies);
    };
    assert!(queued.done() > 1, "{queued:?}");
    assert_eq!(completed[Ending::Lost], queued.done());
    assert_eq!(driven.late[1], *completed);
}

#[test]
fn in_closed_loop_the_response_of_the_background_includes_its_wait_for_a_worker() {
    let workload = Leaving::default();
    let (driven, _, windows) = run(&workload, &closed(8, 300));
    let completed = windows.iter().filter(|window| window.operation == 1);
    let longest = completed.map(|window| window.nanoseconds.max()).max();
    // Eight clients queue together, or at least three of them on a busy machine, and the worker needs 1 ms for each.
    assert!(longest > Some(2 * MS), "{longest:?}");
    assert!(driven.elapsed >= Duration::from_millis(300));
}

#[test]
fn pauses_come_before_and_after_an_operation_and_are_not_in_its_times() {
    let workload = Leaving {
        pauses: Pauses {
            before_ns: 30 * MS,
            after_ns: 50 * MS,
        },
        ..Leaving::default()
    };
    let (_, _, windows) = run(&workload, &closed(1, 1_500));
    let times = workload.times.lock().unwrap();
    assert!(times[0] >= 30 * MS, "{times:?}");
    for pair in times.windows(2) {
        // 20 ms of service, 50 ms after it, 30 ms before the next.
        assert!(pair[1] - pair[0] >= 100 * MS, "{pair:?}");
    }
    let service = windows.iter().filter(|window| window.operation == 0);
    let shortest = service.map(|window| window.nanoseconds.min()).min();
    assert!(shortest < Some(45 * MS), "{shortest:?}");
}
