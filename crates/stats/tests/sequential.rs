//! Claims that are judged after several numbers of blocks.

use crate::common;
use crate::known_answers::normal;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use record::*;
use stats::undecided;

/// Cells of the matrix; claims compare the first ones, in pairs.
const CELLS: usize = 42;
const CLAIMS: usize = 7;

fn trial(cell: usize, block: u32, seconds: f64) -> Trial {
    let mut trial = common::trial(block, TrialState::Done, 1, 0);
    trial.key.server = Some(format!("s{cell}"));
    trial.rounds.truncate(1);
    trial.rounds[0].elapsed_s = seconds;
    trial
}

fn cell(cell: usize) -> Cell {
    common::cold_of(&format!("s{cell}"))
}

/// Cell 2n + 1 takes longer than cell 2n.
fn claim(pair: usize) -> Claim {
    Claim {
        says: "slower".into(),
        subject: Subject::Ratio {
            value: Value::Elapsed,
            of: cell(2 * pair + 1),
            to: cell(2 * pair),
            bound: Bound::AtLeast(1.0),
        },
        published: None,
    }
}

fn question(looks: Looks, claims: Vec<Claim>) -> Question {
    Question {
        blocks: looks.most(),
        looks: Some(looks),
        claims,
        ..common::run().question
    }
}

fn open(question: &Question, trials: &[Trial], blocks: u32) -> Vec<bool> {
    undecided(question, trials, &|_, _, _, _| None, blocks)
}

/// Runs an experiment as the planner does; the second cell of each pair takes `effect` times as long.
fn conducted(question: &Question, noise: f64, effect: f64, seed: u64) -> Vec<Trial> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut trials = Vec::new();
    let mut goes_on = [true; CELLS];
    for look in question.looks().all() {
        let from = trials.iter().map(|trial: &Trial| trial.key.block + 1).max();
        for block in from.unwrap_or(0)..look.blocks {
            for (place, _) in goes_on.iter().enumerate().filter(|(_, goes_on)| **goes_on) {
                let truth = if place % 2 == 1 { effect } else { 1.0 };
                let seconds = truth * (noise * normal(&mut random)).exp();
                trials.push(trial(place, block, seconds));
            }
        }
        let open = open(question, &trials, look.blocks);
        for (place, goes_on) in goes_on.iter_mut().enumerate() {
            *goes_on &= open.get(place / 2).is_some_and(|open| *open);
        }
    }
    trials
}

fn seven() -> Vec<Claim> {
    (0..CLAIMS).map(claim).collect()
}

fn is_decided(judged: &Judged) -> bool {
    judged.direction != Some(Direction::Undecided)
}

const EXPERIMENTS: u64 = 200;

#[test]
fn several_looks_keep_the_error_rate_of_all_claims_together() {
    let question = question(Looks::until_decided(3, 9, None), seven());
    let is_wrong = |seed: &u64| {
        let trials = conducted(&question, 0.1, 1.0, *seed);
        common::judge(&question, &trials).iter().any(is_decided)
    };
    let wrong = (0..EXPERIMENTS).filter(is_wrong).count() as f64 / EXPERIMENTS as f64;
    // Three standard errors above 5 %.
    assert!(wrong < 0.096, "{wrong}");
}

#[test]
fn several_looks_find_more_than_as_many_blocks_for_all_cells() {
    let found = |looks: Looks| {
        let question = question(looks, seven());
        let (mut decided, mut trials) = (0, 0);
        for seed in 0..EXPERIMENTS / 4 {
            let conducted = conducted(&question, 0.1, 1.2, seed);
            decided += (common::judge(&question, &conducted).iter())
                .filter(|judged| is_decided(judged))
                .count();
            trials += conducted.len();
        }
        (
            decided as f64 / (CLAIMS as u64 * EXPERIMENTS / 4) as f64,
            trials,
        )
    };
    let (fixed, trials_fixed) = found(Looks::fixed(5));
    let (sequential, trials) = found(Looks::until_decided(3, 9, None));
    assert!(sequential > fixed + 0.1, "{sequential} against {fixed}");
    assert!(trials < trials_fixed, "{trials} against {trials_fixed}");
}

#[test]
fn a_claim_names_the_look_that_decided_it_and_its_cells_stop_there() {
    let question = question(Looks::until_decided(3, 9, None), vec![claim(0), claim(1)]);
    let mut trials = Vec::new();
    for block in 0..3 {
        for place in 0..4 {
            // Pair 0 differs by a factor of two, pair 1 changes sides in every block.
            let sign = if block % 2 == 0 { 1.0 } else { -1.0 };
            let seconds = match place {
                1 => 2.0,
                3 => (0.2f64 * sign).exp(),
                _ => 1.0,
            };
            trials.push(trial(
                place,
                block,
                seconds * (1.0 + 0.01 * ((place as u32 + block) % 3) as f64),
            ));
        }
    }
    assert_eq!(open(&question, &trials, 3), [false, true]);
    for block in 3..5 {
        trials.push(trial(2, block, 1.0));
        trials.push(trial(3, block, 1.5));
    }
    let judged = common::judge(&question, &trials);
    let after = DecidedAfter {
        threshold: Some(3),
        direction: Some(3),
    };
    assert_eq!(judged[0].decided_after, Some(after));
    assert_eq!(judged[0].reason.as_deref(), Some("decided after 3 blocks"));
    assert_eq!(judged[1].decided_after, Some(DecidedAfter::default()));
}

#[test]
fn a_claim_judged_once_names_no_look() {
    let trials: Vec<Trial> = (0..3)
        .flat_map(|block| [trial(0, block, 1.0), trial(1, block, 2.0)])
        .collect();
    let question = question(Looks::fixed(3), vec![claim(0)]);
    assert_eq!(common::judge(&question, &trials)[0].decided_after, None);
}

#[test]
fn the_interval_of_one_of_several_looks_is_wider() {
    let noise = |block: u32, cell: usize| 1.0 + 0.02 * f64::from((block + cell as u32) % 3);
    let trials: Vec<Trial> = (0..3)
        .flat_map(|block| (0..2).map(move |cell| trial(cell, block, noise(block, 2 * cell))))
        .collect();
    let width = |looks: Looks| {
        let (low, high) = common::judge(&question(looks, vec![claim(0)]), &trials)[0]
            .ci
            .unwrap();
        high / low
    };
    assert!(width(Looks::until_decided(3, 9, None)) > width(Looks::fixed(3)));
}

#[test]
fn a_shape_keeps_no_cell_going() {
    let shape = Claim {
        says: "the plan changed".into(),
        subject: Subject::Finds {
            finding: Finding::PlanChanged,
            of: cell(0),
        },
        published: None,
    };
    let question = question(Looks::until_decided(3, 9, None), vec![shape, claim(0)]);
    let trials: Vec<Trial> = (0..3)
        .flat_map(|block| {
            [
                trial(0, block, 1.0 + f64::from(block)),
                trial(1, block, 2.0),
            ]
        })
        .collect();
    assert_eq!(open(&question, &trials, 3), [false, true]);
}

#[test]
fn an_open_direction_keeps_no_cell_going_once_the_threshold_is_decided() {
    let far = Claim {
        subject: Subject::Ratio {
            value: Value::Elapsed,
            of: cell(1),
            to: cell(0),
            bound: Bound::AtLeast(1.31),
        },
        ..claim(0)
    };
    let question = question(Looks::until_decided(3, 9, None), vec![far]);
    let mut trials = Vec::new();
    for (block, log) in (0..3).zip([0.01f64, 0.04, 0.07]) {
        trials.extend([trial(0, block, 1.0), trial(1, block, log.exp())]);
    }
    let judged = common::judge(&question, &trials).remove(0);
    assert_eq!(judged.verdict, Verdict::NotReproduced);
    assert_eq!(judged.direction, Some(Direction::Undecided));
    assert!(judged.blocks_to_decide.is_some(), "of the direction");
    assert_eq!(open(&question, &trials, 3), [false]);
}

#[test]
fn a_claim_without_figures_keeps_no_cell_going() {
    let question = question(Looks::until_decided(3, 9, None), vec![claim(0)]);
    let mut trials: Vec<Trial> = (0..3)
        .flat_map(|block| [trial(0, block, 1.0), trial(1, block, 2.0)])
        .collect();
    trials
        .iter_mut()
        .for_each(|trial| trial.state = TrialState::Invalid);
    assert_eq!(open(&question, &trials, 3), [false]);
}

#[test]
fn later_blocks_do_not_change_what_an_earlier_look_decided() {
    let question = question(Looks::until_decided(3, 9, None), seven());
    for seed in 0..20 {
        let trials = conducted(&question, 0.1, 1.15, seed);
        let first: Vec<Trial> = trials
            .iter()
            .filter(|trial| trial.key.block < 3)
            .cloned()
            .collect();
        assert_eq!(open(&question, &trials, 3), open(&question, &first, 3));
    }
}
