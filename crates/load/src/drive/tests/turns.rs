//! Drives that take turns in slices.

use super::*;
use std::sync::Arc;

/// A drive in slices, and when each of its operations started and ended (ms since `origin`).
struct Sliced {
    driven: Driven,
    observed: Vec<Second>,
    ran: Vec<(f64, f64)>,
}

/// Runs drives that take turns; `give` gives them. Each operation takes so many milliseconds.
fn sliced(
    settings: &[Drive],
    operation_ms: u64,
    give: impl FnOnce(&[Arc<Turns>], &AtomicBool),
) -> Vec<Sliced> {
    let (origin, stop) = (Instant::now(), AtomicBool::new(false));
    let turns: Vec<Arc<Turns>> = settings.iter().map(|_| Arc::new(Turns::new())).collect();
    let begun = AtomicU32::new(0);
    thread::scope(|scope| {
        let (begun, stop) = (&begun, &stop);
        let one = |(settings, turns): (&Drive, &Arc<Turns>)| {
            let settings = Drive {
                turns: Some(turns.clone()),
                ..settings.clone()
            };
            scope.spawn(move || {
                let ran = Mutex::new(Vec::new());
                let workload = fake(|_| {
                    let at_ms = origin.elapsed().as_secs_f64() * 1e3;
                    ran.lock()
                        .unwrap()
                        .push((at_ms, at_ms + operation_ms as f64));
                    (operation_ms * MS, Outcome::Done)
                });
                let mut observed = Vec::new();
                let watch = Watch {
                    begun: &mut |_| {
                        begun.fetch_add(1, SeqCst);
                    },
                    second: &mut |second| observed.push(second),
                    ..Watch::default()
                };
                let driven = drive(&workload, &settings, stop, watch);
                drop(workload);
                Sliced {
                    driven: driven.expect("it starts"),
                    observed,
                    ran: ran.into_inner().unwrap(),
                }
            })
        };
        let drives: Vec<_> = settings.iter().zip(&turns).map(one).collect();
        while begun.load(SeqCst) < settings.len() as u32 {
            thread::sleep(Duration::from_millis(1));
        }
        give(&turns, stop);
        drives
            .into_iter()
            .map(|drive| drive.join().unwrap())
            .collect()
    })
}

/// Slices of 100 ms until both have half a second.
fn alternate(turns: &[Arc<Turns>], _: &AtomicBool) {
    for _ in 0..4 {
        for one in turns {
            assert_eq!(one.run(Some(Duration::from_millis(100))), Turn::Paused);
        }
    }
    for one in turns {
        assert_eq!(one.run(None), Turn::Over);
    }
}

#[test]
fn operations_of_two_drives_never_overlap_and_all_count() {
    let drives = sliced(&[closed(3, 500), closed(3, 500)], 2, alternate);
    let all: Vec<(f64, f64, usize)> = (0..2)
        .flat_map(|n| {
            drives[n]
                .ran
                .iter()
                .map(move |(from, until)| (*from, *until, n))
        })
        .collect();
    for (from, _, own) in &all {
        let overlaps =
            |other: &&(f64, f64, usize)| other.2 != *own && other.0 < *from && *from < other.1;
        assert_eq!(all.iter().find(overlaps), None, "at {from} ms");
    }
    for drive in &drives {
        let counted: Tally = drive.observed.iter().map(|second| &second.tally).sum();
        assert_eq!(drive.ran.len() as u64, drive.driven.started);
        assert_eq!(counted.ended(), drive.driven.started);
        assert!(drive.driven.until == Duration::from_millis(500) && drive.driven.stopped.is_none());
    }
}

#[test]
fn the_clock_of_a_drive_stops_between_its_slices() {
    let drives = sliced(&[closed(2, 500), closed(2, 500)], 20, alternate);
    for drive in &drives {
        // Two clients, 500 ms of their own clock, 20 ms each, and one more per client at the end; fewer on a busy machine.
        let started = drive.driven.started;
        assert!((4..=52).contains(&started), "{started}");
        let elapsed = drive.driven.elapsed;
        assert!(elapsed >= Duration::from_millis(500), "{elapsed:?}");
        assert!(slowest_ns(drive) >= 20 * MS * 999 / 1000);
    }
}

/// The longest time of an operation.
fn slowest_ns(drive: &Sliced) -> u64 {
    let seconds = drive.observed.iter();
    seconds
        .map(|second| second.response.max())
        .max()
        .unwrap_or_default()
}

#[test]
fn the_slice_of_another_drive_is_in_the_time_of_no_operation() {
    // It takes at least 100 ms. A busy machine can stop a drive for as long. Not each time.
    let is_apart = |_: u32| {
        let drives = sliced(&[closed(2, 500), closed(2, 500)], 20, alternate);
        drives.iter().all(|drive| slowest_ns(drive) < 100 * MS)
    };
    assert!((0..3).any(is_apart));
}

#[test]
fn an_operation_longer_than_a_slice_counts_with_its_whole_latency() {
    // A client that wakes after its end would start no operation in it.
    let slice = Duration::from_millis(200);
    let drives = sliced(&[closed(1, 2_000)], 1_000, |turns, _| {
        assert_eq!(turns[0].run(Some(slice)), Turn::Paused);
        let measured = turns[0].measured();
        assert!(measured >= Duration::from_millis(1_000), "{measured:?}");
        let last = turns[0].last();
        assert_eq!((last.at_edges, last.busy), (measured, measured));
        assert!(last.first.mean() >= Some(Duration::from_millis(999)));
        assert_eq!(last.first.longest(), last.first.mean(), "of one client");
        while turns[0].run(Some(slice)) == Turn::Paused
            && turns[0].measured() < Duration::from_millis(2_000)
        {}
        assert_eq!(turns[0].run(None), Turn::Over);
    });
    let drive = &drives[0];
    assert!(drive.driven.started >= 1);
    let seconds = drive.observed.iter();
    let fastest = seconds
        .filter(|second| !second.response.is_empty())
        .map(|second| second.response.min());
    assert!(fastest.min().unwrap() >= 1_000 * MS * 999 / 1000);
}

#[test]
fn at_the_edges_of_a_slice_are_first_operations_and_what_ends_after_it() {
    sliced(&[closed(3, 900)], 20, |turns, _| {
        assert_eq!(turns[0].run(Some(Duration::from_millis(790))), Turn::Paused);
        let last = turns[0].last();
        // The first operation of 20 ms, and half of the last one.
        let expected = Duration::from_millis(20)..last.busy / 2;
        assert!(expected.contains(&last.at_edges), "{last:?}");
        for latencies in [last.first, last.all] {
            assert!(
                latencies.mean() >= Some(Duration::from_millis(19)),
                "{last:?}"
            );
            assert!(latencies.longest() >= latencies.mean(), "{last:?}");
        }
        assert_eq!(turns[0].run(None), Turn::Over);
    });
}

/// As after a panic before they began.
#[test]
fn a_slice_ends_with_its_drive_even_if_its_clients_never_took_part() {
    let turns = Arc::new(Turns::new());
    let begun = turns.begin(Instant::now(), 2);
    let (send, turn) = mpsc::channel();
    let waiting = turns.clone();
    thread::spawn(move || send.send(waiting.run(None)));
    assert!(turn.recv_timeout(Duration::from_millis(50)).is_err());
    drop(begun);
    assert_eq!(turn.recv_timeout(Duration::from_secs(60)), Ok(Turn::Over));
}

#[test]
fn think_times_go_on_where_the_slice_ended() {
    let mut thinking = closed(4, 400);
    thinking.load = Load::Closed(Closed {
        clients: 4,
        think: Duration::from_millis(60),
    });
    let drives = sliced(&[thinking.clone(), thinking], 0, |turns, _| {
        for _ in 0..7 {
            turns.iter().for_each(|one| {
                assert_eq!(one.run(Some(Duration::from_millis(50))), Turn::Paused);
            });
        }
        turns
            .iter()
            .for_each(|one| assert_eq!(one.run(None), Turn::Over));
    });
    for drive in &drives {
        // 4 clients, 400 ms, one operation per 60 ms: 27 are expected. If each slice began its think times anew, there would be as
        // many; if the wait for the other drive counted as thinking, there would be about twice as many.
        let started = drive.driven.started;
        assert!((1..45).contains(&started), "{started}");
    }
}

#[test]
fn a_drive_that_is_stopped_between_its_slices_ends_with_what_it_has() {
    let drives = sliced(&[closed(2, 60_000)], 1, |turns, stop| {
        assert_eq!(turns[0].run(Some(Duration::from_millis(500))), Turn::Paused);
        stop.store(true, SeqCst);
        while turns[0].run(Some(Duration::from_millis(5))) == Turn::Paused {}
    });
    let driven = &drives[0].driven;
    assert!(driven.started >= 2);
    assert!(driven.stopped.is_some() && driven.until < Duration::from_secs(50));
}

/// The caller stops the server when a slice has ended, so no operation may be in flight then.
#[test]
fn a_slice_that_is_interrupted_ends_with_its_last_operation() {
    let turns = Arc::new(Turns::new());
    let settings = Drive {
        turns: Some(turns.clone()),
        ..closed(4, 60_000)
    };
    let (begun, is_slow) = (AtomicBool::new(false), AtomicBool::new(false));
    let workload = fake(|request| match request.number {
        0 => {
            is_slow.store(true, SeqCst);
            (1_600 * MS, Outcome::Done)
        }
        _ => (5 * MS, Outcome::Done),
    });
    let stop = AtomicBool::new(false);
    let until = |flag: &AtomicBool| {
        while !flag.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    };
    thread::scope(|scope| {
        let (begun, is_slow, stop, workload) = (&begun, &is_slow, &stop, &workload);
        scope.spawn(move || {
            let watch = Watch {
                begun: &mut |_| begun.store(true, SeqCst),
                ..Watch::default()
            };
            drive(workload, &settings, stop, watch).expect("it starts");
        });
        scope.spawn(move || {
            until(is_slow);
            // The other clients have finished the slice.
            thread::sleep(Duration::from_millis(1_000));
            stop.store(true, SeqCst);
        });
        until(begun);
        let began = Instant::now();
        assert_eq!(turns.run(Some(Duration::from_millis(500))), Turn::Over);
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(1_600), "{took:?}");
    });
}

#[test]
fn an_open_loop_and_blocking_clients_are_refused() {
    let turns = Some(Arc::new(Turns::new()));
    let mut settings = open(Arrivals::Uniform { rate: 10.0 }, 1, 5, WhenFull::Wait, 100);
    settings.turns = turns.clone();
    let says = unwatched(
        &fake(|_| (0, Outcome::Done)),
        &settings,
        &AtomicBool::new(false),
    );
    assert!(
        says.unwrap_err()
            .to_string()
            .contains("an open loop cannot run in slices")
    );
    let mut blocking = fake(|_| (0, Outcome::Done));
    blocking.placement = Placement::Threads;
    let settings = Drive {
        turns,
        ..closed(1, 100)
    };
    let says = unwatched(&blocking, &settings, &AtomicBool::new(false));
    assert!(
        says.unwrap_err()
            .to_string()
            .contains("its clients block their threads")
    );
}

/// The slow operation ends after the end of the drive, in its first slice; those of the last slice are within its time nevertheless.
#[test]
fn an_operation_that_ends_far_beyond_its_slice_takes_no_other_out_of_its_second() {
    let turns = Arc::new(Turns::new());
    let settings = Drive {
        turns: Some(turns.clone()),
        ..closed(4, 1_000)
    };
    let workload = fake(|request| match request.number {
        0 => (1_200 * MS, Outcome::Done),
        _ => (10 * MS, Outcome::Done),
    });
    let (begun, mut observed) = (AtomicBool::new(false), Vec::new());
    thread::scope(|scope| {
        let (begun, observed, workload) = (&begun, &mut observed, &workload);
        scope.spawn(move || {
            let watch = Watch {
                begun: &mut |_| begun.store(true, SeqCst),
                second: &mut |second| observed.push(second),
                ..Watch::default()
            };
            drive(workload, &settings, &AtomicBool::new(false), watch).expect("it starts");
        });
        while !begun.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(turns.run(Some(Duration::from_millis(400))), Turn::Paused);
        assert_eq!(turns.run(None), Turn::Over);
    });
    let started = workload.started.lock().unwrap().len() as u64;
    let within = observed[0].tally.ended();
    // Each client may have one operation in flight at the end.
    assert!(
        within + 4 >= started && started > 4,
        "{within} of {started}"
    );
}
