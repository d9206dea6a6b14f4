//! What one side of a comparison measured.

use record::{
    ErrorCount, ErrorKind, HistogramNote, LatencyKind, Loaded, OpenNote, Role, Trial, TrialKey,
    Warmup, done_series,
};
use std::collections::BTreeMap;

const SECONDS: u32 = 30;
const MS: u64 = 1_000_000;

/// One side of a comparison, as its load went in each block.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) rate: f64,
    /// Of the operations that ended, those that failed.
    pub(super) failed: f64,
    /// By how many arrivals a second its queue grows.
    pub(super) grows: f64,
    pub(super) is_open: bool,
}

pub(super) const OLD: Side = Side {
    rate: 1000.0,
    failed: 0.0,
    grows: 0.0,
    is_open: false,
};

impl Side {
    pub(super) fn at(rate: f64) -> Side {
        Side { rate, ..OLD }
    }

    pub(super) fn open(rate: f64) -> Side {
        Side {
            is_open: true,
            ..Side::at(rate)
        }
    }

    /// It serves so many of 1,000 requests per second.
    pub(super) fn overloaded(rate: f64) -> Side {
        Side {
            grows: 1000.0 - rate,
            ..Side::open(rate)
        }
    }

    /// The load of a block, which differs a little from the others.
    pub(super) fn load(self, block: u32) -> Loaded {
        let ended = self.rate * (1.0 + 0.001 * f64::from(block));
        let done = ended * (1.0 - self.failed);
        let series = |value: f64| vec![Some(value); SECONDS as usize];
        let mut load = Loaded {
            mode: record::Mode::Closed {
                clients: 8,
                think_s: 0.0,
            },
            warmup: Warmup::Seconds(0.0),
            elapsed_s: f64::from(SECONDS),
            operations: vec!["update".into()],
            histograms: (0..SECONDS).map(response).collect(),
            series: BTreeMap::from([
                ("throughput".to_string(), series(done)),
                ("errors".to_string(), series(ended - done)),
                (done_series("update"), series(done)),
            ]),
            errors: (0..SECONDS)
                .map(|second| failure(second, ended - done))
                .collect(),
            ..Loaded::default()
        };
        if self.is_open {
            self.opened(&mut load);
        }
        load.summary = Some(stats::summarise(&load));
        load
    }

    fn opened(self, load: &mut Loaded) {
        let queue = (1..=SECONDS).map(|second| Some(self.grows * f64::from(second)));
        load.series.insert("queued".into(), queue.collect());
        load.mode = record::Mode::Open {
            rate: self.rate + self.grows,
            arrivals: record::Arrivals::Poisson,
            workers: 8,
            queue: 1_000_000,
            when_full: "stop".into(),
            range: None,
        };
        load.open = Some(OpenNote {
            arrived: 0,
            started: 0,
            queued_at_end: (self.grows * f64::from(SECONDS)) as u64,
            dropped: 0,
            held_s: 0.0,
        });
    }
}

fn response(start_s: u32) -> HistogramNote {
    let mut nanoseconds = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    (0..1000).for_each(|n| nanoseconds += (1 + n % 20) * MS);
    HistogramNote {
        operation: None,
        kind: LatencyKind::Response,
        every_s: 1,
        start_s,
        nanoseconds: nanoseconds.into(),
    }
}

fn failure(second: u32, count: f64) -> ErrorCount {
    ErrorCount {
        second,
        kind: Some(ErrorKind::Failed),
        operation: Some("update".into()),
        code: 1366,
        count: count as u64,
    }
}

pub(super) fn trial(server: &str, block: u32, role: Role, load: Loaded) -> Trial {
    let key = TrialKey {
        block,
        server: Some(server.into()),
        levels: Vec::new(),
        role,
    };
    Trial {
        load: Some(Box::new(load)),
        ..Trial::unmeasured(key, 0)
    }
}
