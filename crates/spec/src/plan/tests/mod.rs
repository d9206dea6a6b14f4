//! The plan as a whole.

use super::*;
use crate::{RoundKind, Setting};
use proptest::prelude::*;
use std::collections::HashSet;

mod control;
mod groups;
mod load;
mod observe;
mod sequential;

impl Plan<'_> {
    /// The first unfinished trial, if no claim is ever decided.
    fn next(&self, finished: &[Finished]) -> Option<PlannedTrial> {
        let claims = self.experiment.claims.len();
        self.next_after_looks(finished, &|_| vec![true; claims])
    }

    fn next_after_looks(
        &self,
        finished: &[Finished],
        undecided: &Undecided,
    ) -> Option<PlannedTrial> {
        self.next_unit(finished, undecided).into_iter().next()
    }
}

/// Two servers and three variants, one of them only for 5.6: five points.
pub(super) fn experiment(blocks: u32) -> Experiment {
    parse(&format!(
        r#"
        title = "t"
        [server."5.5"]
        build = "mysql@5.5.34"
        settings = {{ innodb_buffer_pool_instances = 2, flush_time = 1 }}
        [server."5.6"]
        build = "mysql@5.6.14"
        [settings]
        innodb_file_per_table = 1
        flush_time = 0
        [variant.small]
        settings = {{ innodb_buffer_pool_size = "data / 8", flush_time = 2 }}
        on."5.6".settings = {{ innodb_buffer_pool_size = "64M" }}
        [variant."small, old"]
        only = {{ server = "5.6" }}
        settings = {{ innodb_buffer_pool_size = "data / 8" }}
        [variant.large]
        workload = {{ joins = "ansi" }}
        load = {{ clients = 4 }}
        protocol = {{ rounds = ["hot"] }}
        limits = {{ read_iops = 400 }}
        [workload.ssb]
        scale = 1
        [[event]]
        every = "10s"
        sql = "select 1"
        only = {{ variant = "large" }}
        [protocol]
        blocks = {blocks}
        control = false
        "#
    ))
}

pub(super) fn parse(source: &str) -> Experiment {
    let read = crate::tests::read_on_server(source);
    read.unwrap_or_else(|error| panic!("{}", error.text(None)))
}

fn planned(blocks: u32) -> Vec<PlannedTrial> {
    expand(&experiment(blocks), 7).unwrap()
}

fn find(trials: &[PlannedTrial], server: &str, variant: &str) -> PlannedTrial {
    trials
        .iter()
        .find(|trial| {
            trial.key.server_name() == server && trial.key.level("variant") == Some(variant)
        })
        .unwrap()
        .clone()
}

fn setting<'t>(trial: &'t PlannedTrial, name: &str) -> Option<&'t Setting> {
    trial
        .settings
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, setting)| setting)
}

fn literal(text: &str) -> Setting {
    Setting::Literal(text.to_string())
}

#[test]
fn a_level_appears_only_where_its_only_allows_it() {
    let trials = planned(1);
    assert_eq!(trials.len(), 5);
    assert!(trials.iter().all(|trial| trial.key.server_name() == "5.6"
        || trial.key.level("variant") != Some("small, old")));
}

#[test]
fn without_limits_a_trial_keeps_only_the_names_of_its_limits() {
    let trials = expand(&experiment(1).without_limits(), 7).unwrap();
    let (large, small) = (find(&trials, "5.5", "large"), find(&trials, "5.5", "small"));
    assert!(trials.iter().all(|trial| trial.limits.names().is_empty()));
    assert_eq!(large.lifted.names(), ["read_iops"]);
    assert!(small.lifted.names().is_empty());
}

#[test]
fn rounds_and_limits_of_a_level_are_those_of_its_trials_alone() {
    let trials = planned(1);
    let (large, small) = (find(&trials, "5.5", "large"), find(&trials, "5.5", "small"));
    assert_eq!(large.rounds, [RoundKind::Hot]);
    assert_eq!(large.limits.read_iops, Some(Some(400)));
    assert_eq!((small.rounds.len(), small.limits.read_iops), (3, None));
}

#[test]
fn a_level_wins_over_the_server_and_the_server_over_the_file() {
    let trials = planned(1);
    assert_eq!(
        setting(&find(&trials, "5.5", "small"), "flush_time"),
        Some(&literal("2"))
    );
    assert_eq!(
        setting(&find(&trials, "5.5", "large"), "flush_time"),
        Some(&literal("1"))
    );
    assert_eq!(
        setting(&find(&trials, "5.6", "large"), "flush_time"),
        Some(&literal("0"))
    );
}

#[test]
fn on_replaces_a_section_for_one_server() {
    let trials = planned(1);
    assert_eq!(
        setting(&find(&trials, "5.5", "small"), "innodb_buffer_pool_size"),
        Some(&Setting::OfData(0.125))
    );
    let replaced = find(&trials, "5.6", "small");
    assert_eq!(
        setting(&replaced, "innodb_buffer_pool_size"),
        Some(&literal("64M"))
    );
    assert_eq!(setting(&replaced, "flush_time"), Some(&literal("0")));
}

#[test]
fn workload_clients_and_events_follow_the_level() {
    let trials = planned(1);
    let (small, large) = (find(&trials, "5.5", "small"), find(&trials, "5.5", "large"));
    assert_eq!(
        (
            small.load.clients(),
            small.events.len(),
            small.workload.get("joins")
        ),
        (1, 0, None)
    );
    assert_eq!(
        (
            large.load.clients(),
            large.events.len(),
            large.workload["joins"].as_str()
        ),
        (4, 1, Some("ansi"))
    );
    assert_eq!(large.workload["scale"].as_integer(), Some(1));
}

#[test]
fn several_clients_are_a_factor() {
    let experiment = parse(
        "title = 't'\n[server.a]\nbuild = 'sqlite'\n[workload.ssb]\nscale = 1\n[load.closed]\nclients = [1, 8]\n",
    );
    let trials = expand(&experiment, 1).unwrap();
    let mut clients: Vec<_> = trials
        .iter()
        .map(|trial| {
            (
                trial.key.level("clients").unwrap().to_string(),
                trial.load.clients(),
            )
        })
        .collect();
    clients.sort();
    assert_eq!(clients, [("1".to_string(), 1), ("8".to_string(), 8)]);
}

#[test]
fn without_factors_there_is_one_point_per_server() {
    let experiment = parse(
        "title = 't'\n[server.a]\nbuild = 'sqlite'\n[server.b]\nbuild = 'mariadb'\n[workload.ssb]\nscale = 1\n",
    );
    assert_eq!(expand(&experiment, 1).unwrap().len(), 2);
}

#[test]
fn a_matrix_of_a_million_trials_is_refused_before_it_is_expanded() {
    let levels = |factor: &str| {
        (0..1000)
            .map(|n| format!("[factor.{factor}.{n}]\nsettings = {{ {factor} = {n} }}\n"))
            .collect::<String>()
    };
    let source = format!(
        "title = 't'\n[server.a]\nbuild = 'sqlite'\n[workload.ssb]\nscale = 1\n{}{}",
        levels("one"),
        levels("two")
    );
    insta::assert_snapshot!(expand(&parse(&source), 1).unwrap_err(), @r#"the matrix has 1000000 trials (1000 one x 1000 two), more than the maximum of 100000: reduce "two" first, in the file or with --only two=LEVEL"#);
}

#[test]
fn a_matrix_without_a_trial_is_refused() {
    let experiment = parse(
        "title = 't'\n[server.a]\nbuild = 'sqlite'\n[workload.ssb]\nscale = 1\n[variant.x]\nonly = { joins = 'p' }\n[factor.joins.p]\nonly = { variant = 'y' }\n[factor.joins.q]\nonly = { variant = 'x' }\n[variant.y]\nonly = { joins = 'q' }\n",
    );
    assert_eq!(expand(&experiment, 1).unwrap_err(), PlanError::Empty);
}

#[test]
fn next_alone_walks_the_whole_plan_in_its_order() {
    let experiment = experiment(20);
    let plan = Plan::new(&experiment, 3).unwrap();
    let mut finished = Vec::new();
    while let Some(trial) = plan.next(&finished) {
        finished.push(Finished::without_figures(trial.key, true));
    }
    let keys = finished.into_iter().map(|one| one.key);
    assert!(keys.eq(plan.trials().map(|trial| trial.key)));
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_order(seed: u64, blocks in 1u32..5) {
        let experiment = experiment(blocks);
        prop_assert_eq!(expand(&experiment, seed), expand(&experiment, seed));
    }

    #[test]
    fn every_block_has_every_point_once(seed: u64, blocks in 1u32..5) {
        let trials = expand(&experiment(blocks), seed).unwrap();
        let all: HashSet<_> = trials.iter().map(|trial| trial.key.clone()).collect();
        prop_assert_eq!(all.len(), trials.len());
        for (index, block) in trials.chunks(5).enumerate() {
            prop_assert!(block.iter().all(|trial| trial.key.block == index as u32));
        }
    }

    #[test]
    fn next_never_repeats_what_is_finished(seed: u64, done in proptest::collection::vec(any::<bool>(), 15)) {
        let experiment = experiment(3);
        let all = expand(&experiment, seed).unwrap();
        let mut finished: Vec<Finished> = all.iter().zip(&done).filter(|(_, done)| **done).map(|(trial, _)| Finished::without_figures(trial.key.clone(), true)).collect();
        let plan = Plan::new(&experiment, seed).unwrap();
        while let Some(trial) = plan.next(&finished) {
            prop_assert!(finished.iter().all(|one| one.key != trial.key));
            finished.push(Finished::without_figures(trial.key, true));
        }
        prop_assert_eq!(finished.len(), all.len());
    }

    #[test]
    fn parts_are_disjoint_and_together_the_whole(seed: u64, of in 1u32..8) {
        let experiment = experiment(3);
        let mut together = Vec::new();
        for part in 1..=of {
            let part = format!("{part}/{of}").parse().unwrap();
            together.extend(Plan::of_part(&experiment, seed, Some(part)).unwrap().trials().map(|trial| trial.key));
        }
        let mut whole: Vec<_> = expand(&experiment, seed).unwrap().into_iter().map(|trial| trial.key).collect();
        together.sort();
        whole.sort();
        prop_assert_eq!(together, whole);
    }
}
