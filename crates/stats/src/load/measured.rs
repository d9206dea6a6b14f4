//! What was measured in a timed load, before any figure is computed: the throughput of each second, and the histograms of the measured part.
//!
//! Purpose: every figure of a load reads the same seconds and the same histograms. Boundaries: `steady` chooses the measured part.

use record::Steady;
use record::load::{EngineStall, HistogramNote, LatencyKind, Loaded};
use std::collections::BTreeSet;
use std::ops::Range;

/// A second counts for no stall, level shift or period from so much time on (s) in which the generator did not run. Less cannot halve
/// its throughput together with what a server usually does.
const LONG_S: f64 = 0.2;

/// The seconds in which the load generator did not run for long. They say nothing about the server.
pub(crate) fn not_run(load: &Loaded) -> BTreeSet<u32> {
    let long = |stall: &&EngineStall| stall.stood_s.max(stall.longest_s) >= LONG_S;
    let stalls = load.engine.stalls.iter();
    stalls.filter(long).map(|stall| stall.second).collect()
}

/// Operations done in each whole second until nothing was started any more, whichever part they belong to; one that could not be read, or in which the load generator
/// did not run, counts as the one before it.
pub(crate) fn throughput(load: &Loaded) -> Vec<f64> {
    // Where only the last operation's end is known: that of a whole second lies a little before the second is over.
    let until_s = load.engine.until_s;
    let until_s = until_s.map_or(load.elapsed_s + 0.05, |until_s| until_s + 1e-6);
    let whole = (until_s as usize).min(load.seconds("throughput").len());
    let stood = not_run(load);
    let has_run = |second: usize| !stood.contains(&(second as u32));
    let known = |second: usize| load.done(second).filter(|_| has_run(second));
    let mut before = (0..whole).find_map(known).unwrap_or(0.0);
    let value = |second: usize| {
        before = known(second).unwrap_or(before);
        before
    };
    (0..whole).map(value).collect()
}

/// The seconds of the measured part that have a value.
pub(crate) fn known(seconds: &[Option<f64>], steady: &Steady) -> Vec<f64> {
    let Range { start, end } = steady.range();
    let measured = seconds.iter().take(end).skip(start);
    measured.flatten().copied().collect()
}

/// The sum of a series over the measured part.
pub(crate) fn sum(load: &Loaded, name: &str, steady: &Steady) -> f64 {
    known(load.seconds(name), steady).iter().sum()
}

/// The sum of a series from the measured part on, with the seconds after the load, in which operations end that were still running.
pub(crate) fn to_the_end(load: &Loaded, name: &str, steady: &Steady) -> f64 {
    let seconds = load.seconds(name).iter().skip(steady.from_s as usize);
    seconds.flatten().sum()
}

/// The histograms of one kind that begin in the measured part, those of the shortest spans where there are several
/// lengths. What ended after the last whole second is in it: leaving out the slowest would bias the result.
///
/// Wait and service are recorded by operation; all operations together are then the sum over them.
pub fn measured<'l>(
    load: &'l Loaded,
    steady: &Steady,
    operation: Option<&str>,
    kind: LatencyKind,
) -> Vec<&'l HistogramNote> {
    let counts = |note: &&HistogramNote| note.kind == kind && note.start_s >= steady.from_s;
    let kept = || load.histograms.iter().filter(counts);
    let own: Vec<_> = kept()
        .filter(|note| note.operation.as_deref() == operation)
        .collect();
    let mut notes = match operation {
        None if own.is_empty() => kept().collect(),
        _ => own,
    };
    let shortest = notes.iter().map(|note| note.every_s).min();
    notes.retain(|note| Some(note.every_s) == shortest);
    notes
}

/// How many operations of this name have a latency of this kind in the measured part.
pub(crate) fn recorded(load: &Loaded, steady: &Steady, operation: &str, kind: LatencyKind) -> u64 {
    let notes = measured(load, steady, Some(operation), kind);
    let counts = notes.iter().map(|note| note.nanoseconds.unpack().len());
    counts.sum()
}
