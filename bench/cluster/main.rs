//! Loads from several machines: what merging costs, and whether shards are together the load of one process.
//!
//! cargo bench -p prony --bench cluster -- merge [SHARDS [SECONDS]]
//! cargo bench -p prony --bench cluster -- shards DSN [SHARDS [RATE [SECONDS]]]
//!
//! `merge`: the time to merge SHARDS (64) records of SECONDS (3,600) one-second histograms, and of unpacking and adding them with
//! the library for comparison. Goal: under 2 s.
//! `shards`: SHARDS (4) processes and then one offer RATE (2,000) point selects per second with equal gaps for SECONDS (30). Goals: starts
//! within 5 ms on one machine, the same total rate within 0.5 %, and a merged p99 equal to that of all operations together.
//! Without arguments it runs nothing. The last results are in bench/results/cluster.md.

mod merge;
mod shards;

#[path = "../../crates/stats/tests/common/mod.rs"]
mod common;

const USAGE: &str = "usage: cargo bench -p prony --bench cluster -- merge [SHARDS [SECONDS]] | shards DSN [SHARDS [RATE [SECONDS]]]";

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| text != "--bench")
        .collect();
    let number = |place: usize, default: u32| {
        let given = arguments.get(place);
        given.map_or(default, |text| text.parse().expect("a number"))
    };
    match (arguments.first().map(String::as_str), arguments.get(1)) {
        (Some("merge"), _) => merge::measure(number(1, 64), number(2, 3600)),
        (Some("shards"), Some(dsn)) => {
            shards::measure(dsn, number(2, 4), number(3, 2000), number(4, 30));
        }
        _ => println!("{USAGE}"),
    }
}
