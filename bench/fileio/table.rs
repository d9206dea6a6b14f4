//! The results as Markdown.

use crate::Settings;
use crate::contestant::{Contestant, Program, Turn};
use crate::median::median;
use std::fmt::Write as _;

pub(crate) fn markdown(settings: &Settings, turns: &[Turn]) -> String {
    let mut text = format!(
        "{} of {} on one file of {}, direct, {} s, medians of {} turns in alternation. Ratios are prony's with the same engine to the program's, turn by turn: the median, and for ops/s also the smallest and the largest\n\n",
        settings.pattern.name, settings.io_size, settings.size, settings.time_s, settings.turns
    );
    text += "| depth | program | ops/s | ratio | CPU (us per operation) | ratio | p50 (us) | ratio | p95 (us) | ratio | p99 (us) | ratio | memory (MB) | ratio |\n";
    text +=
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for &depth in &settings.depths {
        for one in Contestant::at(settings, depth) {
            let peer = Contestant {
                program: Program::Prony,
                ..one
            };
            let _ = write!(text, "| {depth} | {} ", one.name());
            for (place, (value, decimals)) in VALUES.into_iter().enumerate() {
                let own = median(of_turns(turns, depth, one, value).into_iter());
                let ratios = ratios(turns, depth, peer, one, value);
                let ratio = if place == 0 {
                    with_range(&ratios)
                } else {
                    or_dash(median(ratios.into_iter()), 3)
                };
                let _ = write!(text, "| {} | {ratio} ", or_dash(own, decimals));
            }
            text += "|\n";
        }
        let (own, best) = (
            best_of(settings, turns, depth, Program::Prony),
            best_of(settings, turns, depth, Program::Fio),
        );
        let ratios = ratios(turns, depth, own, best, OPERATIONS);
        let _ = writeln!(
            text,
            "| {depth} | prony's best engine ({}) to fio's best ({}) | | {} | | | | | | | | | | |",
            own.engine.name(),
            best.engine.name(),
            with_range(&ratios)
        );
    }
    text
}

type Value = fn(&Turn) -> f64;

const OPERATIONS: Value = |turn| turn.figure.operations_per_s;

/// The values of a row and their decimals.
const VALUES: [(Value, usize); 6] = [
    (OPERATIONS, 0),
    (|turn| turn.figure.cpu_us_per_operation, 2),
    (|turn| turn.latency[0], 1),
    (|turn| turn.latency[1], 1),
    (|turn| turn.latency[2], 1),
    (|turn| turn.figure.memory_kb / 1e3, 1),
];

/// The engine of a program with the highest rate.
fn best_of(settings: &Settings, turns: &[Turn], depth: u32, program: Program) -> Contestant {
    let rate = |one: &Contestant| median(of_turns(turns, depth, *one, OPERATIONS).into_iter());
    Contestant::at(settings, depth)
        .into_iter()
        .filter(|one| one.program == program)
        .max_by(|left, right| rate(left).total_cmp(&rate(right)))
        .expect("it takes part at each depth")
}

/// The ratio of two contestants in each turn. A slow minute of the disk slows both sides of a turn.
fn ratios(turns: &[Turn], depth: u32, of: Contestant, to: Contestant, value: Value) -> Vec<f64> {
    let of = of_turns(turns, depth, of, value);
    let to = of_turns(turns, depth, to, value);
    of.into_iter().zip(to).map(|(of, to)| of / to).collect()
}

/// A dash where a program does not measure the value.
fn or_dash(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return "-".into();
    }
    format!("{value:.decimals$}")
}

/// `0.952 (0.910 to 1.020)`
fn with_range(ratios: &[f64]) -> String {
    let smallest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    let middle = median(ratios.iter().copied());
    format!("{middle:.3} ({smallest:.3} to {largest:.3})")
}

/// One value for each turn, in order.
fn of_turns(turns: &[Turn], depth: u32, one: Contestant, value: Value) -> Vec<f64> {
    let is_own = |turn: &&Turn| turn.figure.clients == depth && turn.contestant == one;
    turns.iter().filter(is_own).map(value).collect()
}
