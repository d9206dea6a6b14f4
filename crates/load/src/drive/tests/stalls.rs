//! The engine's own stalls.

use super::*;

/// Blocks its thread once for 300 ms, as a stopped process does, whatever the server does.
fn blocking_once() -> Fake<'static> {
    let blocked = AtomicBool::new(false);
    fake(move |request| {
        if request.started_ns > 100 * MS && !blocked.swap(true, SeqCst) {
            thread::sleep(Duration::from_millis(300));
        }
        (MS, Outcome::Done)
    })
}

/// How long the engine stood still by its own account.
fn stood(settings: &Drive) -> Duration {
    let (driven, _) = driven(&blocking_once(), settings);
    driven.stalls.iter().map(|stall| stall.stood).sum()
}

#[test]
fn a_reactor_that_does_not_run_knows_it() {
    for backend in [Backend::Uring, Backend::Epoll] {
        let settings = Drive {
            reactors: Some(1),
            backend: Some(backend).filter(|one| *one == Backend::Epoll),
            ..closed(2, 600)
        };
        let stood = stood(&settings);
        assert!(
            stood >= Duration::from_millis(280),
            "{backend:?}: {stood:?}"
        );
    }
}

#[test]
fn a_reactor_that_does_not_run_knows_it_in_open_loop_too() {
    let arrivals = Arrivals::Uniform { rate: 500.0 };
    let settings = Drive {
        reactors: Some(1),
        ..open(arrivals, 2, 1_000, WhenFull::Stop, 600)
    };
    let stood = stood(&settings);
    assert!(stood >= Duration::from_millis(280), "{stood:?}");
}

#[test]
fn a_server_that_stands_still_is_no_stall_of_the_engine() {
    let workload = fake(|request| {
        let is_stalled = (200 * MS..1_200 * MS).contains(&request.started_ns);
        (if is_stalled { 1_000 * MS } else { MS }, Outcome::Done)
    });
    // A busy machine can stop it for as long as the server stood still. Not each time.
    let is_none = |_: u32| longest_stall_ns(&driven(&workload, &closed(2, 2_000)).0) < 900 * MS;
    assert!((0..3).any(is_none));
}
