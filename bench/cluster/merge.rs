//! The time to merge the records of many shards.

use super::common;
use hdrhistogram::Histogram;
use record::{
    HistogramNote, LatencyKind, Loaded, PackedHistogram, Run, ShardNote, ShardStart, Sharing, Trial,
};
use std::path::{Path, PathBuf};
use std::time::Instant;
use store::Store;
use store::merge::merge;

/// Operations in each second of each shard.
const OPERATIONS: u64 = 2000;
/// Distinct histograms. Making them is no part of what is measured.
const DISTINCT: u64 = 20;

pub(crate) fn measure(shards: u32, seconds: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trial = trial(seconds);
    let records: Vec<PathBuf> = (1..=shards)
        .map(|number| record(folder.path(), number, shards, &trial))
        .collect();
    let bytes: u64 = records
        .iter()
        .map(|path| path.metadata().map_or(0, |metadata| metadata.len()))
        .sum();
    let mut best_s = f64::INFINITY;
    for attempt in 0..3 {
        let to = folder.path().join(format!("merged-{attempt}.sqlite"));
        let begun = Instant::now();
        merge(&records, &to, "merged").expect("the shards are of one run");
        best_s = best_s.min(begun.elapsed().as_secs_f64());
    }
    let library_s = with_library(&trial, shards);
    println!(
        "{shards} shards of {seconds} histograms ({} MB): merged in {best_s:.2} s, the best of 3 (goal: under 2 s); \
         unpacking and adding alone takes the library {library_s:.2} s",
        bytes >> 20
    );
}

/// The same sums by unpacking and adding.
fn with_library(trial: &Trial, shards: u32) -> f64 {
    let load = trial.load.as_ref().expect("a load");
    let begun = Instant::now();
    for note in &load.histograms {
        let mut sum = Histogram::<u64>::new(3).expect("three digits");
        for _ in 0..shards {
            sum.add(note.nanoseconds.unpack()).expect("it grows");
        }
        std::hint::black_box(&sum);
    }
    begun.elapsed().as_secs_f64()
}

fn trial(seconds: u32) -> Trial {
    let mut trial = common::timed(0);
    let base = *trial.load.take().expect("a load");
    let distinct: Vec<PackedHistogram> = (0..DISTINCT).map(histogram).collect();
    let note = |start_s: u32| HistogramNote {
        operation: None,
        kind: LatencyKind::Response,
        every_s: 1,
        start_s,
        nanoseconds: distinct[(u64::from(start_s) % DISTINCT) as usize].clone(),
    };
    let throughput = vec![Some(OPERATIONS as f64); seconds as usize];
    let mut load = Loaded {
        histograms: (0..seconds).map(note).collect(),
        series: [("throughput".to_string(), throughput)].into(),
        elapsed_s: f64::from(seconds),
        summary: None,
        ..base
    };
    load.engine.until_s = Some(f64::from(seconds));
    load.engine.stopped = None;
    load.summary = Some(stats::summarise(&load));
    trial.load = Some(Box::new(load));
    trial
}

/// Exponential response times of about a millisecond.
fn histogram(seed: u64) -> PackedHistogram {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut nanoseconds = Histogram::<u64>::new(3).expect("three digits");
    for _ in 0..OPERATIONS {
        // The generator of Knuth, MMIX.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
        nanoseconds += (-1e6 * (1.0 - uniform).ln()) as u64 + 100_000;
    }
    nanoseconds.into()
}

fn record(folder: &Path, number: u32, of: u32, trial: &Trial) -> PathBuf {
    let path = folder.join(format!("{number}.sqlite"));
    let run = Run {
        id: format!("shard-{number}"),
        part: None,
        sharing: Some(Sharing::Shard(ShardNote {
            number,
            of,
            run: format!("shard-{number}"),
            machine: "machine".into(),
            experiment: "e".into(),
        })),
        ..common::run()
    };
    let mut trial = trial.clone();
    let load = trial.load.as_mut().expect("a load");
    load.engine.shards = vec![ShardStart {
        number,
        of,
        clock_offset_s: 0.0,
        round_trip_s: 0.0,
        start_ns: load.started_ns,
        late_s: 0.0,
    }];
    let mut store = Store::create(&path, &run).expect("a new file");
    store.save(&trial).expect("space");
    path
}
