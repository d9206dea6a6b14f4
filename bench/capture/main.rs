//! Measures the cost of observing a query: its plan and the server's counters, as in a round, outside the timed span.
//!
//! cargo bench -p prony --bench capture -- DSN [TIMES]
//!
//! Prints medians over TIMES (1,000) of each part in milliseconds: EXPLAIN as a table (every round), EXPLAIN as JSON (once per plan
//! and trial), reading all counters (every query). The statement joins four system tables, so the server needs no data.
//! Goal: at most 1 ms per query. The last result is in bench/results/capture.md.

#[path = "../median.rs"]
mod median;

use observe::{Explainer, Observer};
use server::Session;
use std::time::Instant;

const QUERY: &str = "SELECT c.name, count(*) FROM mysql.help_category c \
    JOIN mysql.help_topic t ON t.help_category_id = c.help_category_id \
    JOIN mysql.help_relation r ON r.help_topic_id = t.help_topic_id \
    JOIN mysql.help_keyword k ON k.help_keyword_id = r.help_keyword_id \
    WHERE k.name LIKE 'A%' GROUP BY c.name ORDER BY c.name";

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| text != "--bench")
        .collect();
    let Some(dsn) = arguments.first() else {
        println!("usage: cargo bench -p prony --bench capture -- DSN [TIMES]");
        return;
    };
    let times: usize = arguments
        .get(1)
        .map_or(1000, |text| text.parse().expect("TIMES is a number"));
    let dsn = dsn.parse().expect("a DSN");
    let open = || Session::open(&dsn).expect("the server answers");
    let mut session = open();
    let explainer = Explainer::of(&mut session).expect("the server answers");
    let mut observer = Observer::new(open(), true).expect("the server answers");
    let mut parts = [const { Vec::new() }; 3];
    for _ in 0..times {
        parts[0].push(timed(|| explainer.plan(&mut session, QUERY).map(drop)));
        parts[1].push(timed(|| explainer.json(&mut session, QUERY).map(drop)));
        parts[2].push(timed(|| observer.read().map(drop)));
    }
    let [table_ms, json_ms, counters_ms] = parts.map(|part| median::median(part.into_iter()));
    println!(
        "table {table_ms:.3} ms, JSON {json_ms:.3} ms, counters {counters_ms:.3} ms; \
         per query of a round {:.3} ms (goal: at most 1 ms)",
        table_ms + counters_ms
    );
}

/// The time of one call in milliseconds.
fn timed<E: std::fmt::Debug>(part: impl FnOnce() -> Result<(), E>) -> f64 {
    let begun = Instant::now();
    part().expect("the server answers");
    begun.elapsed().as_secs_f64() * 1e3
}
