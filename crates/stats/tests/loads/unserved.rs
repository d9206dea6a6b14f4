//! Open loads that a server did not serve, and what is not known of them.

use super::*;
use stats::Basis;

#[test]
fn a_percentile_among_arrivals_that_were_never_answered_is_not_served() {
    let stalls_at_the_end = |s: usize| if s == 59 { 300.0 } else { 0.0 };
    let trials = [
        open(0, 16, 2.0, |_| 0.0),
        open(0, 64, 2.0, stalls_at_the_end),
    ];
    let why = overloaded(&trials, by_workers(Percentile::P99, "64", "16")).unwrap();
    let expected = "300 of 25,300 arrivals were never answered";
    assert!(why.contains(expected), "{why}");
    let swapped = by_workers(Percentile::P99, "16", "64");
    assert_eq!(overloaded(&trials, swapped), None);
}

#[test]
fn a_rate_that_neither_side_serves_says_nothing_of_the_new_one() {
    let grows = |s: usize| 100.0 * (s + 1) as f64;
    let trials = [
        open(0, 4, 2.0, |_| 0.0),
        open(0, 16, 2.0, grows),
        open(0, 64, 2.0, grows),
    ];
    let why = |of: &str, to: &str| overloaded(&trials, by_workers(Percentile::P99, of, to));
    assert!(why("64", "4").is_some());
    assert_eq!(why("64", "16"), None);
}

#[test]
fn a_maximum_is_not_known_where_arrivals_of_the_measured_part_were_dropped() {
    let dropping = |workers: u32, at_s: usize| {
        let mut trial = open(0, workers, 2.0, |s| if s == 59 { 1.0 } else { 0.0 });
        let load = trial.load.as_mut().unwrap();
        let dropped = seconds(|s| if s == at_s { 60.0 } else { 0.0 });
        load.series.insert("dropped".into(), dropped);
        load.open.as_mut().unwrap().dropped = 60;
        trial
    };
    let trials = [dropping(16, 5), dropping(64, 30)];
    let expected = "60 arrivals were dropped, so the maximum is not known";
    let why = overloaded(&trials, by_workers(Percentile::Max, "64", "16")).unwrap();
    assert!(why.contains(expected), "{why}");
    for (of, to) in [("64", "16"), ("16", "64")] {
        let found = judged(&trials, by_workers(Percentile::Max, of, to));
        assert_eq!(found.verdict, Verdict::NotAvailable);
        let reason = found.reason.unwrap();
        assert!(reason.contains(expected), "{reason}");
    }
    for (percentile, of, to) in [
        (Percentile::P99, "64", "16"),
        // What was dropped in the warm-up is not measured.
        (Percentile::Max, "16", "64"),
    ] {
        assert_eq!(overloaded(&trials, by_workers(percentile, of, to)), None);
    }
}

/// The response times of two numbers of workers.
fn by_workers(percentile: Percentile, of: &str, to: &str) -> Subject {
    let kind = LatencyKind::Response;
    let value = Value::Latency { kind, percentile };
    ratio(value, cell("workers", of), cell("workers", to), 1.0)
}

/// Why the first side did not serve its load.
fn overloaded(trials: &[Trial], subject: Subject) -> Option<String> {
    let claim = Claim {
        says: String::new(),
        subject,
        published: None,
    };
    Basis::of(&claim, trials).overloaded
}

#[test]
fn a_queue_that_fills_during_warm_up_makes_the_load_unstable() {
    let trials = [full_in_its_warm_up(0), full_in_its_warm_up(1)];
    let (verdict, reason) = finds(&trials, Finding::Unstable, Cell::default());
    assert_eq!(verdict, Verdict::Reproduced);
    assert!(reason.contains("the queue grows by 400 requests/s; the queue of 1800 was full"));
    let (verdict, _) = finds(&trials, Finding::Stall, Cell::default());
    assert_eq!(verdict, Verdict::NotAvailable);
}

/// So many operations of a row, of which so many failed.
fn failing(server: &str, clients: u32, starts: u64, errors: u64) -> Trial {
    let mut trial = closed(0, clients, 1000.0);
    trial.key.server = Some(server.into());
    let load = trial.load.as_mut().unwrap();
    let mut summary = summarise(load);
    summary.accounts = vec![Account {
        name: "update".into(),
        is_in_mix: true,
        starts,
        ends: starts,
        done: starts - errors,
        errors,
        ..Account::default()
    }];
    load.summary = Some(summary);
    trial
}

/// New against old, over all their rows.
fn new_against_old() -> Claim {
    let (new, old) = (cell("server", "new"), cell("server", "old"));
    Claim {
        says: String::new(),
        subject: ratio(Value::Throughput, new, old, 0.9),
        published: None,
    }
}

#[test]
fn what_happened_in_other_rows_of_the_sides_is_not_alike() {
    let of = |server: &str, flagged: u32| {
        [8, 64].map(|clients| {
            let mut trial = failing(server, clients, 1000, 0);
            if clients == flagged {
                trial.flag(FlagKind::DataMoved, "the tables moved");
            }
            trial
        })
    };
    let one_sided = |old: u32, new: u32| {
        let trials = [of("old", old), of("new", new)].concat();
        Basis::of(&new_against_old(), &trials).one_sided
    };
    assert_eq!(one_sided(8, 8), None);
    assert!(one_sided(8, 64).is_some());
}

#[test]
fn failures_in_one_row_of_a_side_are_not_averaged_away() {
    let failed = |errors: u64| {
        let trials = [
            failing("old", 8, 90_000, 0),
            failing("old", 64, 10_000, 0),
            failing("new", 8, 90_000, 0),
            failing("new", 64, 10_000, errors),
        ];
        Basis::of(&new_against_old(), &trials).failed.unwrap()
    };
    let found = failed(500);
    assert_eq!((found.new, found.old), (0.05, 0.0));
    assert_eq!(found.row.as_deref(), Some("clients 64"));
    assert_eq!(failed(2).row, None, "two by chance");
}
