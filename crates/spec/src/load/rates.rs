//! `rate` and `find` of `[load.open]`.
//!
//! Purpose: read the source of the rate and note mistakes. Boundaries: `rate` parses the texts.

use super::rate::per_second;
use super::{ArrivalsSpec, RateSpec, SearchSpec, Threshold, trace};
use crate::file::lists::distinct;
use crate::file::read::{Node, Section};

const RATE: &str = "rate = [500, 1000, \"60% of max\"]";
const FIND: &str = "find = { max_rate = [100, 20000], where = \"p99 <= 10ms\" }";

/// Reads the rates from exactly one of `rate`, `find` and the trace.
pub(super) fn rates(section: &Section, arrivals: Option<&ArrivalsSpec>) -> Option<Vec<RateSpec>> {
    let trace = match arrivals {
        Some(ArrivalsSpec::Trace { at_ns }) => Some(at_ns),
        _ => None,
    };
    match (section.get("rate"), section.get("find"), trace) {
        (Some(node), None, None) => Some(rate_list(&node)).filter(|rates| !rates.is_empty()),
        (None, Some(node), None) => search(&node).map(|search| vec![RateSpec::Find(search)]),
        (None, None, Some(at_ns)) => Some(vec![RateSpec::PerSecond(trace::mean_rate(at_ns))]),
        // Invalid arrivals were noted; they may have been a trace.
        (None, None, None) if arrivals.is_none() => None,
        (None, None, None) => section
            .require("[load.open]", "rate", &format!("rate = 500, or {FIND}"))
            .and(None),
        (Some(_), Some(find), _) => {
            find.note(
                "rate and find exclude each other",
                "a second rate",
                "keep one of rate and find",
            );
            None
        }
        (Some(node), None, Some(_)) | (None, Some(node), Some(_)) => {
            node.note("a trace defines its own rate", "a second rate", "remove it");
            None
        }
    }
}

fn rate_list(node: &Node) -> Vec<RateSpec> {
    let twice = |rate: &RateSpec| {
        let says = format!("the rate {rate} is listed twice");
        (says, "list each rate once")
    };
    let rates = distinct(node, RATE, rate, twice).into_iter();
    rates.map(|(_, rate)| rate).collect()
}

fn rate(node: &Node) -> Option<RateSpec> {
    let Some(text) = node.value.as_str() else {
        return per_second(node).map(RateSpec::PerSecond);
    };
    let help = format!("write {RATE}");
    node.noted(text.parse::<RateSpec>(), "not a rate", help)
}

fn search(node: &Node) -> Option<SearchSpec> {
    let section = node.section(FIND)?;
    section.allow("find", &["max_rate", "where"]);
    let between = section
        .require("find", "max_rate", FIND)
        .and_then(|node| bounds(&node));
    let holds = section.require("find", "where", FIND).and_then(|node| {
        let threshold = node.text("where = \"p99 <= 10ms\"")?.parse::<Threshold>();
        node.noted(threshold, "not a threshold", format!("write {FIND}"))
    });
    Some(SearchSpec {
        between: between?,
        holds: holds?,
    })
}

/// Reads the bounds of the search. Only a confirmation probe may go beyond the upper one.
fn bounds(node: &Node) -> Option<(f64, f64)> {
    let numbers: Vec<f64> = node
        .list("max_rate = [100, 20000]")?
        .iter()
        .filter_map(per_second)
        .collect();
    match numbers.as_slice() {
        [low, high] if low < high => Some((*low, *high)),
        _ => {
            node.note(
                "the bounds of the search must be two rates in ascending order",
                "not two bounds",
                "write max_rate = [100, 20000]",
            );
            None
        }
    }
}
