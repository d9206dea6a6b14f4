//! The figures of a timed trial that the planner needs.
//!
//! Purpose: give a rate search its figures, even those that a report would not print: a percentile of few operations is inaccurate,
//! but the best available. Outside this module: what is reported (`stats`).

use record::histogram::merged;
use record::{LatencyKind, Loaded, Percentile, TrialKey};
use spec::plan::Finished;
use std::collections::BTreeMap;

pub(crate) fn timed(key: TrialKey, load: &Loaded, is_usable: bool, server_is_up: bool) -> Finished {
    let summary = stats::summary(load);
    let offered = summary.offered.as_ref();
    let ended = summary.operations + summary.errors;
    Finished {
        throughput: summary.throughput,
        failed_share: summary.errors as f64 / (ended as f64).max(1.0),
        latency_ms: response_ms(load, summary.steady.from_s, unanswered(&summary)),
        unstable: offered.is_some_and(|offered| offered.unstable.is_some()),
        server_is_up,
        ..Finished::without_figures(key, is_usable)
    }
}

/// Requests that were never answered count as slower than all others.
fn unanswered(summary: &record::Summary) -> u64 {
    let response = summary.latency.of(LatencyKind::Response);
    response.map_or(0, |response| response.unanswered)
}

/// Response percentiles of all operations that ended in this second or later.
fn response_ms(load: &Loaded, from_s: u32, unanswered: u64) -> BTreeMap<Percentile, f64> {
    let is_counted = |note: &&record::HistogramNote| {
        note.operation.is_none() && note.kind == LatencyKind::Response && note.start_s >= from_s
    };
    let seconds = load.histograms.iter().filter(is_counted);
    let Some(all) = merged(seconds.map(|note| &note.nanoseconds)) else {
        return BTreeMap::new();
    };
    let known = |percentile: Percentile| {
        let found = stats::quantile_ms(&all, unanswered, percentile.share_below());
        found.map(|found| (percentile, found))
    };
    Percentile::ALL.into_iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{EngineNote, HistogramNote, Warmup};

    /// A second with these response times.
    fn second(start_s: u32, responses_ms: &[u64]) -> HistogramNote {
        let mut nanoseconds = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        responses_ms
            .iter()
            .for_each(|ms| nanoseconds += ms * 1_000_000);
        HistogramNote {
            operation: None,
            kind: LatencyKind::Response,
            every_s: 1,
            start_s,
            nanoseconds: nanoseconds.into(),
        }
    }

    fn loaded(histograms: Vec<HistogramNote>) -> Loaded {
        let done = histograms
            .iter()
            .map(|note| Some(note.nanoseconds.unpack().len() as f64));
        Loaded {
            warmup: Warmup::Seconds(1.0),
            elapsed_s: histograms.len() as f64,
            series: [("throughput".to_string(), done.collect())].into(),
            histograms,
            engine: EngineNote {
                backend: "epoll".into(),
                reactors: 1,
                cores: 2.0,
                ..EngineNote::default()
            },
            ..Loaded::default()
        }
    }

    #[test]
    fn a_search_uses_percentiles_of_too_few_operations_for_a_report() {
        let load = loaded(vec![
            second(0, &[900]),
            second(1, &[1, 2, 3]),
            second(2, &[4]),
        ]);
        let key = TrialKey {
            block: 0,
            server: Some("5.6".into()),
            levels: Vec::new(),
            role: record::Role::Measured,
        };
        let known = timed(key, &load, true, true);
        let p99_ms = known.latency_ms[&Percentile::P99];
        assert!(
            (p99_ms - 4.0).abs() < 0.01,
            "without the warm-up, not {p99_ms}"
        );
        assert_eq!(known.throughput, Some(2.0));
        let printed = stats::summary(&load)
            .latency
            .of(LatencyKind::Response)
            .and_then(|one| one.p99_ms);
        assert_eq!(printed, None);
    }
}
