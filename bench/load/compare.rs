//! Runs pairs of measurements and prints their medians as a table.

use crate::measured::Figure;
use crate::{Settings, engine, median::median, server::Running, sysbench};

pub(crate) fn all(settings: &Settings) {
    let running = Running::start(&settings.build, engine::workload("point-select").as_ref());
    println!(
        "{}, {}, {} s, medians of {} pairs in alternation",
        running.version,
        if settings.tcp { "loopback" } else { "socket" },
        settings.time_s,
        settings.pairs
    );
    let peer = match settings.against {
        Some(_) => "earlier",
        None => "sysbench",
    };
    println!("| operation | clients | | prony | {peer} | ratio |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for operation in &settings.operations {
        for clients in &settings.clients {
            let pairs: Vec<(Figure, Figure)> = (0..settings.pairs)
                .map(|n| pair(settings, &running, operation, *clients, n))
                .collect();
            let row = |what: &str, of: fn(&Figure) -> f64| {
                println!(
                    "| {operation} | {clients} | {what} | {:.1} | {:.1} | {:.3} |",
                    median(pairs.iter().map(|(prony, _)| of(prony))),
                    median(pairs.iter().map(|(_, peer)| of(peer))),
                    median(pairs.iter().map(|(prony, peer)| of(prony) / of(peer))),
                );
            };
            row("ops/s", |figure| figure.operations_per_s);
            row("CPU us/op", |figure| figure.cpu_us_per_operation);
            row("memory, kB/connection", |figure| {
                figure.memory_kb / f64::from(figure.clients)
            });
        }
    }
}

/// Runs one pair. The order alternates, so that neither program always runs after the other.
fn pair(
    settings: &Settings,
    running: &Running,
    operation: &str,
    clients: u32,
    n: usize,
) -> (Figure, Figure) {
    let own = std::env::current_exe().expect("this program");
    let prony = || engine::figure(&own, settings, running, operation, clients);
    let peer = || match &settings.against {
        Some(program) => engine::figure(program, settings, running, operation, clients),
        None => sysbench::figure(settings, running, operation, clients),
    };
    if n.is_multiple_of(2) {
        let first = prony();
        (first, peer())
    } else {
        let first = peer();
        (prony(), first)
    }
}
