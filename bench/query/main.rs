//! Compares the time of a query in prony with the server's own client. Runs alternate on the same server; the results are medians.
//!
//! cargo bench -p prony --bench query -- DSN CLIENT [TIMES]
//!
//! The client runs many statements at once, and its total time is divided by their number, so that its startup (some milliseconds)
//! hardly matters. One statement returns many rows. The server needs no tables. Goal: at most 1 ms more than the client. The last
//! result is in bench/results/query.md.

#[path = "../median.rs"]
mod median;
#[path = "../peer.rs"]
mod peer;

use server::Session;
use std::process::Stdio;
use std::time::Instant;

/// Number of statements in one run of the client.
const STATEMENTS: usize = 200;

/// Names and statements.
const QUERIES: [(&str, &str); 3] = [
    ("one row", "SELECT 1"),
    (
        "some work, one row",
        "SELECT BENCHMARK(100000, CRC32('prony'))",
    ),
    (
        "many rows",
        "SELECT a.help_keyword_id, b.help_keyword_id FROM mysql.help_keyword a, mysql.help_keyword b WHERE a.help_keyword_id < 40 AND b.help_keyword_id < 40",
    ),
];

fn main() {
    let Some(peer) = peer::Peer::from_arguments() else {
        return;
    };
    let times: usize = peer
        .rest
        .first()
        .map_or(5, |text| text.parse().expect("TIMES is a number"));
    let mut session = Session::open(&peer.dsn).expect("the server answers");
    for (name, sql) in QUERIES {
        let mut pairs = Vec::new();
        for _ in 0..times {
            pairs.push((by_prony(&mut session, sql), by_client(&peer, sql)));
        }
        let prony_ms = median::median(pairs.iter().map(|pair| pair.0));
        let client_ms = median::median(pairs.iter().map(|pair| pair.1));
        println!(
            "{name}: prony {prony_ms:.3} ms, client {client_ms:.3} ms, difference {:.3} ms (goal: at most 1 ms)",
            prony_ms - client_ms
        );
    }
}

/// Milliseconds per statement.
fn by_prony(session: &mut Session, sql: &str) -> f64 {
    let begun = Instant::now();
    for _ in 0..STATEMENTS {
        session.query(sql).expect("the server answers");
    }
    begun.elapsed().as_secs_f64() * 1e3 / STATEMENTS as f64
}

/// Milliseconds per statement. The client reads all rows, as prony does, and writes them to /dev/null.
fn by_client(peer: &peer::Peer, sql: &str) -> f64 {
    let statements = format!("{sql};\n").repeat(STATEMENTS);
    let mut command = peer.client("information_schema");
    command
        .arg("--batch")
        .arg("-e")
        .arg(statements)
        .stdout(Stdio::null());
    let begun = Instant::now();
    assert!(
        command.status().expect("the client starts").success(),
        "the client failed"
    );
    begun.elapsed().as_secs_f64() * 1e3 / STATEMENTS as f64
}
