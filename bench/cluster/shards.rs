//! Shards on one machine against one process, on the same server.

use hdrhistogram::Histogram;
use record::Loaded;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use store::Store;

pub(crate) fn measure(dsn: &str, shards: u32, rate: u32, seconds: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("cluster.toml");
    std::fs::write(&file, experiment(shards, rate, seconds)).expect("space");
    let several = folder.path().join("several");
    let children = (1..=shards).map(|number| {
        let shard = format!("{number}/{shards}");
        start(&file, dsn, &several, &["--shard", &shard])
    });
    let children: Vec<Child> = children.collect();
    children.into_iter().for_each(ended);
    let single = folder.path().join("single");
    ended(start(&file, dsn, &single, &[]));
    let runs = runs(&several);
    let mut merge = prony();
    merge
        .arg("merge")
        .args(&runs)
        .arg("--results")
        .arg(folder.path().join("merged"));
    ended(merge.spawn().expect("prony starts"));

    let parts: Vec<Loaded> = runs.iter().map(|run| load(run)).collect();
    let merged = load(&self::runs(&folder.path().join("merged"))[0]);
    let one = load(&self::runs(&single)[0]);
    print_starts(&parts);
    let arrived = |load: &Loaded| load.open.as_ref().map_or(0, |open| open.arrived);
    let (together, alone) = (arrived(&merged) as f64, arrived(&one) as f64);
    println!(
        "offered in {seconds} s: {shards} shards {together}, one process {alone}: {:+.3} % (goal: within 0.5 %)",
        (together / alone - 1.0) * 100.0
    );
    let (merged_p99, all_p99) = (
        p99_ms(&[&merged]),
        p99_ms(&parts.iter().collect::<Vec<_>>()),
    );
    println!(
        "p99 of all operations: merged {merged_p99:.4} ms, of all shards together {all_p99:.4} ms (goal: equal); one process {:.4} ms",
        p99_ms(&[&one])
    );
}

/// The spread of the starts, which all shards stamp with this machine's clock, and of the moments when the last client was awake.
fn print_starts(parts: &[Loaded]) {
    let spread_ms = |values: Vec<f64>| {
        let largest = values.iter().copied().fold(f64::MIN, f64::max);
        (largest - values.iter().copied().fold(f64::MAX, f64::min)) / 1e6
    };
    let started = |load: &Loaded| (load.started_ns - parts[0].started_ns) as f64;
    let awake = |load: &Loaded| started(load) + load.engine.shards[0].late_s * 1e9;
    println!(
        "starts within {:.3} ms, all clients awake within {:.3} ms (goal: 5 ms)",
        spread_ms(parts.iter().map(started).collect()),
        spread_ms(parts.iter().map(awake).collect())
    );
}

/// By the library, from the histograms of each second.
fn p99_ms(loads: &[&Loaded]) -> f64 {
    let mut all = Histogram::<u64>::new(3).expect("three digits");
    let notes = loads.iter().flat_map(|load| &load.histograms);
    for note in notes.filter(|note| note.operation.is_none() && note.every_s == 1) {
        all.add(note.nanoseconds.unpack()).expect("it grows");
    }
    all.value_at_quantile(0.99) as f64 / 1e6
}

fn experiment(shards: u32, rate: u32, seconds: u32) -> String {
    format!(
        "title = 'shards'\nquestion = 'Do shards add up?'\n[server.db]\nbuild = 'sqlite'\n\
        [workload.oltp]\noperations = 'point-select'\ntables = 4\nrows = 10000\n\
        [load.open]\nrate = {rate}\narrivals = 'uniform'\nworkers = {}\n\
        [protocol]\ntime = '{seconds}s'\nshort = true\nblocks = 1\n",
        8 * shards
    )
}

fn prony() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn start(file: &Path, dsn: &str, results: &Path, more: &[&str]) -> Child {
    let mut command = prony();
    command
        .arg("run")
        .arg(file)
        .args(["--server", dsn])
        .arg("--results")
        .arg(results);
    command.args(more).spawn().expect("prony starts")
}

/// A trial may be invalid (3), because the load generators were late on a small machine.
fn ended(mut child: Child) {
    let status = child.wait().expect("it ends");
    assert!(
        matches!(status.code(), Some(0 | 3)),
        "prony ended with {status}; run it by hand to see why"
    );
}

fn runs(results: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(results).expect("runs").flatten();
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    runs.sort();
    runs
}

fn load(run: &Path) -> Loaded {
    let store = Store::open(&run.join("run.sqlite")).expect("a record");
    let trial = store.trials_whole().expect("a record").remove(0);
    *trial.load.expect("a load")
}
