//! Series, maxima and searches.

use super::parse;
use crate::plan::search::{Step, next as next_step, probe, probes_max};
use crate::plan::{Finished, Plan, PlannedTrial};
use crate::{Experiment, PlannedLoad};
use proptest::prelude::*;
use record::{Percentile, TrialKey};
use std::collections::HashSet;

fn experiment(load: &str, protocol: &str) -> Experiment {
    parse(&format!(
        "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mysql@9.7'\n[variant.x]\n[variant.y]\n[workload.oltp]\n{load}\n[protocol]\ntime = '60s'\ncontrol = false\n{protocol}\n"
    ))
}

/// Runs the whole plan; `respond` returns the result of a trial.
fn run(plan: &Plan, respond: impl Fn(&PlannedTrial) -> Finished) -> Vec<(PlannedTrial, Finished)> {
    let mut run: Vec<(PlannedTrial, Finished)> = Vec::new();
    let mut finished: Vec<Finished> = Vec::new();
    while let Some(trial) = plan.next(&finished) {
        let one = respond(&trial);
        finished.push(one.clone());
        run.push((trial, one));
        assert!(run.len() <= plan.len());
    }
    run
}

/// A server whose throughput in closed loop is `max`, and whose p99 is 1 ms below it and 100 ms above.
fn server(max: f64) -> impl Fn(&PlannedTrial) -> Finished {
    move |trial| {
        let (throughput, p99) = match trial.load {
            PlannedLoad::Closed { .. } => (max, 1.0),
            PlannedLoad::Open { rate, .. } => (rate.min(max), if rate > max { 100.0 } else { 1.0 }),
        };
        Finished {
            throughput: Some(throughput),
            latency_ms: [(Percentile::P99, p99)].into(),
            server_is_up: true,
            ..Finished::without_figures(trial.key.clone(), true)
        }
    }
}

fn level<'t>(trial: &'t PlannedTrial, factor: &str) -> &'t str {
    trial.key.level(factor).unwrap_or("")
}

/// The part of the key that the trials of a series share.
fn series(trial: &PlannedTrial) -> (u32, String, String) {
    (
        trial.key.block,
        trial.key.server_name().to_string(),
        level(trial, "variant").to_string(),
    )
}

const CLIENTS: &str = "[load.closed]\nclients = [64, 1, 8]";

#[test]
fn a_series_ascends_on_one_started_server() {
    let experiment = experiment(CLIENTS, "series = true\nblocks = 2");
    let plan = Plan::new(&experiment, 7).unwrap();
    let run = run(&plan, server(1000.0));
    assert_eq!(run.len(), 24);
    for series_of_three in run.chunks(3) {
        let clients: Vec<&str> = series_of_three
            .iter()
            .map(|(trial, _)| level(trial, "clients"))
            .collect();
        assert_eq!(clients, ["1", "8", "64"]);
        let continues: Vec<bool> = series_of_three
            .iter()
            .map(|(trial, _)| trial.continues)
            .collect();
        assert_eq!(continues, [false, true, true]);
        assert!(
            series_of_three
                .windows(2)
                .all(|pair| series(&pair[0].0) == series(&pair[1].0))
        );
    }
}

#[test]
fn without_series_every_trial_starts_its_server_and_points_are_shuffled() {
    let experiment = experiment(CLIENTS, "");
    let plan = Plan::new(&experiment, 7).unwrap();
    let run = run(&plan, server(1000.0));
    assert!(run.iter().all(|(trial, _)| !trial.continues));
    assert!(
        run.chunks(3)
            .any(|three| series(&three[0].0) != series(&three[2].0))
    );
}

#[test]
fn a_resumed_series_starts_its_server_again() {
    let experiment = experiment(CLIENTS, "series = true");
    let plan = Plan::new(&experiment, 7).unwrap();
    let mut first = server(1000.0)(&plan.next(&[]).unwrap());
    assert!(plan.next(std::slice::from_ref(&first)).unwrap().continues);
    first.server_is_up = false;
    assert!(!plan.next(&[first]).unwrap().continues);
}

const SHARES: &str = "[load.open]\nrate = ['60% of max', 500, '90% of max']\nworkers = [4, 1]";

/// Four clients achieve less than one, so the maximum is not at the largest worker count.
fn past_its_knee(trial: &PlannedTrial) -> Finished {
    let clients = trial.load.clients();
    server(if clients == 1 { 1000.0 } else { 800.0 })(trial)
}

#[test]
fn the_maximum_is_the_largest_over_all_workers_and_comes_first_in_every_block() {
    let experiment = experiment(SHARES, "blocks = 2");
    let plan = Plan::new(&experiment, 3).unwrap();
    let run = run(&plan, past_its_knee);
    // For each server and variant: a maximum and three rates with two numbers of workers each.
    assert_eq!((run.len(), plan.len()), (2 * 2 * 2 * 8, 2 * 2 * 2 * 8));
    for point in run.chunks(8) {
        let (maxima, others) = point.split_at(2);
        let mut clients: Vec<u32> = maxima.iter().map(|(max, _)| max.load.clients()).collect();
        clients.sort_unstable();
        assert_eq!(clients, [1, 4]);
        for (max, _) in maxima {
            assert_eq!(level(max, "rate"), "max");
            assert!(matches!(max.load, PlannedLoad::Closed { think, .. } if think.is_zero()));
        }
        for (trial, _) in others {
            let PlannedLoad::Open { rate, .. } = trial.load else {
                panic!("open")
            };
            let expected = match level(trial, "rate") {
                "60% of max" => 600.0,
                "90% of max" => 900.0,
                _ => 500.0,
            };
            assert_eq!(rate, expected);
            assert_eq!(series(trial), series(&maxima[0].0));
        }
    }
}

#[test]
fn a_maximum_ignores_worker_counts_that_failed() {
    let experiment = experiment(SHARES, "");
    let plan = Plan::new(&experiment, 3).unwrap();
    let run = run(&plan, |trial| Finished {
        is_usable: trial.load.clients() == 4,
        ..past_its_knee(trial)
    });
    let shares = run.iter().filter_map(|(trial, _)| match trial.load {
        PlannedLoad::Open { rate, .. } if level(trial, "rate") == "60% of max" => Some(rate),
        _ => None,
    });
    assert!(shares.eq([480.0; 2 * 4]));
}

#[test]
fn events_happen_during_shares_and_never_during_their_maximum() {
    let events = "[[event]]\nat = '1s'\nsql = 'select 1'";
    let experiment = experiment(SHARES, events);
    let plan = Plan::new(&experiment, 3).unwrap();
    for trial in plan.trials() {
        let is_max = level(&trial, "rate") == "max";
        assert_eq!(trial.events.len(), usize::from(!is_max));
    }
}

#[test]
fn rates_whose_maximum_failed_are_skipped_and_reported() {
    let experiment = experiment(SHARES, "");
    let plan = Plan::new(&experiment, 3).unwrap();
    let failed = |trial: &PlannedTrial| Finished {
        is_usable: false,
        ..server(1000.0)(trial)
    };
    let run = run(&plan, failed);
    let finished: Vec<Finished> = run.into_iter().map(|(_, finished)| finished).collect();
    assert_eq!((finished.len(), plan.lost(&finished).len()), (4 * 4, 4 * 4));
}

#[test]
fn only_shares_and_searches_need_figures() {
    for (load, needed) in [(CLIENTS, false), (SHARES, true), (FIND, true)] {
        let experiment = experiment(load, "");
        assert_eq!(Plan::new(&experiment, 1).unwrap().needs_figures(), needed);
    }
    let absolute = experiment(SHARES, "").with_only(&["rate=500"]).unwrap();
    assert!(!Plan::new(&absolute, 1).unwrap().needs_figures());
}

#[test]
fn a_maximum_that_no_rate_refers_to_is_not_measured() {
    let experiment = experiment(SHARES, "").with_only(&["rate=500"]).unwrap();
    let trials: Vec<_> = Plan::new(&experiment, 1).unwrap().trials().collect();
    assert!(trials.iter().all(|trial| level(trial, "rate") == "500"));
    let experiment = self::experiment(SHARES, "")
        .with_only(&["rate=60% of max"])
        .unwrap();
    let trials: Vec<_> = Plan::new(&experiment, 1).unwrap().trials().collect();
    assert_eq!(
        trials
            .iter()
            .filter(|trial| level(trial, "rate") == "max")
            .count(),
        4 * 2
    );
}

#[test]
fn a_level_restricted_to_one_share_also_applies_to_its_maximum() {
    let source = "title = 't'\n[server.a]\nbuild = 'mariadb'\n[variant.x]\nonly = { rate = '60% of max' }\n[workload.oltp]\n[load.open]\nrate = ['60% of max', 500]\n[protocol]\ntime = '60s'\n";
    let experiment = parse(source);
    let trials: Vec<_> = Plan::new(&experiment, 1).unwrap().trials().collect();
    let rates: Vec<&str> = trials.iter().map(|trial| level(trial, "rate")).collect();
    assert_eq!(rates, ["max", "60% of max"]);
}

const FIND: &str =
    "[load.open]\nfind = { max_rate = [100, 20000], where = 'p99 <= 10ms' }\nworkers = [1, 8]";

#[test]
fn a_search_probes_until_it_has_found_the_largest_rate_of_each_point() {
    let experiment = experiment(FIND, "series = true");
    let plan = Plan::new(&experiment, 3).unwrap();
    assert_eq!(plan.len(), 8 * probes_max((100.0, 20000.0)));
    assert!(plan.trials().all(|trial| level(&trial, "rate") == "100"));
    let run = run(&plan, server(3000.0));
    let keys: HashSet<_> = run.iter().map(|(trial, _)| &trial.key).collect();
    assert_eq!(keys.len(), run.len());
    for point in plan.trials() {
        let mut key = point.key.clone();
        key.levels.retain(|(factor, _)| factor != "rate");
        let search = experiment.search().unwrap();
        let probes: Vec<_> = run
            .iter()
            .filter_map(|(_, one)| probe(search, &key, one))
            .collect();
        let Step::Found { rate, .. } = next_step(search.between, &probes) else {
            panic!("{probes:?}")
        };
        assert!((2840.0..=3000.0).contains(&rate), "{rate}");
    }
}

#[test]
fn only_the_last_trial_of_a_search_has_its_result() {
    let experiment = experiment(FIND, "series = true");
    let plan = Plan::new(&experiment, 3).unwrap();
    let first = plan.trials().next().unwrap().key;
    let is_of_first = |key: &TrialKey| {
        (key.block, &key.server) == (first.block, &first.server)
            && key.level("variant") == first.level("variant")
            && key.level("workers") == first.level("workers")
    };
    let run = run(&plan, server(3000.0));
    let own = run
        .iter()
        .map(|(_, one)| one)
        .filter(|one| is_of_first(&one.key));
    let own: Vec<Finished> = own.cloned().collect();
    let answers: Vec<_> = (1..=own.len())
        .map(|upto| plan.answer(&own[upto - 1].key, &own[..upto]))
        .collect();
    let (last, earlier) = answers.split_last().unwrap();
    assert!(earlier.iter().all(Option::is_none), "{answers:?}");
    let last = last.as_deref().unwrap();
    assert!(
        last.starts_with("the maximum rate at which 99 % of operations complete within"),
        "{last}"
    );
}

#[test]
fn a_search_reports_that_its_lowest_rate_fails() {
    let experiment = experiment(FIND, "");
    let plan = Plan::new(&experiment, 3).unwrap();
    let run = run(&plan, server(10.0));
    let all: Vec<Finished> = run.into_iter().map(|(_, one)| one).collect();
    let answer = plan.answer(&all[all.len() - 1].key, &all).unwrap();
    assert!(
        answer.starts_with("no rate from 100 ops/s upwards"),
        "{answer}"
    );
}

proptest! {
    #[test]
    fn parts_have_whole_series_and_are_together_the_whole(seed: u64, of in 1u32..6, shares: bool) {
        let (load, protocol) = if shares { (SHARES, "blocks = 2") } else { (CLIENTS, "blocks = 2\nseries = true") };
        let experiment = experiment(load, protocol);
        let mut together = Vec::new();
        for part in 1..=of {
            let part = format!("{part}/{of}").parse().unwrap();
            let plan = Plan::of_part(&experiment, seed, Some(part)).unwrap();
            let own: HashSet<_> = plan.trials().map(|trial| series(&trial)).collect();
            together.extend(own);
            prop_assert_eq!(run(&plan, server(1000.0)).len(), plan.len());
        }
        let distinct: HashSet<_> = together.iter().cloned().collect();
        prop_assert_eq!((together.len(), distinct.len()), (8, 8));
    }

    #[test]
    fn a_run_that_is_resumed_anywhere_ends_with_the_same_trials(seed: u64, cut in 0usize..60, load in 0..3usize) {
        let experiment = experiment([CLIENTS, SHARES, FIND][load], "series = true");
        let plan = Plan::new(&experiment, seed).unwrap();
        let whole = run(&plan, server(1000.0));
        let mut finished: Vec<Finished> = whole.iter().take(cut).map(|(_, one)| Finished { server_is_up: false, ..one.clone() }).collect();
        while let Some(trial) = plan.next(&finished) {
            finished.push(server(1000.0)(&trial));
        }
        prop_assert!(finished.iter().map(|one| &one.key).eq(whole.iter().map(|(trial, _)| &trial.key)));
    }
}

/// The length of the queue of this load in operations.
fn queue_of(load: &str) -> u64 {
    match first_trial(load).load {
        PlannedLoad::Open { queue, .. } => queue,
        closed @ PlannedLoad::Closed { .. } => panic!("{closed:?}"),
    }
}

fn first_trial(load: &str) -> PlannedTrial {
    let experiment = experiment(load, "");
    let plan = Plan::new(&experiment, 1).unwrap();
    plan.trials().next().unwrap()
}

#[test]
fn a_queue_in_seconds_holds_the_arrivals_of_the_highest_rate() {
    let load = |arrivals: &str| {
        queue_of(&format!(
            "[load.open]\nrate = 2000\narrivals = {arrivals}\nqueue = '3s'"
        ))
    };
    assert_eq!(load("'poisson'"), 6_000);
    assert_eq!(load("{ ramp = { to = 5000, over = '30s' } }"), 15_000);
    let bursts = "{ bursts = { rate = 9000, every = '10s', length = '1s' } }";
    assert_eq!(load(bursts), 27_000);
}
