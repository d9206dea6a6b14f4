//! Blocks that go on until the claims are decided.

use super::parse;
use crate::Experiment;
use crate::plan::{Finished, Plan, PlanError, PlannedTrial};
use proptest::prelude::*;
use record::{Ended, TrialKey};
use std::collections::BTreeMap;

/// Six cells; the claims compare a with b, and c with d.
fn experiment(blocks: &str, more: &str) -> Experiment {
    let claim = |of: &str, to: &str| {
        format!(
            "[[claim]]\nsays = 's'\nvalue = 'elapsed'\nof = {{ variant = '{of}' }}\nto = {{ variant = '{to}' }}\nat_least = 2\n"
        )
    };
    parse(&format!(
        "title = 't'\n[server.s]\nbuild = 'mariadb'\n[variant.a]\n[variant.b]\n[variant.c]\n[variant.d]\n[variant.e]\n[variant.f]\n\
         [workload.ssb]\n[protocol]\ncontrol = false\nblocks = {blocks}\n{more}\n{}{}",
        claim("a", "b"),
        claim("c", "d")
    ))
}

const THREE_TO_NINE: &str = "{ first = 3, most = 9 }";

fn finished(key: TrialKey) -> Finished {
    Finished {
        elapsed_s: 10.0,
        ..Finished::without_figures(key, true)
    }
}

/// Runs the plan from these trials on; `undecided` answers for both claims.
fn run_from(
    plan: &Plan,
    mut done: Vec<Finished>,
    undecided: &dyn Fn(u32) -> Vec<bool>,
) -> Vec<Finished> {
    while let Some(trial) = plan.next_after_looks(&done, undecided) {
        assert!(done.iter().all(|one| one.key != trial.key));
        done.push(finished(trial.key));
    }
    done
}

/// Blocks by variant.
fn blocks(run: &[Finished]) -> BTreeMap<&str, u32> {
    let mut blocks = BTreeMap::new();
    for one in run {
        *blocks.entry(one.key.level("variant").unwrap()).or_default() += 1;
    }
    blocks
}

#[test]
fn only_the_cells_of_undecided_claims_go_on() {
    let experiment = experiment(THREE_TO_NINE, "");
    let plan = Plan::new(&experiment, 7).unwrap();
    // The first claim is decided at once, the second at the look at five blocks.
    let undecided = |blocks: u32| vec![false, blocks < 5];
    let run = run_from(&plan, Vec::new(), &undecided);
    let expected = [("a", 3), ("b", 3), ("c", 5), ("d", 5), ("e", 3), ("f", 3)];
    assert_eq!(blocks(&run), BTreeMap::from(expected));
    assert_eq!(plan.ended(&run, &undecided), Ended::Decided);
}

#[test]
fn what_is_left_until_a_look_are_the_unfinished_trials_of_the_cells_that_go_on() {
    let experiment = experiment(THREE_TO_NINE, "");
    let plan = Plan::new(&experiment, 7).unwrap();
    let undecided = |blocks: u32| vec![false, blocks < 5];
    let run = run_from(&plan, Vec::new(), &undecided);
    let left = |block: u32, done: usize| -> Vec<TrialKey> {
        plan.until_look(block, &run[..done], &undecided)
    };
    let keys =
        |run: &[Finished]| -> Vec<TrialKey> { run.iter().map(|one| one.key.clone()).collect() };
    assert_eq!(left(0, 0), keys(&run[..18]));
    assert_eq!(left(2, 17), keys(&run[17..18]));
    // The first trial of the fourth block, for the look at five blocks.
    assert_eq!(left(3, 18), keys(&run[18..]));
    assert_eq!((run.len(), left(4, 22)), (22, Vec::new()));
}

#[test]
fn a_claim_that_is_never_decided_ends_at_most_blocks() {
    let experiment = experiment(THREE_TO_NINE, "");
    let plan = Plan::new(&experiment, 7).unwrap();
    let undecided = |_: u32| vec![true, false];
    let run = run_from(&plan, Vec::new(), &undecided);
    assert_eq!((blocks(&run)["a"], blocks(&run)["c"]), (9, 3));
    assert_eq!(plan.ended(&run, &undecided), Ended::Most);
}

#[test]
fn a_claim_that_was_decided_does_not_go_on_again() {
    let experiment = experiment(THREE_TO_NINE, "");
    let plan = Plan::new(&experiment, 7).unwrap();
    let run = run_from(&plan, Vec::new(), &|blocks| vec![blocks != 3, true]);
    assert_eq!((blocks(&run)["a"], blocks(&run)["c"]), (3, 9));
}

#[test]
fn no_block_starts_that_would_exceed_the_time_limit() {
    // 18 trials of 10 s, then blocks of 40 s: the second one would end after 260 s.
    let experiment = experiment("{ first = 3, most = 9, within = '250s' }", "");
    let plan = Plan::new(&experiment, 7).unwrap();
    let undecided = |_: u32| vec![true, true];
    let run = run_from(&plan, Vec::new(), &undecided);
    assert_eq!((run.len(), blocks(&run)["a"]), (18 + 4, 4));
    assert_eq!(plan.ended(&run, &undecided), Ended::Within);
}

#[test]
fn the_first_blocks_are_measured_whatever_the_time_limit() {
    let experiment = experiment("{ first = 3, most = 9, within = '1s' }", "");
    let plan = Plan::new(&experiment, 7).unwrap();
    assert_eq!(run_from(&plan, Vec::new(), &|_| vec![true, true]).len(), 18);
}

#[test]
fn a_series_goes_on_as_a_whole() {
    let experiment = parse(
        "title = 't'\n[server.s]\nbuild = 'mariadb'\n[variant.a]\n[variant.b]\n[workload.oltp]\n[load.closed]\nclients = [1, 8]\n\
         [protocol]\ntime = '60s'\nseries = true\ncontrol = false\nblocks = { first = 2, most = 3 }\n\
         [[claim]]\nsays = 's'\nvalue = 'throughput'\nof = { variant = 'a', clients = 8 }\nto = { variant = 'a', clients = 1 }\nat_least = 2\n\
         [[claim]]\nsays = 's'\nvalue = 'throughput'\nof = { variant = 'b', clients = 8 }\nto = { variant = 'a', clients = 8 }\nat_least = 2\n",
    );
    let plan = Plan::new(&experiment, 7).unwrap();
    let run = run_from(&plan, Vec::new(), &|_| vec![true, false]);
    assert_eq!(blocks(&run), BTreeMap::from([("a", 6), ("b", 4)]));
}

#[test]
fn a_further_look_adds_blocks_for_all_cells_or_for_those_of_undecided_claims() {
    let three = experiment("3", "");
    let extended = |only_undecided| {
        let mut experiment = three.clone();
        let looks = record::Looks::fixed(3).with_added(3, 4, only_undecided);
        experiment.protocol.set_looks(looks);
        let plan = Plan::new(&experiment, 7).unwrap();
        let before = run_from(&Plan::new(&three, 7).unwrap(), Vec::new(), &|_| Vec::new());
        run_from(&plan, before, &|_| vec![true, false]).len()
    };
    assert_eq!((extended(false), extended(true)), (24, 20));
}

#[test]
fn a_part_is_refused_because_it_cannot_judge() {
    let experiment = experiment(THREE_TO_NINE, "");
    let part = "1/2".parse().unwrap();
    let error = Plan::of_part(&experiment, 7, Some(part)).unwrap_err();
    assert_eq!(error, PlanError::PartUndecided);
}

proptest! {
    /// Whatever the looks decide, a run that is killed anywhere and resumed measures the same trials in the same order.
    #[test]
    fn every_finished_prefix_goes_on_in_the_same_way(
        seed: u64,
        decided_at in proptest::array::uniform2(proptest::sample::select(vec![3u32, 5, 9, 99])),
        killed in 0usize..60,
        within_s in proptest::option::of(100u32..600),
    ) {
        let within = within_s.map_or(String::new(), |s| format!(", within = '{s}s'"));
        let experiment = experiment(&format!("{{ first = 3, most = 9{within} }}"), "");
        let plan = Plan::new(&experiment, seed).unwrap();
        let undecided = |blocks: u32| decided_at.iter().map(|at| blocks < *at).collect();
        let whole = run_from(&plan, Vec::new(), &undecided);
        prop_assert!(whole.len() <= plan.len());
        let prefix = whole[..killed.min(whole.len())].to_vec();
        let resumed = run_from(&plan, prefix, &undecided);
        prop_assert_eq!(&resumed, &whole);
        let order: Vec<TrialKey> = plan.trials().map(|trial: PlannedTrial| trial.key).collect();
        let places = whole.iter().map(|one| order.iter().position(|key| *key == one.key).unwrap());
        let places: Vec<usize> = places.collect();
        prop_assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
    }

    /// Any set of finished trials is completed without a repetition, and every cell has the first blocks.
    #[test]
    fn any_finished_trials_are_completed(seed: u64, done in proptest::collection::vec(any::<bool>(), 54), open in any::<[bool; 2]>()) {
        let experiment = experiment(THREE_TO_NINE, "");
        let plan = Plan::new(&experiment, seed).unwrap();
        let kept = plan.trials().zip(&done).filter(|(_, done)| **done);
        let kept = kept.map(|(trial, _)| finished(trial.key)).collect();
        let undecided = |_: u32| open.to_vec();
        let run = run_from(&plan, kept, &undecided);
        let blocks = blocks(&run);
        for (variant, claim) in [("a", 0), ("b", 0), ("c", 1), ("d", 1)] {
            let least = if open[claim] { 9 } else { 3 };
            prop_assert!(blocks[variant] >= least);
        }
        prop_assert!(blocks["e"] >= 3 && blocks["f"] >= 3);
    }
}
