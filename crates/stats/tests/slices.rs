//! Two equal servers that take turns in slices, simulated: how often they are called different, and how much their ratio varies beside
//! that of trials in turn.
//!
//! The machine's speed is a random walk with bursts of steal. A slice slows the beginning of the next one down: its dirty pages are
//! still being written. A start of a server differs from the next.
//!
//! Tier: default; more experiments in `long`.

use crate::common;
use crate::common::judge;
use crate::known_answers::normal;
use crate::tier::{Tier, tier};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use record::*;
use stats::{Budget, SliceNoise};

/// Seconds that each side is measured per block, where nothing else is said.
const TIME_S: f64 = 20.0;
/// The middle length of a slice; each is between half of it and one and a half.
const SLICE_S: f64 = 1.0;
const STEP_S: f64 = 0.05;
/// Of the logarithm of the speed, after one second.
const WALK: f64 = 0.01;
/// Bursts per second, their mean length in seconds, and what they leave of the speed.
const BURSTS: (f64, f64, f64) = (1.0 / 30.0, 2.0, 0.5);
/// Of the logarithm of the ratio of two starts.
const STARTS: f64 = 0.015;
/// How long a slice slows the next one down, and by how much.
const CARRY_OVER: (f64, f64) = (0.2, 0.2);
const BLOCKS: u32 = 5;

struct Machine {
    random: Pcg64,
    log_speed: f64,
    burst_s: f64,
    /// How long what the last slice left behind is still being written.
    carried_s: f64,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        Machine {
            random: Pcg64::seed_from_u64(seed),
            log_speed: 0.0,
            burst_s: 0.0,
            carried_s: 0.0,
        }
    }

    /// The work done in this time.
    fn run(&mut self, length_s: f64) -> f64 {
        let (mut left_s, mut work) = (length_s, 0.0);
        while left_s > 0.0 {
            let step_s = left_s.min(STEP_S);
            work += self.step(step_s) * step_s;
            left_s -= step_s;
        }
        self.carried_s = CARRY_OVER.0 * length_s.min(1.0);
        work
    }

    /// The speed during a step.
    fn step(&mut self, step_s: f64) -> f64 {
        self.log_speed += WALK * step_s.sqrt() * normal(&mut self.random);
        let (per_s, mean_s, left) = BURSTS;
        if self.burst_s <= 0.0 && self.random.random::<f64>() < per_s * step_s {
            self.burst_s = -mean_s * (1.0 - self.random.random::<f64>()).ln();
        }
        let stolen = if self.burst_s > 0.0 { left } else { 1.0 };
        let carried = if self.carried_s > 0.0 {
            1.0 - CARRY_OVER.1
        } else {
            1.0
        };
        self.burst_s -= step_s;
        self.carried_s -= step_s;
        self.log_speed.exp() * stolen * carried
    }
}

#[derive(Clone, Copy)]
enum Protocol {
    InTurn,
    Slices,
}

/// The logarithm of the ratio of two equal servers in one block: of the sums of their work.
fn block(machine: &mut Machine, protocol: Protocol, time_s: f64) -> f64 {
    let starts = STARTS * normal(&mut machine.random);
    let mut work = [0.0; 2];
    let mut measured_s = 0.0;
    let first = usize::from(machine.random.random::<bool>());
    match protocol {
        Protocol::InTurn => {
            for side in [first, 1 - first] {
                work[side] = machine.run(time_s);
            }
        }
        Protocol::Slices => {
            for lap in 0.. {
                let left_s: f64 = time_s - measured_s;
                if left_s <= 0.0 {
                    break;
                }
                let drawn_s = SLICE_S * (0.5 + machine.random.random::<f64>());
                let is_last = left_s < drawn_s + SLICE_S / 2.0;
                let length_s = if is_last { left_s } else { drawn_s };
                // AB, BA, AB, ...
                for turn in [0, 1] {
                    work[(first + lap + turn) % 2] += machine.run(length_s);
                }
                measured_s += length_s;
            }
        }
    }
    (work[0] / work[1]).ln() + starts
}

fn trial(server: &str, block: u32, log_time: f64) -> Trial {
    let mut trial = common::trial(block, TrialState::Done, 1, 0);
    trial.key.server = Some(server.to_string());
    trial.rounds.truncate(1);
    trial.rounds[0].elapsed_s = log_time.exp();
    trial
}

/// Whether servers with these logarithms of ratios, one per block, are called different.
fn is_called(ratios: &[f64]) -> bool {
    let trials = (0..).zip(ratios);
    let trials =
        trials.flat_map(|(block, ratio)| [trial("a", block, *ratio), trial("b", block, 0.0)]);
    let trials: Vec<Trial> = trials.collect();
    let claim = Claim {
        says: "slower".into(),
        subject: Subject::Ratio {
            value: Value::Elapsed,
            of: common::cold_of("a"),
            to: common::cold_of("b"),
            bound: Bound::AtLeast(1.05),
        },
        published: None,
    };
    let question = Question {
        blocks: ratios.len() as u32,
        claims: vec![claim],
        ..common::run().question
    };
    let judged = judge(&question, &trials).remove(0);
    judged.direction.expect("a direction") != Direction::Undecided
}

fn experiments() -> u64 {
    match tier() {
        Tier::Default | Tier::All => 3_000,
        Tier::Long => 40_000,
    }
}

#[test]
fn equal_servers_in_slices_are_called_different_in_at_most_5_5_percent() {
    let called = (0..experiments()).filter(|seed| {
        let mut machine = Machine::new(*seed);
        let ratios = (0..BLOCKS).map(|_| block(&mut machine, Protocol::Slices, TIME_S));
        is_called(&ratios.collect::<Vec<_>>())
    });
    let share = called.count() as f64 / experiments() as f64;
    println!("called different: {:.2} %", 100.0 * share);
    assert!(share <= 0.055, "{share}");
}

/// The standard deviation of the logarithm of a block's ratio.
fn sd(protocol: Protocol, time_s: f64, blocks: u64) -> f64 {
    let ratio = |seed| block(&mut Machine::new(seed), protocol, time_s);
    let ratios: Vec<f64> = (0..blocks).map(ratio).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let squares = ratios.iter().map(|ratio| (ratio - mean).powi(2));
    (squares.sum::<f64>() / (ratios.len() - 1) as f64).sqrt()
}

#[test]
fn the_ratio_of_a_block_varies_less_than_half_as_much_as_with_trials_in_turn() {
    let sd = |protocol| sd(protocol, TIME_S, 2_000);
    let (in_turn, slices) = (sd(Protocol::InTurn), sd(Protocol::Slices));
    println!("sd of the logarithm of the ratio: in turn {in_turn:.4}, slices {slices:.4}");
    assert!(slices < in_turn / 2.0, "{slices} {in_turn}");
    assert!(slices > STARTS, "starts still differ: {slices}");
}

/// What a budget is planned from: the parts of the variance at [`TIME_S`].
fn noise() -> SliceNoise {
    let of_block = sd(Protocol::Slices, TIME_S, 4_000).powi(2);
    SliceNoise {
        starts: STARTS * STARTS,
        second: (of_block - STARTS * STARTS) * TIME_S,
    }
}

#[test]
fn the_part_within_a_block_falls_with_its_time() {
    let predicted = noise().of_block(4.0 * TIME_S).sqrt();
    let measured = sd(Protocol::Slices, 4.0 * TIME_S, 2_000);
    println!("sd of the logarithm of the ratio: predicted {predicted:.4}, measured {measured:.4}");
    assert!((measured / predicted - 1.0).abs() < 0.1);
}

#[test]
fn a_budget_finds_the_effect_that_it_names_in_about_80_percent() {
    let budget = Budget {
        within_s: 600.0,
        trials: 2,
        start_s: 10.0,
        second_s: 1.0,
        time_s: 20.0,
        chooses_time: true,
        blocks: 3,
        chooses_blocks: true,
        claims: 1,
    };
    let spent = budget.spend(&noise()).unwrap();
    let decided = |effect: f64| {
        let called = (0..experiments() / 3).filter(|seed| {
            let mut machine = Machine::new(1_000_000 + *seed);
            let blocks = 0..spent.blocks;
            let ratios =
                blocks.map(|_| effect + block(&mut machine, Protocol::Slices, spent.time_s));
            is_called(&ratios.collect::<Vec<_>>())
        });
        called.count() as f64 / (experiments() / 3) as f64
    };
    let (found, false_calls) = (decided(spent.finds.ln()), decided(0.0));
    println!("{spent:?}: found {found:.3}, equal called different {false_calls:.3}");
    assert!((0.75..=0.86).contains(&found), "{found}");
    assert!(false_calls <= 0.06, "{false_calls}");
}
