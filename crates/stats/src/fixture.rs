//! Timed loads and series with known properties, to test with.

use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng};
use record::histogram::PackedHistogram;
use record::load::*;
use record::trial::{Trial, TrialKey};
use std::collections::BTreeMap;

pub(super) fn series(seconds: usize, value: impl Fn(usize) -> f64) -> Vec<Option<f64>> {
    (0..seconds).map(|second| Some(value(second))).collect()
}

fn engine() -> EngineNote {
    EngineNote {
        backend: "epoll".into(),
        reactors: 1,
        cpu_user_s: 1.0,
        cpu_system_s: 1.0,
        cores: 2.0,
        open_s: 0.1,
        ..EngineNote::default()
    }
}

/// A closed load of so many seconds without a warm-up and without histograms.
pub(super) fn closed(throughput: impl Fn(usize) -> f64, seconds: usize) -> Loaded {
    Loaded {
        mode: Mode::Closed {
            clients: 8,
            think_s: 0.0,
        },
        warmup: Warmup::Seconds(0.0),
        started_ns: 1_000_000_000_000,
        elapsed_s: seconds as f64,
        operations: vec!["update".into()],
        series: BTreeMap::from([("throughput".into(), series(seconds, throughput))]),
        engine: engine(),
        ..Loaded::default()
    }
}

/// An open load of so many arrivals a second, each served, with a queue of that length at each second's end.
pub(super) fn open(rate: f64, seconds: usize, queue: impl Fn(usize) -> f64) -> Loaded {
    let mut load = closed(|_| rate, seconds);
    load.mode = Mode::Open {
        rate,
        arrivals: Arrivals::Poisson,
        workers: 8,
        queue: 1_000_000,
        when_full: "stop".into(),
        range: None,
    };
    load.open = Some(OpenNote {
        arrived: (rate * seconds as f64) as u64,
        started: (rate * seconds as f64) as u64,
        queued_at_end: queue(seconds - 1) as u64,
        dropped: 0,
        held_s: 0.0,
    });
    load.series.insert("queued".into(), series(seconds, queue));
    load
}

pub(super) fn histogram(nanoseconds: impl IntoIterator<Item = u64>) -> PackedHistogram {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    nanoseconds.into_iter().for_each(|value| histogram += value);
    histogram.into()
}

/// All operations' response in each second.
pub(super) fn with_response(
    mut load: Loaded,
    seconds: u32,
    of: impl Fn(u32) -> Vec<u64>,
) -> Loaded {
    load.histograms
        .extend((0..seconds).map(|start_s| HistogramNote {
            operation: None,
            kind: LatencyKind::Response,
            every_s: 1,
            start_s,
            nanoseconds: histogram(of(start_s)),
        }));
    load
}

pub(super) fn trial(block: u32, levels: &[(&str, &str)], load: Loaded) -> Trial {
    let levels = levels.iter().map(|(f, l)| (f.to_string(), l.to_string()));
    let key = TrialKey {
        block,
        server: Some("5.6".into()),
        levels: levels.collect(),
        role: record::trial::Role::Measured,
    };
    let started_ns = load.started_ns;
    Trial {
        ended_ns: started_ns + (load.elapsed_s * 1e9) as i64,
        load: Some(Box::new(load)),
        ..Trial::unmeasured(key, started_ns)
    }
}

/// Around a mean, with normal noise of a deviation.
pub(super) fn noisy(
    seconds: usize,
    seed: u64,
    mean: impl Fn(usize) -> f64,
    deviation: f64,
) -> Vec<f64> {
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let mut normal = || {
        let (u, v): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    (0..seconds)
        .map(|second| mean(second) + deviation * normal())
        .collect()
}

/// Around 0, each value correlated with the one before by `phi`, with this deviation in the long run.
pub(super) fn wandering(seconds: usize, seed: u64, phi: f64, deviation: f64) -> Vec<f64> {
    let mut last = 0.0;
    let step = deviation * (1.0 - phi * phi).sqrt();
    let shocks = noisy(seconds + 100, seed, |_| 0.0, step);
    let values = shocks.into_iter().map(|shock| {
        last = phi * last + shock;
        last
    });
    values.skip(100).collect()
}

/// Shares from 0 to 1, all equally likely.
pub(super) fn uniform(count: usize, seed: u64) -> Vec<f64> {
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    (0..count).map(|_| random.random()).collect()
}
