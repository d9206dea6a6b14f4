//! How long a run of 200 trials takes to open: the store's part of `prony show` (its goal is 100 ms for the whole).
//!
//! 200 trials of 4 rounds, 13 queries, 400 counters of which 100 moved, 500 settings; the median of 21 times, in one
//! process, the file in the page cache. Run with `cargo run --release -p record --example open_trials`; `--smoke` is a
//! size for tests. Results are kept in bench/results/store.md.

#[path = "../tests/common/mod.rs"]
mod common;

use record::{Store, Trial, TrialState};
use std::time::Instant;

fn trial(block: u32) -> Trial {
    let mut trial = common::trial(block, TrialState::Done, 13, 400);
    trial.settings = (0..500)
        .map(|i| {
            (
                format!("innodb_setting_name_{i:03}"),
                format!("value {block} {i}"),
            )
        })
        .collect();
    trial
}

fn median_ms(times: usize, mut work: impl FnMut()) -> f64 {
    let mut ms: Vec<f64> = (0..times)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    ms.sort_by(f64::total_cmp);
    ms[times / 2]
}

fn main() {
    let trials = if std::env::args().any(|argument| argument == "--smoke") {
        3
    } else {
        200
    };
    let (_folder, path) = common::place();
    let mut store = Store::create(&path, &common::run()).unwrap();
    let mut block = 0;
    let save = median_ms(trials, || {
        store.save(&trial(block)).unwrap();
        block += 1;
    });
    drop(store);
    let open = || Store::open(&path).unwrap();
    let rows = [
        (
            "open and read the run",
            median_ms(21, || drop(open().run().unwrap())),
        ),
        (
            "`trials()`: all times, rounds, settings",
            median_ms(21, || drop(open().trials().unwrap())),
        ),
        (
            "`trials_whole()`: with each query's counters",
            median_ms(5, || drop(open().trials_whole().unwrap())),
        ),
        ("`save()` of one trial", save),
    ];
    println!(
        "| {trials} trials, {:.1} MB | ms, median |\n| --- | --- |",
        path.metadata().unwrap().len() as f64 / 1e6
    );
    rows.iter()
        .for_each(|(what, ms)| println!("| {what} | {ms:.1} |"));
}
