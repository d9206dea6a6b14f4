//! Drives that run a share of a load and start together with others.

use super::*;
use crate::share::Share;

/// Drives with a start that is agreed on. Returns the outcome and the time zero that was reported.
fn agreed(
    workload: &Fake<'_>,
    mut ready: impl FnMut() -> Result<Instant, String> + Send,
) -> (Result<Driven, DriveError>, Option<Instant>) {
    let mut begun = None;
    let watch = Watch {
        ready: Some(&mut ready),
        begun: &mut |origin| begun = Some(origin),
        ..Watch::default()
    };
    let stop = AtomicBool::new(false);
    let outcome = drive(workload, &closed(2, 1_000), &stop, watch);
    (outcome, begun)
}

#[test]
fn a_drive_starts_at_the_moment_that_was_agreed_on() {
    let workload = fake(|_| (MS, Outcome::Done));
    let mut start = None;
    let (driven, begun) = agreed(&workload, || {
        assert_eq!(workload.sessions.load(SeqCst), 2, "all sessions are open");
        let agreed = Instant::now() + Duration::from_secs(1);
        start = Some(agreed);
        Ok(agreed)
    });
    assert!(driven.expect("it starts").started > 0);
    assert_eq!(begun, start);
}

#[test]
fn a_start_that_is_too_near_is_missed() {
    let workload = fake(|_| (MS, Outcome::Done));
    let (driven, begun) = agreed(&workload, || Ok(Instant::now()));
    let says = driven.unwrap_err().to_string();
    assert!(says.starts_with("the common start was missed by"), "{says}");
    assert_eq!(begun, None);
    assert!(workload.started.lock().unwrap().is_empty());
    assert_eq!(workload.sessions.load(SeqCst), 0, "every session is closed");
}

#[test]
fn a_drive_whose_others_do_not_come_does_not_start() {
    let workload = fake(|_| (MS, Outcome::Done));
    let (driven, _) = agreed(&workload, || Err("shard 2/4 did not come".into()));
    assert_eq!(driven.unwrap_err().to_string(), "shard 2/4 did not come");
    assert_eq!(workload.sessions.load(SeqCst), 0, "every session is closed");
}

#[test]
fn a_share_has_its_own_clients_and_operation_numbers() {
    let mut opened = Vec::new();
    let mut numbers = Vec::new();
    for index in 0..3 {
        let names = std::sync::Arc::new(Mutex::new(Vec::new()));
        let workload = fake(|_| (MS, Outcome::Done));
        let own = names.clone();
        *workload.open.lock().unwrap() = Box::new(move |client| {
            own.lock().unwrap().push(client);
            Ok(())
        });
        let settings = Drive {
            share: Share::new(index, 3, None),
            ..closed(4, 20)
        };
        let driven = unwatched(&workload, &settings, &AtomicBool::new(false));
        driven.expect("it starts");
        opened.extend(names.lock().unwrap().iter().copied());
        let started = workload.started.lock().unwrap();
        assert!(
            started
                .iter()
                .all(|request| request.number % 3 == u64::from(index))
        );
        numbers.extend(started.iter().map(|request| request.number));
    }
    opened.sort_unstable();
    assert_eq!(opened, [0, 1, 2, 3]);
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "no number is used twice");
}

#[test]
fn a_client_of_a_share_reconnects_under_its_number_among_all() {
    let names = std::sync::Arc::new(Mutex::new(Vec::new()));
    let workload = fake(|_| (MS, Outcome::Lost(2013)));
    let own = names.clone();
    *workload.open.lock().unwrap() = Box::new(move |client| {
        own.lock().unwrap().push(client);
        Ok(())
    });
    let settings = Drive {
        share: Share::new(1, 2, None),
        reconnect_for: Duration::from_secs(900),
        ..closed(4, 1_000)
    };
    let driven = unwatched(&workload, &settings, &AtomicBool::new(false));
    driven.expect("it starts");
    let names = names.lock().unwrap();
    assert!(names.len() > 2, "they reconnect: {names:?}");
    assert!(names.iter().all(|name| [1, 3].contains(name)), "{names:?}");
}

#[test]
fn shares_of_equal_gaps_start_the_operations_of_the_whole() {
    let arrivals = Arrivals::Uniform { rate: 200.0 };
    let of = |share: Share| {
        let workload = fake(|_| (0, Outcome::Done));
        let settings = Drive {
            share,
            ..open(arrivals.clone(), 4, 1_000, WhenFull::Stop, 1_000)
        };
        let driven = unwatched(&workload, &settings, &AtomicBool::new(false));
        driven.expect("it starts");
        let started = workload.started.lock().unwrap();
        let times = started.iter().map(|one| (one.number, one.scheduled_ns));
        // The last ones stay queued if the workers wake late.
        let times = times.filter(|(_, scheduled_ns)| *scheduled_ns < 500 * MS);
        times.collect::<Vec<_>>()
    };
    let mut together: Vec<_> = (0..2)
        .flat_map(|index| of(Share::new(index, 2, None)))
        .collect();
    let mut whole = of(Share::WHOLE);
    together.sort_unstable();
    whole.sort_unstable();
    assert!(whole.len() > 90, "{whole:?}");
    assert_eq!(together, whole);
}
