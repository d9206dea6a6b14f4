//! The results as Markdown.

use crate::loading::Load;
use crate::measured::Figure;
use crate::median::median;
use crate::server::Running;
use crate::{Settings, Turn};
use stats::each_once;
use std::fmt::Write as _;

const PRONY: &str = "prony";

pub(crate) fn markdown(
    settings: &Settings,
    running: &Running,
    loads: &[Load],
    turns: &[Turn],
) -> String {
    let mut text = format!(
        "{}, {} warehouses, loopback, {} s, medians of {} turns in alternation\n\n",
        running.version, settings.warehouses, settings.time_s, settings.turns
    );
    text += "| clients | program | New-Order/s | prony's ratio | client CPU (ms per New-Order) | prony's ratio | memory (MB) |\n";
    text += "| --- | --- | --- | --- | --- | --- | --- |\n";
    for &clients in &settings.clients {
        for name in each_once(turns.iter().map(|turn| turn.name)) {
            let per_s = median_of(turns, clients, name, rate);
            let cpu = median_of(turns, clients, name, cpu_ms);
            let ratio = |of: fn(&Figure) -> f64| {
                median_of(turns, clients, PRONY, of) / median_of(turns, clients, name, of)
            };
            let _ = writeln!(
                text,
                "| {clients} | {name} | {per_s:.0} | {:.2} | {cpu:.3} | {:.3} | {:.1} |",
                ratio(rate),
                ratio(cpu_ms),
                median_of(turns, clients, name, memory_mb)
            );
        }
    }
    text += "\n| load | rows/s |\n| --- | --- |\n";
    for load in loads {
        let _ = writeln!(text, "| {} | {:.0} |", load.name, load.rows_per_s);
    }
    text
}

fn rate(figure: &Figure) -> f64 {
    figure.operations_per_s
}

fn cpu_ms(figure: &Figure) -> f64 {
    figure.cpu_us_per_operation / 1e3
}

/// The peak resident size of the process.
fn memory_mb(figure: &Figure) -> f64 {
    figure.memory_kb / 1e3
}

fn median_of(turns: &[Turn], clients: u32, name: &str, of: fn(&Figure) -> f64) -> f64 {
    let own = turns
        .iter()
        .filter(|turn| turn.name == name && turn.figure.clients == clients);
    median(own.map(|turn| of(&turn.figure)))
}
