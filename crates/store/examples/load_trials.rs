//! What the store takes for timed loads: bytes, the time of a commit, of reading pictures and of reading tables.
//!
//! Two sizes. Long: trials of three hours with 400 series of which 100 move (the design's goal for 64 of them: 291 MB, 86
//! ms a commit, 200 series in 14 ms), and their histograms. Many: 300 trials of a minute, whose tables `prony show` wants in
//! 500 ms. Run with `cargo run --release -p store --example load_trials`; `--smoke` is a size for tests. Results are kept
//! in bench/results/store.md.

#[path = "../../stats/tests/common/mod.rs"]
mod common;

use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use record::{HistogramNote, LatencyKind, Loaded, PackedHistogram, Trial};
use std::path::Path;
use std::time::Instant;
use store::Store;

fn main() {
    let smoke = std::env::args().any(|argument| argument == "--smoke");
    let (seconds, long, many) = if smoke { (60, 1, 3) } else { (10_800, 4, 300) };
    let folder = tempfile::tempdir().unwrap();
    println!(
        "| work | median ms | least ms | processor ms | MB a trial |\n| --- | --- | --- | --- | --- |"
    );
    series_alone(&folder.path().join("series.sqlite"), seconds, long);
    whole(&folder.path().join("whole.sqlite"), seconds);
    tables(&folder.path().join("many.sqlite"), many);
}

/// The 400 series of so many seconds.
fn series_alone(path: &Path, seconds: usize, trials: u32) {
    let load = Loaded {
        histograms: vec![],
        series: (0..400)
            .map(|n| (format!("Innodb_counter_{n:03}"), series(n, seconds)))
            .collect(),
        ..load(seconds)
    };
    let mut store = Store::create(path, &common::run()).unwrap();
    let mut blocks = (0..trials).map(|block| with(block, load.clone()));
    let saved = times(trials as usize, || {
        store.save(&blocks.next().unwrap()).unwrap()
    });
    drop(store);
    let size = bytes(path) / u64::from(trials);
    print(
        "save a trial of 400 series, 100 of which move",
        &saved,
        Some(size),
    );
    let names: Vec<String> = (0..200).map(|n| format!("Innodb_counter_{n:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let key = common::timed(0).key;
    let store = Store::open(path).unwrap();
    let read = times(5, || {
        assert_eq!(store.series(&key, &names).unwrap().len(), 200)
    });
    print("read 200 of its series", &read, None);
}

/// One trial with the histograms of each second, and of two operations and three kinds each ten seconds.
fn whole(path: &Path, seconds: usize) {
    let trial = with(0, load(seconds));
    let mut store = Store::create(path, &common::run()).unwrap();
    let saved = times(1, || store.save(&trial).unwrap());
    drop(store);
    print(
        "save a trial of as many seconds with its histograms",
        &saved,
        Some(bytes(path)),
    );
    let store = Store::open(path).unwrap();
    let read = times(3, || assert!(store.load(&trial.key).unwrap().is_some()));
    print("read it whole, its summary made again", &read, None);
}

fn tables(path: &Path, trials: u32) {
    let load = load(60);
    let mut store = Store::create(path, &common::run()).unwrap();
    let mut blocks = (0..trials).map(|block| with(block, load.clone()));
    let saved = times(trials as usize, || {
        store.save(&blocks.next().unwrap()).unwrap()
    });
    drop(store);
    print(
        "save a trial of 60 s",
        &saved,
        Some(bytes(path) / u64::from(trials)),
    );
    let read = times(7, || {
        assert_eq!(
            Store::open(path).unwrap().trials().unwrap().len(),
            trials as usize
        )
    });
    print(
        &format!("open, `trials()` of {trials} trials of 60 s"),
        &read,
        None,
    );
    let rows = Store::open(path).unwrap().trials().unwrap();
    let question = common::run().question;
    let judged = times(7, || assert_eq!(stats::loads(&question, &rows).len(), 1));
    print("`loads()` of them", &judged, None);
}

fn with(block: u32, load: Loaded) -> Trial {
    Trial {
        load: Some(Box::new(load)),
        ..common::timed(block)
    }
}

/// Every fourth moves: around a level, by about the square root of it, as counts do; every sixteenth is a fraction.
fn series(n: u64, seconds: usize) -> Vec<Option<f64>> {
    let mut random = Pcg64::seed_from_u64(n);
    let level = 10f64.powf(random.random::<f64>() * 4.0);
    let mut value = || match n % 16 {
        0 => (random.random::<f64>() * 2000.0).round() / 1000.0,
        4 | 8 | 12 => {
            let noise: f64 = (0..4).map(|_| random.random::<f64>() - 0.5).sum();
            (level + noise * 1.7 * level.sqrt()).round().max(0.0)
        }
        _ => 0.0,
    };
    (0..seconds).map(|_| Some(value())).collect()
}

fn load(seconds: usize) -> Loaded {
    let mut load = *common::timed(0).load.unwrap();
    let mut random = Pcg64::seed_from_u64(1);
    let mut histogram = |count: u64| -> PackedHistogram {
        let mut nanoseconds = Histogram::<u64>::new(3).unwrap();
        for _ in 0..count {
            nanoseconds += (-1e6 * (1.0 - random.random::<f64>()).ln()) as u64 + 100_000;
        }
        nanoseconds.into()
    };
    // The same twenty of each again and again: making them is no part of what is measured.
    let all: Vec<_> = (0..20).map(|_| histogram(2000)).collect();
    let windows: Vec<_> = (0..20).map(|_| histogram(10_000)).collect();
    let second = |start_s: usize| HistogramNote {
        operation: None,
        kind: LatencyKind::Response,
        every_s: 1,
        start_s: start_s as u32,
        nanoseconds: all[start_s % 20].clone(),
    };
    let window = |start_s: usize, operation: &str, kind: LatencyKind| HistogramNote {
        operation: Some(operation.into()),
        kind,
        every_s: 10,
        start_s: start_s as u32,
        nanoseconds: windows[start_s / 10 % 20].clone(),
    };
    load.histograms = (0..seconds).map(second).collect();
    for start_s in (0..seconds).step_by(10) {
        for operation in ["read", "update"] {
            let kinds = [
                LatencyKind::Response,
                LatencyKind::Wait,
                LatencyKind::Service,
            ];
            load.histograms
                .extend(kinds.map(|kind| window(start_s, operation, kind)));
        }
    }
    load.operations = vec!["read".into(), "update".into()];
    load.series = (0..100)
        .map(|n| (format!("Innodb_counter_{n:03}"), series(n, seconds)))
        .collect();
    load.series.insert("throughput".into(), series(4, seconds));
    load.elapsed_s = seconds as f64;
    load
}

fn bytes(path: &Path) -> u64 {
    path.metadata().unwrap().len()
}

/// Wall-clock and CPU time of some work (ms). Only the CPU time is comparable on a busy machine.
type Cost = (f64, f64);

fn times(count: usize, mut work: impl FnMut()) -> Vec<Cost> {
    let mut cost = || {
        let (began, ran) = (Instant::now(), on_processor_ms());
        work();
        (began.elapsed().as_secs_f64() * 1e3, on_processor_ms() - ran)
    };
    (0..count).map(|_| cost()).collect()
}

/// How long this thread ran, <https://docs.kernel.org/scheduler/sched-stats.html>.
fn on_processor_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let ran_ns = text.split_whitespace().next().unwrap();
    ran_ns.parse::<f64>().unwrap() / 1e6
}

fn print(what: &str, costs: &[Cost], size: Option<u64>) {
    let (mut wall, mut processor): (Vec<f64>, Vec<f64>) = costs.iter().copied().unzip();
    wall.sort_by(f64::total_cmp);
    processor.sort_by(f64::total_cmp);
    let middle = wall.len() / 2;
    let size = size.map_or("-".to_string(), |size| format!("{:.2}", size as f64 / 1e6));
    println!(
        "| {what} | {:.1} | {:.1} | {:.1} | {size} |",
        wall[middle], wall[0], processor[middle]
    );
}
