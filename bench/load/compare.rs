//! Pairs of measurements, and the table of their medians.

use crate::measured::Figure;
use crate::{Asked, engine, median::median, server::Running, sysbench};

pub fn all(asked: &Asked) {
    let running = Running::start(&asked.build);
    println!(
        "{}, {}, {} s, medians of {} pairs in alternation",
        running.version,
        if asked.tcp { "loopback" } else { "socket" },
        asked.time_s,
        asked.pairs
    );
    println!("| operation | clients | | prony | sysbench | ratio |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for operation in &asked.operations {
        for clients in &asked.clients {
            let pairs: Vec<(Figure, Figure)> = (0..asked.pairs)
                .map(|n| pair(asked, &running, operation, *clients, n))
                .collect();
            let row = |what: &str, of: fn(&Figure) -> f64| {
                println!(
                    "| {operation} | {clients} | {what} | {:.1} | {:.1} | {:.3} |",
                    median(pairs.iter().map(|(prony, _)| of(prony))),
                    median(pairs.iter().map(|(_, peer)| of(peer))),
                    median(pairs.iter().map(|(prony, peer)| of(prony) / of(peer))),
                );
            };
            row("operations/s", |figure| figure.operations_per_s);
            row("CPU us an operation", |figure| figure.cpu_us_per_operation);
            row("memory, kB a connection", |figure| {
                figure.memory_kb / f64::from(figure.clients)
            });
        }
    }
}

/// Who goes first changes, so that neither always finds the server as the other left it.
fn pair(
    asked: &Asked,
    running: &Running,
    operation: &str,
    clients: u32,
    n: usize,
) -> (Figure, Figure) {
    let prony = || engine::figure(asked, running, operation, clients);
    let peer = || sysbench::figure(asked, running, operation, clients);
    if n.is_multiple_of(2) {
        let first = prony();
        (first, peer())
    } else {
        let first = peer();
        (prony(), first)
    }
}
