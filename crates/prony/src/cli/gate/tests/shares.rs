//! Shares of operations that failed, were dropped or had no effect, and the differences that are allowed.

use super::*;

#[test]
fn a_failure_by_chance_fails_where_none_is_allowed_and_half_of_few_operations_everywhere() {
    let status = |case: Case, failures: f64| {
        let gating = Gating {
            failures,
            ..gating(Some(Mode::Decided))
        };
        case.recorded().of_run(&gating, When::Now)
    };
    let by_chance = path("so few operations that a failure is chance");
    assert_eq!(status(by_chance, 0.0), Some(Status::ClaimFailed));
    let half = Case::spoilt(|trials| {
        for trial in trials.iter_mut() {
            let is_new = trial.key.server_name() == "new";
            few(trial, 6, 3 * u64::from(is_new));
        }
    });
    assert_eq!(status(half, 0.01), Some(Status::ClaimFailed));
}

#[test]
fn arrivals_that_one_side_dropped_are_named_and_fail_where_more_were_than_is_allowed() {
    let case = Case {
        sides: [Side::open(1000.0); 2],
        ..Case::spoilt(|trials| {
            for trial in trials.iter_mut().filter(is_new) {
                let summary = trial.load.as_mut().unwrap().summary.as_mut().unwrap();
                summary.latency.response.as_mut().unwrap().unanswered = 150;
            }
        })
    };
    let case = case.recorded();
    let status = |failures: f64| {
        let gating = Gating {
            failures,
            ..gating(Some(Mode::Strict))
        };
        [case.of_run(&gating, When::Now), case.of_comparison(&gating)]
    };
    assert_eq!(status(0.01), [Some(Status::Done); 2]);
    assert_eq!(status(0.001), [Some(Status::ClaimFailed); 2]);
    let run = run(&["old", "new"], Vec::new(), case.planned);
    let trials = (case.trials.as_slice(), case.controls.as_slice());
    let headline = Document::within(0.05, &run, trials, Detail::Brief).headline;
    let named = "0.5 % of the arrivals of new were dropped, 0.0 % of old";
    assert!(headline.to_string().contains(named), "{headline}");
}

#[test]
fn arrivals_that_one_side_dropped_in_its_warm_up_are_no_difference() {
    let case = Case {
        sides: [Side::open(1000.0); 2],
        ..Case::spoilt(|trials| {
            for trial in trials.iter_mut().filter(is_new) {
                let open = trial.load.as_mut().unwrap().open.as_mut().unwrap();
                (open.arrived, open.dropped) = (40_000, 2_000);
            }
        })
    };
    let status = case
        .recorded()
        .of_run(&gating(Some(Mode::Strict)), When::Now);
    assert_eq!(status, Some(Status::Done));
}

#[test]
fn another_share_of_failures_can_be_allowed() {
    let case = path("the shares of failed operations differ by more than `--failures`").recorded();
    let tolerant = Gating {
        failures: 0.5,
        tolerance: 9.0,
        ..gating(Some(Mode::Strict))
    };
    assert_eq!(case.of_run(&tolerant, When::Now), Some(Status::Done));
    assert_eq!(case.of_comparison(&tolerant), Some(Status::Done));
}

#[test]
fn a_small_share_without_effect_fails_where_less_is_allowed_and_decides_no_smaller_tolerance() {
    let case = Case::spoilt(|trials| {
        for trial in trials.iter_mut() {
            let is_new = trial.key.server_name() == "new";
            idle(trial, if is_new { 90 } else { 0 }, 10_000);
        }
    });
    let case = case.recorded();
    let status = |failures: f64, tolerance: f64, mode: Mode| {
        let gating = Gating {
            failures,
            tolerance,
            ..gating(Some(mode))
        };
        case.of_run(&gating, When::Now)
    };
    let (done, failed) = (Some(Status::Done), Some(Status::ClaimFailed));
    assert_eq!(status(0.01, 0.05, Mode::Strict), done);
    assert_eq!(status(0.005, 0.05, Mode::Decided), failed);
    assert_eq!(status(0.01, 0.005, Mode::Decided), done);
    assert_eq!(status(0.01, 0.005, Mode::Strict), failed);
}

#[test]
fn a_claim_among_rows_of_which_one_did_nothing_fails() {
    let case = Case {
        claims: vec![among(&["old", "new"])],
        ..Case::spoilt(|trials| {
            for trial in trials.iter_mut().filter(is_new) {
                idle(trial, 50, 100);
            }
        })
    };
    let gating = gating(Some(Mode::Decided));
    let status = case.recorded().of_run(&gating, When::Now);
    assert_eq!(status, Some(Status::ClaimFailed));
}

#[test]
fn work_of_the_background_that_one_side_gave_up_fails() {
    let case = Case::spoilt(|trials| {
        for trial in trials.iter_mut() {
            let is_new = trial.key.server_name() == "new";
            let errors = if is_new { 50 } else { 0 };
            let load = trial.load.as_mut().unwrap();
            let accounts = &mut load.summary.as_mut().unwrap().accounts;
            accounts.push(record::Account {
                name: "delivery-completed".into(),
                starts: 100,
                ends: 100,
                done: 100 - errors,
                errors,
                ..record::Account::default()
            });
        }
    });
    let gating = gating(Some(Mode::Decided));
    let status = case.recorded().of_run(&gating, When::Now);
    assert_eq!(status, Some(Status::ClaimFailed));
}

#[test]
fn what_hides_the_speed_of_both_sides_is_undecided() {
    let paused: fn(&mut Vec<Trial>) = |trials| {
        for trial in trials.iter_mut() {
            let text = format!("flush_time of {}", trial.key.server_name());
            trial.flag(FlagKind::PausesMatter, text);
        }
    };
    let cached: fn(&mut Vec<Trial>) = |trials| {
        for trial in trials.iter_mut() {
            trial.flag(FlagKind::QueryCache, "the query cache answered");
        }
    };
    for spoil in [paused, cached] {
        let case = Case::spoilt(spoil).recorded();
        let status = |mode: Mode| case.of_run(&gating(Some(mode)), When::Now);
        assert_eq!(status(Mode::Decided), Some(Status::Done));
        assert_eq!(status(Mode::Strict), Some(Status::ClaimFailed));
    }
}
