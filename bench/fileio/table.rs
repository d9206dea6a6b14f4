//! The results as Markdown.

use crate::Settings;
use crate::contestant::{Contestant, Program, Turn};
use crate::median::median;
use std::fmt::Write as _;

pub(crate) fn markdown(settings: &Settings, turns: &[Turn]) -> String {
    let mut text = format!(
        "{} of {} on one file of {}, direct, {} s, medians of {} turns in alternation; ratios are prony's with the same engine to the program's\n\n",
        if settings.writes {
            "random writes"
        } else {
            "random reads"
        },
        settings.io_size,
        settings.size,
        settings.time_s,
        settings.turns
    );
    text += "| depth | program | ops/s | ratio | CPU (us per operation) | ratio | p50 (us) | ratio | p95 (us) | ratio | p99 (us) | ratio | memory (MB) | ratio |\n";
    text +=
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for &depth in &settings.depths {
        for one in Contestant::at(depth) {
            let _ = write!(text, "| {depth} | {} ", one.name());
            for (value, decimals) in VALUES {
                let of = |one| median_of(turns, depth, one, value);
                let peer = Contestant {
                    program: Program::Prony,
                    ..one
                };
                let (own, ratio) = (of(one), of(peer) / of(one));
                let _ = write!(text, "| {own:.decimals$} | {ratio:.3} ");
            }
            text += "|\n";
        }
        let (best, name) = best_of(turns, depth, Program::Fio);
        let (own, _) = best_of(turns, depth, Program::Prony);
        let _ = writeln!(
            text,
            "| {depth} | prony's best engine to fio's best ({name}) | {best:.0} | {:.3} | | | | | | | | | | |",
            own / best
        );
    }
    text
}

type Value = fn(&Turn) -> f64;

/// The values of a row and their decimals.
const VALUES: [(Value, usize); 6] = [
    (|turn| turn.figure.operations_per_s, 0),
    (|turn| turn.figure.cpu_us_per_operation, 2),
    (|turn| turn.latency.p50, 1),
    (|turn| turn.latency.p95, 1),
    (|turn| turn.latency.p99, 1),
    (|turn| turn.figure.memory_kb / 1e3, 1),
];

/// The highest rate of a program, and its engine.
fn best_of(turns: &[Turn], depth: u32, program: Program) -> (f64, &'static str) {
    let engines = Contestant::at(depth)
        .into_iter()
        .filter(|one| one.program == program);
    let rates = engines.map(|one| (median_of(turns, depth, one, VALUES[0].0), one.engine.name()));
    rates
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .expect("it takes part at each depth")
}

fn median_of(turns: &[Turn], depth: u32, one: Contestant, value: Value) -> f64 {
    let own = turns
        .iter()
        .filter(|turn| turn.figure.clients == depth && turn.contestant == one);
    median(own.map(value))
}
