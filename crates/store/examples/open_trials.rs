//! How long a run of 200 trials takes to open: the store's part of `prony show` (its goal is 100 ms for the whole).
//!
//! 200 trials of 4 rounds, 13 queries, 400 counters of which 100 moved, 500 settings; each reading 21 times, each time in
//! a new process as `show` is one, the file in the page cache. Run with `cargo run --release -p store --example
//! open_trials`; `--smoke` is a size for tests. Results are kept in bench/results/store.md.

#[path = "../../stats/tests/common/mod.rs"]
mod common;

use record::{Trial, TrialState};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use store::Store;

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

/// Wall-clock and CPU time of some work (ms). Only the CPU time is comparable on a busy machine.
type Cost = (f64, f64);

fn cost(work: impl FnOnce()) -> Cost {
    let (began, ran) = (Instant::now(), on_processor_ms());
    work();
    (began.elapsed().as_secs_f64() * 1e3, on_processor_ms() - ran)
}

/// How long this thread ran, <https://docs.kernel.org/scheduler/sched-stats.html>.
fn on_processor_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace()
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e6
}

/// What the child does: one reading, as its name says, and its cost on stdout.
fn read(what: &str, path: &Path) {
    let (wall_ms, processor_ms) = cost(|| {
        let store = Store::open(path).unwrap();
        match what {
            "run" => std::mem::forget(store.run().unwrap()),
            "trials" => std::mem::forget(store.trials().unwrap()),
            _ => std::mem::forget(store.trials_whole().unwrap()),
        }
    });
    println!("{wall_ms} {processor_ms}");
}

fn read_in_child(what: &str, path: &Path) -> Cost {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--read", what])
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (wall_ms, processor_ms) = text.trim().split_once(' ').unwrap();
    (wall_ms.parse().unwrap(), processor_ms.parse().unwrap())
}

fn print(what: &str, costs: Vec<Cost>) {
    let (mut wall, mut processor): (Vec<f64>, Vec<f64>) = costs.into_iter().unzip();
    wall.sort_by(f64::total_cmp);
    processor.sort_by(f64::total_cmp);
    let middle = wall.len() / 2;
    println!(
        "| {what} | {:.1} | {:.1} | {:.1} |",
        wall[middle], wall[0], processor[middle]
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, what, path] = arguments.as_slice()
        && flag == "--read"
    {
        return read(what, Path::new(path));
    }
    let blocks = if arguments.iter().any(|argument| argument == "--smoke") {
        3
    } else {
        200
    };
    let (_folder, path) = common::place();
    let mut store = Store::create(&path, &common::run()).unwrap();
    let trials = (0..blocks).map(trial);
    let saves: Vec<Cost> = trials
        .map(|trial| cost(|| store.save(&trial).unwrap()))
        .collect();
    drop(store);
    println!(
        "| {blocks} trials, {:.1} MB | median, ms | least, ms | processor, ms |",
        path.metadata().unwrap().len() as f64 / 1e6
    );
    println!("| --- | --- | --- | --- |");
    for (what, words) in [
        ("run", "open and read the run"),
        ("trials", "open, `trials()`: times, rounds' counters"),
        (
            "whole",
            "open, `trials_whole()`: settings and each query's counters too",
        ),
    ] {
        print(words, (0..21).map(|_| read_in_child(what, &path)).collect());
    }
    print("`save()` of one trial", saves);
}
