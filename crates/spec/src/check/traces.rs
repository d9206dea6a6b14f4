//! Traces that are longer than their load: what arrives after its end is left out, and the file should know.
//!
//! Boundaries: `load::trace` reads the times.

use crate::experiment::Experiment;
use crate::experiment::place::{Late, Path, loads_of_levels, path};
use crate::load::{ArrivalsSpec, LoadSpec};

const NS_PER_S: f64 = 1e9;

/// A trace, and how much of it the load takes.
struct Taken {
    at: Path,
    arrivals: usize,
    in_time: usize,
    first_s: f64,
    last_s: f64,
}

/// Notes traces of which nothing arrives during the load.
pub(super) fn without_arrivals(experiment: &Experiment) -> Vec<Late> {
    let none = all(experiment).filter(|taken| taken.in_time == 0);
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
pub(super) fn cut(experiment: &Experiment) -> Vec<String> {
    let cut = all(experiment).filter(|taken| taken.in_time < taken.arrivals);
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

/// The arrivals of a timed load, those of the file and of its levels, with the paths of their loads.
pub(super) fn arrivals(experiment: &Experiment) -> Vec<(Path, ArrivalsSpec)> {
    if !experiment.protocol.is_timed() {
        return Vec::new();
    }
    let of_file = match &experiment.load {
        LoadSpec::Open(open) => Some((path(&["load", "open"]), open.arrivals.clone())),
        LoadSpec::Closed { .. } => None,
    };
    let of_levels = loads_of_levels(experiment).into_iter();
    let of_levels = of_levels.filter_map(|(at, load)| Some((at, load.arrivals?)));
    of_file.into_iter().chain(of_levels).collect()
}

fn all(experiment: &Experiment) -> impl Iterator<Item = Taken> {
    let lasts_s = lasts_s(experiment);
    let arrivals = arrivals(experiment).into_iter();
    arrivals.filter_map(move |(at, arrivals)| match arrivals {
        ArrivalsSpec::Trace { at_ns } => Some(taken(at, &at_ns, lasts_s)),
        _ => None,
    })
}

fn taken(at: Path, at_ns: &[u64], lasts_s: f64) -> Taken {
    let seconds = |at_ns: Option<&u64>| at_ns.map_or(0.0, |at_ns| *at_ns as f64 / NS_PER_S);
    Taken {
        at: [at, path(&["arrivals"])].concat(),
        arrivals: at_ns.len(),
        in_time: at_ns.partition_point(|at_ns| (*at_ns as f64) < lasts_s * NS_PER_S),
        first_s: seconds(at_ns.first()),
        last_s: seconds(at_ns.last()),
    }
}
