//! Faults: lost and refused sessions, interrupts, invalid settings, panics.

use super::*;

#[test]
fn a_client_reconnects_after_a_lost_session() {
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
    let (driven, observed) = driven(&workload, &closed(1, 1_500));
    assert_eq!(opened.load(SeqCst), 2);
    assert_eq!(observed.errors(Ending::Lost, 2013), 1);
    assert!(driven.started > 2 && driven.ended_early.is_empty());
}

fn refused(transient: bool) -> Failure {
    Failure {
        code: 2002,
        text: "127.0.0.1:1 refuses".into(),
        transient,
    }
}

#[test]
fn a_session_that_is_always_lost_ends_its_client_and_the_last_client_ends_the_drive() {
    let workload = fake(|_| (0, Outcome::Lost(2013)));
    let (driven, observed) = driven(&workload, &closed(2, 60_000));
    let clients: Vec<u32> = driven
        .ended_early
        .iter()
        .map(|(client, _)| *client)
        .collect();
    assert_eq!(clients, [0, 1]);
    let why = driven.stopped.expect("it was stopped");
    assert!(why.starts_with("all clients had ended at"), "{why}");
    assert!(
        why.contains("error 2013") && why.contains(" to reconnect in "),
        "{why}"
    );
    assert!(driven.started >= 4, "the sessions are opened again");
    assert_eq!(observed.tally()[Ending::Lost], driven.started);
}

#[test]
fn a_permanent_error_ends_the_client_with_its_text() {
    let workload = fake(|_| (0, Outcome::Lost(2013)));
    let mut first = true;
    *workload.open.lock().unwrap() = Box::new(move |_| match std::mem::take(&mut first) {
        true => Ok(()),
        false => Err(refused(false)),
    });
    let (driven, _) = driven(&workload, &closed(1, 60_000));
    let (_, failure) = &driven.ended_early[0];
    let says = "127.0.0.1:1 refuses, after 1 attempt to reconnect in ";
    assert!(failure.text.starts_with(says), "{failure}");
    assert_eq!(
        driven.started, 2,
        "the second operation was due and got no session"
    );
}

#[test]
fn a_client_that_is_still_refused_at_the_end_is_reported() {
    let workload = fake(|_| (0, Outcome::Lost(2013)));
    let mut first = true;
    *workload.open.lock().unwrap() = Box::new(move |_| match std::mem::take(&mut first) {
        true => Ok(()),
        false => Err(refused(true)),
    });
    let settings = Drive {
        reconnect_for: Duration::MAX,
        ..closed(1, 300)
    };
    let (driven, _) = driven(&workload, &settings);
    assert!(driven.ended_early.is_empty());
    let (_, failure) = &driven.refused_to_end[0];
    assert!(failure.text.starts_with("127.0.0.1:1 refuses"), "{failure}");
}

#[test]
fn no_session_is_opened_after_the_end() {
    let workload = fake(|_| (0, Outcome::Lost(2013)));
    let opened = std::sync::Arc::new(AtomicU64::new(0));
    let counted = opened.clone();
    *workload.open.lock().unwrap() = Box::new(move |_| {
        counted.fetch_add(1, SeqCst);
        Ok(())
    });
    let settings = Drive {
        reconnect_for: Duration::MAX,
        ..closed(1, 100)
    };
    // Pauses of at most 10, 20, 40, 80 ms and so on: the drive ends during one of them.
    let (driven, _) = driven(&workload, &settings);
    let operated = workload.started.lock().unwrap().len() as u64;
    assert_eq!(opened.load(SeqCst), operated, "each session is used once");
    assert_eq!(
        driven.started,
        operated + 1,
        "the last operation was due and got no session"
    );
}

#[test]
fn a_transient_failure_to_open_is_retried() {
    let workload = fake(|_| (MS, Outcome::Done));
    let mut left = 3;
    *workload.open.lock().unwrap() = Box::new(move |_| {
        left -= 1;
        if left > 0 { Err(refused(true)) } else { Ok(()) }
    });
    let (driven, _) = driven(&workload, &closed(1, 1_000));
    assert!(driven.started > 0);
}

#[test]
fn a_permanent_failure_to_open_refuses_the_drive_and_closes_the_others() {
    let workload = fake(|_| (0, Outcome::Done));
    *workload.open.lock().unwrap() = Box::new(|client| match client {
        70 => Err(refused(false)),
        _ => Ok(()),
    });
    let settings = closed(100, 60_000);
    let refusal = unwatched(&workload, &settings, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "client 70 could not open its session: 127.0.0.1:1 refuses"
    );
    assert_eq!(workload.sessions.load(SeqCst), 0);
}

#[test]
fn an_interrupt_before_the_start_closes_all_sessions() {
    let workload = fake(|_| (0, Outcome::Done));
    *workload.open.lock().unwrap() = Box::new(|client| match client {
        1 => Err(refused(true)),
        _ => Ok(()),
    });
    let refusal = unwatched(&workload, &closed(2, 60_000), &AtomicBool::new(true));
    assert!(matches!(refusal, Err(DriveError::Interrupted)));
    assert_eq!(workload.sessions.load(SeqCst), 0);
}

/// Interrupts once so many operations have started.
fn interrupted(workload: &Fake<'_>, settings: &Drive, operations: usize) -> Driven {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while workload.started.lock().unwrap().len() < operations {
                thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, SeqCst);
        });
        unwatched(workload, settings, &stop).expect("it starts")
    })
}

#[test]
fn an_interrupt_ends_the_drive_and_keeps_the_counts() {
    let workload = fake(|_| (MS, Outcome::Done));
    let driven = interrupted(&workload, &closed(4, 600_000), 200);
    assert!(
        driven
            .stopped
            .expect("it was stopped")
            .starts_with("interrupted at")
    );
    assert_eq!(
        driven.started,
        workload.started.lock().unwrap().len() as u64
    );
    assert!(driven.elapsed < Duration::from_secs(60));
}

#[test]
fn an_interrupt_ends_stalled_operations() {
    for placement in [Placement::Reactors, Placement::Threads] {
        let mut workload = fake(|_| (600_000 * MS, Outcome::Lost(60_001)));
        workload.placement = placement;
        let driven = interrupted(&workload, &closed(3, 600_000), 3);
        assert_eq!(driven.started, 3);
        assert!(driven.elapsed < Duration::from_secs(60));
        assert_eq!(workload.sessions.load(SeqCst), 0);
    }
}

#[test]
fn stalled_operations_at_the_end_are_abandoned_after_the_drain_timeout() {
    let workload = fake(|_| (600_000 * MS, Outcome::Lost(60_001)));
    let mut settings = closed(2, 1_500);
    settings.drain_timeout = Some(Duration::from_millis(100));
    let (driven, _) = driven(&workload, &settings);
    assert_eq!((driven.started, driven.stopped), (2, None));
    assert_eq!(driven.until, Duration::from_millis(1_500));
    assert!(driven.elapsed >= Duration::from_millis(1_600));
    let late: Tally = driven.late.iter().sum();
    assert_eq!((late[Ending::Lost], late.ended()), (2, 2));
}

#[test]
fn operations_that_run_past_the_end_are_counted_as_late_by_operation() {
    // The odd operations take longer than the drive. Each of the two clients runs an even one first.
    let workload = fake(|request| match request.operation {
        0 => (MS, Outcome::Done),
        _ => (2_500 * MS, Outcome::Done),
    });
    let (driven, _) = driven(&workload, &closed(2, 1_500));
    assert_eq!((driven.late[0].ended(), driven.late[1].done()), (0, 2));
    assert_eq!(driven.tallies[1], driven.late[1], "none ended in time");
    assert_eq!(driven.tallies[0].done(), 2);
}

#[test]
fn invalid_settings_are_refused_before_any_session_is_opened() {
    let workload = fake(|_| (0, Outcome::Done));
    let refusal = |settings: &Drive| {
        let refused = unwatched(&workload, settings, &AtomicBool::new(false));
        refused.unwrap_err().to_string()
    };
    assert!(refusal(&closed(0, 100)).contains("at least 1"));
    assert!(refusal(&closed(1, 0)).contains("the time is 0"));
    let never = Arrivals::Poisson { rate: 0.0 };
    assert!(refusal(&open(never, 1, 1, WhenFull::Stop, 100)).contains("the rate is 0"));
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

#[test]
fn a_watch_that_panics_ends_the_drive_and_panics() {
    let mut settings = closed(2, 600_000);
    settings.warmup = Duration::from_secs(1);
    for which in ["begun", "second", "window"] {
        let workload = fake(|_| (MS, Outcome::Done));
        let watched = std::panic::AssertUnwindSafe(|| {
            let watch = Watch {
                ready: None,
                begun: &mut |_| assert!(which != "begun", "on purpose"),
                second: &mut |_| assert!(which != "second", "on purpose"),
                window: &mut |_| assert!(which != "window", "on purpose"),
            };
            drive(&workload, &settings, &AtomicBool::new(false), watch)
        });
        assert!(std::panic::catch_unwind(watched).is_err(), "{which}");
        assert_eq!(workload.sessions.load(SeqCst), 0, "{which}");
    }
}
