//! The values of a timed load that claims compare.

use crate::load::summary::summary;
use record::claim::{Cell, Percentile, Value};
use record::load::{LatencyKind, Loaded};
use record::{Percentiles, Summary, grouped};

/// The value; an error explains why there is none.
pub(crate) fn value(load: &Loaded, cell: &Cell, value: &Value) -> Result<f64, String> {
    let summary = summary(load);
    match value {
        Value::Elapsed => {
            Err("the duration of a timed load is fixed; compare its throughput".into())
        }
        Value::Throughput => summary
            .throughput
            .ok_or_else(|| summary.steady.reason.clone()),
        Value::Variation => {
            let few = || "the variation needs 10 measured seconds".to_string();
            summary.variation.ok_or_else(few)
        }
        Value::ReadAge => {
            let reads = summary.stale_reads.as_ref();
            let reads = reads.filter(|reads| reads.read_s > 0);
            let none = || "no further node was read".to_string();
            reads.map(|reads| reads.age_ms_mean).ok_or_else(none)
        }
        Value::Latency { kind, percentile } => {
            let found = latency(&summary, cell.query.as_deref(), *kind, *percentile);
            found.map_err(|why| format!("{}: {why}", value.words()))
        }
        Value::Recovery(_) | Value::Audit(_) => {
            Err(format!("{} is not a value of a load", value.words()))
        }
        Value::Counter(name) => Ok(counter(load, name)? / operations(&summary)?),
        Value::Quotient(over, under) => match counter(load, under)? {
            0.0 => Err(format!("{under} is 0: cannot divide by it")),
            divisor => Ok(counter(load, over)? / divisor),
        },
    }
}

/// In milliseconds.
fn latency(
    summary: &Summary,
    operation: Option<&str>,
    kind: LatencyKind,
    percentile: Percentile,
) -> Result<f64, String> {
    let percentiles = percentiles(summary, operation, kind)?;
    if let Some(why) = why_no_max(summary, kind, percentile) {
        return Err(why);
    }
    percentiles
        .at(percentile)
        .ok_or_else(|| percentiles.why_not(percentile))
}

/// Why a maximum is not known: it lies among the arrivals of the measured part that were dropped. None for other percentiles, and for
/// service times, which only started operations have.
pub(crate) fn why_no_max(
    summary: &Summary,
    kind: LatencyKind,
    percentile: Percentile,
) -> Option<String> {
    let is_of_arrivals = matches!(kind, LatencyKind::Response | LatencyKind::Wait);
    let (dropped, _) = dropped_of_all(summary)?;
    (percentile == Percentile::Max && is_of_arrivals && dropped > 0).then(|| {
        let dropped = grouped(dropped);
        format!("{dropped} arrivals were dropped, so the maximum is not known")
    })
}

/// The arrivals of the measured part that were dropped, and all of them. None in closed loop, and for an unstable load.
pub(crate) fn dropped_of_all(summary: &Summary) -> Option<(u64, u64)> {
    let queued = summary.offered.as_ref()?.queued_at_end;
    let response = summary.latency.response.as_ref()?;
    let dropped = response.unanswered.saturating_sub(queued);
    Some((dropped, response.count + response.unanswered))
}

/// Why the value is uncertain; none of a certain one, and of one that is no percentile.
pub(crate) fn why_uncertain(load: &Loaded, cell: &Cell, value: &Value) -> Option<String> {
    let Value::Latency { kind, percentile } = value else {
        return None;
    };
    let summary = summary(load);
    let percentiles = percentiles(&summary, cell.query.as_deref(), *kind).ok()?;
    percentiles.why_uncertain(*percentile, summary.steady.seconds())
}

fn percentiles<'s>(
    summary: &'s Summary,
    operation: Option<&str>,
    kind: LatencyKind,
) -> Result<&'s Percentiles, String> {
    if let Some(unstable) = summary.unstable() {
        return Err(unstable.to_string());
    }
    let latency = match operation {
        None => Some(&summary.latency),
        Some(name) => {
            let known = summary.by_operation.iter().find(|(known, _)| known == name);
            known.map(|(_, latency)| latency)
        }
    };
    let percentiles = latency.and_then(|latency| latency.of(kind));
    percentiles.ok_or_else(|| "not recorded in the measured part".to_string())
}

fn counter(load: &Loaded, name: &str) -> Result<f64, String> {
    let delta = load.counters.get(name);
    let delta = delta.ok_or_else(|| format!("the record lacks the counter {name}"))?;
    Ok(*delta as f64)
}

/// Counters are per operation, over the same seconds.
fn operations(summary: &Summary) -> Result<f64, String> {
    match summary.operations_counted {
        0 => Err("no operation succeeded".to_string()),
        operations => Ok(operations as f64),
    }
}
