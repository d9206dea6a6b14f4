//! Claims that borrow the noise of the whole matrix.

use crate::common;
use crate::common::judge;
use crate::known_answers::normal;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use record::*;

/// A row of the matrix: `s1`, `s2`, ..., with its true time.
fn name(row: usize) -> String {
    format!("s{row}")
}

/// Three blocks of as many rows with 5 % noise; row 1 takes `effect` times as long as the others.
fn matrix(rows: usize, effect: f64, seed: u64) -> Vec<Trial> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut trials = Vec::new();
    for block in 0..3 {
        for row in 0..rows {
            let mut trial = common::trial(block, TrialState::Done, 2, 0);
            trial.key.server = Some(name(row));
            let truth = if row == 1 { effect } else { 1.0 };
            for round in &mut trial.rounds {
                round.elapsed_s = truth * (0.05 * normal(&mut random)).exp();
            }
            trials.push(trial);
        }
    }
    trials
}

fn cell(row: usize) -> Cell {
    common::cold_of(&name(row))
}

fn claim(of: Cell, to: Cell, threshold: f64, published: Option<f64>) -> Claim {
    Claim {
        says: "slower".into(),
        subject: Subject::Ratio {
            value: Value::Elapsed,
            of,
            to,
            bound: Bound::AtLeast(threshold),
        },
        published,
    }
}

fn judged(trials: &[Trial], claims: Vec<Claim>) -> Vec<Judged> {
    let question = Question {
        claims,
        ..common::run().question
    };
    judge(&question, trials)
}

fn one(trials: &[Trial], threshold: f64, published: Option<f64>) -> Judged {
    judged(trials, vec![claim(cell(1), cell(0), threshold, published)]).remove(0)
}

const EXPERIMENTS: u64 = 1000;

/// The share of the matrices in which the claim of a difference has this property.
fn share(rows: usize, effect: f64, holds: impl Fn(&Judged) -> bool) -> f64 {
    let found =
        (0..EXPERIMENTS).filter(|seed| holds(&one(&matrix(rows, effect, *seed), 1.05, None)));
    found.count() as f64 / EXPERIMENTS as f64
}

#[test]
fn three_blocks_decide_in_a_matrix_of_eight_cells_and_not_in_a_pair() {
    let decided = |judged: &Judged| judged.direction == Some(Direction::Above);
    assert!(share(12, 1.2, decided) > 0.9);
    assert!(share(7, 1.2, decided) < 0.75);
}

#[test]
fn equal_cells_of_a_matrix_are_seldom_called_different() {
    let decided = |judged: &Judged| judged.direction != Some(Direction::Undecided);
    let called = share(12, 1.0, decided);
    assert!(called < 0.055, "{called}");
}

#[test]
fn a_pass_far_from_the_published_figure_says_both() {
    let judged = one(&matrix(12, 3.0, 1), 1.5, Some(9.0));
    assert_eq!(judged.verdict, Verdict::Reproduced);
    assert_eq!(judged.direction, Some(Direction::Above));
    assert_eq!(judged.published_inside, Some(false));
    assert_eq!(
        one(&matrix(12, 3.0, 1), 1.5, Some(3.0)).published_inside,
        Some(true)
    );
    assert_eq!(one(&matrix(12, 3.0, 1), 1.5, None).published_inside, None);
}

#[test]
fn only_what_was_published_is_called_reproduced() {
    let words = |threshold, published| one(&matrix(12, 3.0, 1), threshold, published).words();
    assert_eq!(words(1.5, Some(9.0)), "reproduced");
    assert_eq!(words(1.5, None), "holds");
    assert_eq!(words(6.0, Some(9.0)), "not reproduced");
    assert_eq!(words(6.0, None), "does not hold");
}

#[test]
fn an_undecided_claim_says_how_many_blocks_would_decide() {
    let judged = one(&matrix(12, 1.04, 3), 1.5, None);
    assert_eq!(judged.direction, Some(Direction::Undecided));
    let blocks = judged.blocks_to_decide.expect("a number of blocks");
    assert!((4..=200).contains(&blocks), "{blocks}");
    let reason = judged.reason.unwrap();
    assert_eq!(
        reason,
        format!("undecided: the direction needs about {blocks} blocks")
    );
}

/// The detection limit that pilots of equal cells predict for a question of so many claims: the root mean square of its logarithm,
/// because a single pilot of three blocks knows its noise badly.
fn predicted(rows: usize, claims: usize) -> f64 {
    let question = Question {
        claims: vec![claim(cell(1), cell(0), 1.05, None); claims],
        ..common::run().question
    };
    let limit = |seed: u64| {
        let pilot = matrix(rows, 1.0, 10_000 + seed);
        let power = stats::power(&question, &pilot, 3).unwrap();
        power.effect.ln().powi(2)
    };
    let pilots = 200;
    ((0..pilots).map(limit).sum::<f64>() / pilots as f64)
        .sqrt()
        .exp()
}

#[test]
fn the_predicted_effect_is_seen_in_80_percent_of_runs() {
    let above = |judged: &Judged| judged.direction == Some(Direction::Above);
    for rows in [2, 12] {
        let effect = predicted(rows, 1);
        let seen = share(rows, effect, above);
        assert!(
            (0.75..0.87).contains(&seen),
            "{rows} rows: {effect} is seen in {seen}"
        );
    }
}

#[test]
fn more_claims_and_fewer_blocks_see_less() {
    assert!(predicted(12, 7) > predicted(12, 1));
    let question = Question {
        claims: vec![claim(cell(1), cell(0), 1.05, None)],
        ..common::run().question
    };
    let pilot = matrix(12, 1.0, 1);
    let effect = |blocks: u32| {
        let power = stats::power(&question, &pilot, blocks);
        power.map(|power| power.effect)
    };
    assert!(effect(3) > effect(5) && effect(5) > effect(9));
    assert!(effect(2) > effect(3));
}

#[test]
fn counters_that_hardly_vary_do_not_make_small_effects_on_times_visible() {
    let mut pilot = matrix(12, 1.0, 1);
    for (trial, more) in pilot.iter_mut().zip([0, 3, 1, 4, 2].into_iter().cycle()) {
        for round in &mut trial.rounds {
            round.counters.insert("Pages".into(), 100_000 + more);
        }
    }
    let on = |value: Value| {
        let mut claim = claim(cell(1), cell(0), 1.05, None);
        if let Subject::Ratio { value: old, .. } = &mut claim.subject {
            *old = value;
        }
        claim
    };
    let power = |values: [Value; 3]| {
        let question = Question {
            claims: values.map(on).to_vec(),
            ..common::run().question
        };
        stats::power(&question, &pilot, 3).unwrap()
    };
    let pages = || Value::Counter("Pages".into());
    let mixed = power([pages(), pages(), Value::Elapsed]);
    let of_times = power([Value::Elapsed, Value::Elapsed, Value::Elapsed]);
    assert_eq!((mixed.comparisons, mixed.effect), (1, of_times.effect));
    let of_counters = power([pages(), pages(), pages()]);
    assert_eq!(of_counters.comparisons, 3);
    assert!(of_counters.effect < 1.002 && mixed.effect > 1.01);
}

#[test]
fn a_look_with_a_share_of_the_error_rate_sees_less() {
    let pilot = matrix(12, 1.0, 1);
    let effect = |looks: Looks| {
        let question = Question {
            looks: Some(looks),
            claims: vec![claim(cell(1), cell(0), 1.05, None)],
            ..common::run().question
        };
        stats::power(&question, &pilot, 9).unwrap().effect
    };
    assert!(effect(Looks::until_decided(3, 9, None)) > effect(Looks::fixed(9)));
}

#[test]
fn without_claims_every_row_is_compared_with_the_first() {
    let question = common::run().question;
    let power = stats::power(&question, &matrix(4, 1.0, 1), 3).unwrap();
    assert_eq!(power.comparisons, 3);
    assert!(power.from <= power.effect && power.effect <= power.to);
}

#[test]
fn servers_that_are_tested_together_see_less_than_one_alone() {
    let pilot = matrix(4, 1.0, 1);
    let effect = |servers: usize| {
        let question = Question {
            servers: (0..servers).map(name).collect(),
            ..common::run().question
        };
        stats::power(&question, &pilot, 3).unwrap().effect
    };
    assert!(effect(2) > 0.0 && effect(4) > effect(2));
}

#[test]
fn one_measured_block_predicts_nothing() {
    let mut pilot = matrix(12, 1.0, 1);
    pilot.retain(|trial| trial.key.block == 0);
    let question = common::run().question;
    assert_eq!(stats::power(&question, &pilot, 3), None);
}

#[test]
fn a_decided_claim_needs_no_blocks() {
    assert_eq!(one(&matrix(12, 3.0, 1), 1.5, None).blocks_to_decide, None);
}

#[test]
fn rounds_do_not_lend_to_each_other() {
    let trials = matrix(12, 1.2, 1);
    let mut hot = cell(0);
    hot.round = Some(RoundSelector {
        name: "hot".into(),
        index: Some(1),
    });
    let of_one_round = one(&trials, 1.05, None).ci.unwrap();
    let of_two = judged(&trials, vec![claim(cell(1), hot, 1.05, None)])
        .remove(0)
        .ci
        .unwrap();
    // Plain t on three blocks: 4.30 standard errors on each side, and 2.1 with borrowed freedom.
    assert!((of_two.1 / of_two.0).ln() > 1.2 * (of_one_round.1 / of_one_round.0).ln());
}

/// Three blocks of 3 servers and 4 client counts on one server start each, which varies by 20 %; a trial varies by 1 %.
fn series(starts_for_each: bool) -> Vec<Trial> {
    let mut random = Pcg64::seed_from_u64(7);
    let mut trials = Vec::new();
    for block in 0..3 {
        for server in 0..3 {
            let start = 0.2 * normal(&mut random);
            for (place, clients) in ["1", "2", "4", "8"].into_iter().enumerate() {
                let mut trial = common::timed(block);
                let rate = 500.0 * (start + 0.01 * normal(&mut random)).exp();
                let throughput = vec![Some(rate); 60];
                let load = trial.load.as_mut().unwrap();
                load.series.insert("throughput".into(), throughput);
                trial.key.server = Some(name(server));
                trial.key.levels = vec![("clients".into(), clients.into())];
                if place > 0 && !starts_for_each {
                    trial.start_s = vec![];
                }
                trials.push(trial);
            }
        }
    }
    trials
}

/// The width of the interval of one client against another row, as a ratio.
fn width(trials: &[Trial], server: usize, clients: &str) -> f64 {
    let cell = |server: usize, clients: &str| Cell {
        levels: vec![
            ("server".into(), vec![name(server)]),
            ("clients".into(), vec![clients.into()]),
        ],
        round: None,
        query: None,
        without: Vec::new(),
    };
    let mut claim = claim(cell(server, clients), cell(0, "1"), 1.5, None);
    if let Subject::Ratio { value, .. } = &mut claim.subject {
        *value = Value::Throughput;
    }
    let (low, high) = judged(trials, vec![claim]).remove(0).ci.unwrap();
    high / low
}

#[test]
fn in_a_series_a_pair_of_one_start_is_exact_and_a_pair_of_two_starts_is_not() {
    let trials = series(false);
    assert!(width(&trials, 0, "8") < 1.1);
    assert!(width(&trials, 1, "8") > 1.3);
}
