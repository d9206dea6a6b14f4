//! The A/A control.

use super::parse;
use crate::Experiment;
use crate::plan::{Finished, Plan, PlannedTrial, expand};
use proptest::prelude::*;
use record::{Role, TrialKey};
use std::collections::HashSet;

/// Two servers and two variants. The claim compares the servers of variant y.
fn experiment(load: &str, protocol: &str) -> Experiment {
    parse(&format!(
        "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mysql@9.7'\n[variant.x]\n[variant.y]\n[workload.oltp]\n{load}\n\
         [protocol]\ntime = '60s'\n{protocol}\n\
         [[claim]]\nsays = 's'\nvalue = 'throughput'\nof = {{ server = 'b', variant = 'y' }}\nto = {{ server = 'a', variant = 'y' }}\nat_least = 1.1\n"
    ))
}

const ONE_CLIENT: &str = "[load.closed]\nclients = [1]";

fn controls(experiment: &Experiment, seed: u64) -> Vec<TrialKey> {
    let trials = expand(experiment, seed).unwrap().into_iter();
    trials
        .map(|trial| trial.key)
        .filter(TrialKey::is_control)
        .collect()
}

#[test]
fn the_cheapest_cell_that_a_claim_compares_is_measured_twice_in_each_block() {
    let experiment = experiment("[load.closed]\nclients = [8, 1]", "blocks = 3");
    let controls = controls(&experiment, 7);
    assert_eq!(controls.len(), 3);
    for (block, control) in (0..).zip(controls) {
        assert_eq!(control.block, block);
        assert_eq!(control.server_name(), "a");
        assert_eq!(control.level("variant"), Some("y"));
        assert_eq!(control.level("clients"), Some("1"));
    }
}

#[test]
fn without_a_claim_the_cheapest_cell_of_all_is_the_control() {
    let without_claims = Experiment {
        claims: Vec::new(),
        ..experiment(ONE_CLIENT, "blocks = 2")
    };
    let controls = controls(&without_claims, 7);
    assert_eq!(controls.len(), 2);
    assert_eq!(controls[0].level("variant"), Some("x"));
}

#[test]
fn one_block_has_no_control() {
    assert_eq!(controls(&experiment(ONE_CLIENT, "blocks = 1"), 7), []);
}

#[test]
fn the_control_can_be_switched_off() {
    let off = experiment(ONE_CLIENT, "blocks = 3\ncontrol = false");
    assert_eq!(controls(&off, 7), []);
}

#[test]
fn a_search_has_no_control() {
    let search = "[load.open]\nfind = { max_rate = [100, 20000], where = 'p99 <= 10ms' }";
    assert_eq!(controls(&experiment(search, "blocks = 2"), 7), []);
}

#[test]
fn the_control_of_a_series_is_the_point_that_starts_the_server() {
    let experiment = experiment(
        "[load.closed]\nclients = [8, 1, 64]",
        "blocks = 2\nseries = true",
    );
    let trials = expand(&experiment, 7).unwrap();
    for trial in trials.iter().filter(|trial| trial.key.is_control()) {
        assert_eq!(trial.key.level("clients"), Some("1"));
        assert!(!trial.continues);
    }
    // A control between two trials never lends its server: each series starts its own.
    let starts = trials.iter().filter(|trial| !trial.continues);
    assert_eq!(starts.count(), 2 * (4 + 1));
}

#[test]
fn the_control_of_a_share_of_the_maximum_waits_for_the_maximum_of_its_block() {
    let experiment = experiment(
        "[load.open]\nrate = ['50% of max']\nworkers = 4",
        "blocks = 3",
    );
    for seed in 0..20 {
        let plan = Plan::new(&experiment, seed).unwrap();
        let mut finished: Vec<Finished> = Vec::new();
        while let Some(trial) = plan.next(&finished) {
            if trial.key.is_control() {
                let PlannedTrial { load, .. } = &trial;
                assert!(
                    matches!(load, crate::PlannedLoad::Open { rate, .. } if *rate == 500.0),
                    "{load:?}"
                );
            }
            finished.push(Finished {
                throughput: Some(1000.0),
                ..Finished::without_figures(trial.key, true)
            });
        }
        assert_eq!(finished.len(), plan.len());
        let controls = finished.iter().filter(|one| one.key.is_control());
        assert_eq!(controls.count(), 3);
    }
}

#[test]
fn a_part_has_the_control_of_each_block_that_has_its_twin() {
    let experiment = experiment(ONE_CLIENT, "blocks = 5");
    for part in ["1/2", "2/2"] {
        let plan = Plan::of_part(&experiment, 3, Some(part.parse().unwrap())).unwrap();
        let keys: Vec<TrialKey> = plan.trials().map(|trial| trial.key).collect();
        for block in 0..5 {
            let of_role = |role: Role| {
                let is = |key: &&TrialKey| {
                    key.block == block
                        && key.role == role
                        && key.level("variant") == Some("y")
                        && key.server_name() == "a"
                };
                keys.iter().filter(is).count()
            };
            assert_eq!(of_role(Role::Control), of_role(Role::Measured));
        }
    }
}

proptest! {
    #[test]
    fn the_control_does_not_change_the_order_of_the_other_trials(seed: u64, blocks in 2u32..5) {
        let with = experiment(ONE_CLIENT, &format!("blocks = {blocks}"));
        let without = experiment(ONE_CLIENT, &format!("blocks = {blocks}\ncontrol = false"));
        let measured = |experiment: &Experiment| -> Vec<TrialKey> {
            let keys = expand(experiment, seed).unwrap().into_iter().map(|trial| trial.key);
            keys.filter(|key| !key.is_control()).collect()
        };
        prop_assert_eq!(measured(&with), measured(&without));
    }

    #[test]
    fn a_resumed_run_repeats_no_control(seed: u64, done in proptest::collection::vec(any::<bool>(), 15)) {
        let experiment = experiment(ONE_CLIENT, "blocks = 3");
        let all = expand(&experiment, seed).unwrap();
        let known = all.iter().zip(&done).filter(|(_, done)| **done);
        let mut finished: Vec<Finished> = known.map(|(trial, _)| Finished::without_figures(trial.key.clone(), true)).collect();
        let plan = Plan::new(&experiment, seed).unwrap();
        while let Some(trial) = plan.next(&finished) {
            finished.push(Finished::without_figures(trial.key, true));
        }
        let keys: HashSet<TrialKey> = finished.iter().map(|one| one.key.clone()).collect();
        prop_assert_eq!((finished.len(), keys.len()), (15, 15));
    }
}
