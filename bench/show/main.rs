//! Measures `prony show` on a generated run of 200 trials: wall-clock and CPU time of new processes, with the file in the page cache.
//!
//! cargo bench -p prony --bench show -- TIMES
//!
//! The run has 40 blocks of five rows, 4 rounds of 13 queries, and 650 counters of which 150 change (as many as MariaDB, see
//! docs/COUNTERS.md). Goal: under 100 ms. The last result is in bench/results/show.md.

#[allow(dead_code)] // the fixture's other runs
#[path = "../../crates/report/tests/fixture/mod.rs"]
mod fixture;

use record::{Counters, Trial};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use store::Store;

const BLOCKS: u32 = 40;
const COUNTERS: i64 = 650;
/// One counter in this many changes.
const MOVED: i64 = 4;

fn main() {
    let Some(times) = std::env::args().skip(1).find_map(|text| text.parse().ok()) else {
        eprintln!("skipped: give TIMES, the number of runs, see the top of bench/show/main.rs");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.sqlite");
    let (run, mut trials) = fixture::long(BLOCKS);
    let mut store = Store::create(&path, &run).expect("a new file");
    for trial in &mut trials {
        add_counters(trial);
        store.save(trial).expect("a saved trial");
    }
    drop(store);
    let megabytes = path.metadata().map_or(0, |about| about.len()) as f64 / 1e6;
    println!(
        "| {} trials, {megabytes:.1} MB, {times} runs | wall (ms): median | min | CPU (ms): median |",
        trials.len()
    );
    println!("| --- | --- | --- | --- |");
    for form in ["table", "markdown", "csv", "json"] {
        measure(folder.path(), form, times);
    }
}

/// Adds as many counters as a server has. Their values depend on row and block, so that the report has something to rank.
fn add_counters(trial: &mut Trial) {
    let seed = i64::from(trial.key.block) + trial.key.levels[0].1.len() as i64 * 100;
    let made = |share: i64| -> Counters {
        let moved = |n: i64| i64::from(n % MOVED == 0) * (seed + n * 1_000) / share;
        (0..COUNTERS)
            .map(|n| (format!("Innodb_made_counter_{n:03}"), moved(n)))
            .collect()
    };
    for round in &mut trial.rounds {
        round.counters.extend(made(1));
        for query in &mut round.queries {
            query.counters.extend(made(13));
        }
    }
}

fn measure(run: &Path, form: &str, times: usize) {
    let (mut wall, mut cpu): (Vec<f64>, Vec<f64>) = (0..times).map(|_| once(run, form)).unzip();
    wall.sort_by(f64::total_cmp);
    cpu.sort_by(f64::total_cmp);
    println!(
        "| `prony show --format {form}` | {:.1} | {:.1} | {:.1} |",
        wall[times / 2],
        wall[0],
        cpu[times / 2]
    );
}

/// Wall-clock and CPU time (user and system) of one `prony show`, in ms.
fn once(run: &Path, form: &str) -> (f64, f64) {
    let (began, used_ms) = (Instant::now(), children_ms());
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["show", "--format", form])
        .arg(run)
        .output()
        .expect("prony runs");
    let wall_ms = began.elapsed().as_secs_f64() * 1e3;
    assert!(output.status.success(), "{output:?}");
    (wall_ms, children_ms() - used_ms)
}

/// CPU time of all ended child processes in ms, see getrusage(2).
fn children_ms() -> f64 {
    // SAFETY: an all-zero rusage is valid (integers only), and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}
