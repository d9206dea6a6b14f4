//! Traces that are longer than their load: what arrives after its end is left out, and the file should know.
//!
//! Boundaries: `load::trace` reads the times.

use crate::experiment::Experiment;
use crate::experiment::place::{Late, Path, path};
use crate::load::{ArrivalsSpec, LoadPatch, LoadSpec};
use std::sync::Arc;

const NS_PER_S: f64 = 1e9;

/// The loads of all levels, with their paths.
type Levels = Vec<(Path, LoadPatch)>;

/// A trace, and how much of it the load takes.
struct Taken {
    at: Path,
    arrivals: usize,
    in_time: usize,
    first_s: f64,
    last_s: f64,
}

/// Notes traces of which nothing arrives during the load.
pub(super) fn without_arrivals(experiment: &Experiment, of_levels: Levels) -> Vec<Late> {
    let none = all(experiment, of_levels)
        .into_iter()
        .filter(|taken| taken.in_time == 0);
    none.map(|taken| Late {
        path: taken.at,
        says: format!(
            "nothing of the trace arrives in the {} s of the load: its first arrival is at {} s",
            lasts_s(experiment),
            taken.first_s
        ),
        label: "later than the load",
        help: "write the times in seconds from the start of the load, or since 1970, or a longer time in [protocol]".to_string(),
    })
    .collect()
}

/// A sentence for each trace that goes on after its load.
pub(super) fn cut(experiment: &Experiment, of_levels: Levels) -> Vec<String> {
    let cut = all(experiment, of_levels)
        .into_iter()
        .filter(|taken| taken.in_time < taken.arrivals);
    cut.map(|taken| {
        format!(
            "{} of the {} arrivals of the trace are left out: the load ends at {} s with its time, the trace at {} s",
            taken.arrivals - taken.in_time,
            taken.arrivals,
            lasts_s(experiment),
            taken.last_s
        )
    })
    .collect()
}

fn lasts_s(experiment: &Experiment) -> f64 {
    experiment.protocol.driven().as_secs_f64()
}

fn all(experiment: &Experiment, of_levels: Levels) -> Vec<Taken> {
    if !experiment.protocol.is_timed() {
        return Vec::new();
    }
    let of_file = match &experiment.load {
        LoadSpec::Open(open) => Some((path(&["load", "open"]), open.arrivals.clone())),
        LoadSpec::Closed { .. } => None,
    };
    let of_levels = of_levels.into_iter();
    let of_levels = of_levels.filter_map(|(at, load)| Some((at, load.arrivals?)));
    let traces = of_file.into_iter().chain(of_levels);
    let traces = traces.filter_map(|(at, arrivals)| match arrivals {
        ArrivalsSpec::Trace { at_ns } => Some(taken(at, &at_ns, lasts_s(experiment))),
        _ => None,
    });
    traces.collect()
}

fn taken(at: Path, at_ns: &Arc<[u64]>, lasts_s: f64) -> Taken {
    let seconds = |at_ns: Option<&u64>| at_ns.map_or(0.0, |at_ns| *at_ns as f64 / NS_PER_S);
    Taken {
        at: [at, path(&["arrivals"])].concat(),
        arrivals: at_ns.len(),
        in_time: at_ns.partition_point(|at_ns| (*at_ns as f64) < lasts_s * NS_PER_S),
        first_s: seconds(at_ns.first()),
        last_s: seconds(at_ns.last()),
    }
}
