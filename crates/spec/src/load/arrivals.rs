//! Arrival processes of an open load, as written in a file.
//!
//! Purpose: the kinds of schedules and their ranges. Boundaries: crate `load` computes the schedules (`load::arrivals`).

use super::rate::per_second;
use super::trace;
use crate::file::read::{Node, Section};
use record::Arrivals;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// An arrival process. The rate of the load is the rate outside of bursts and the initial rate of a ramp.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalsSpec {
    /// Exponentially distributed gaps.
    Poisson,
    /// Equal gaps.
    Uniform,
    /// Poisson at `burst_rate` operations per second for `length` at the start of every `every`.
    Bursts {
        burst_rate: f64,
        every: Duration,
        length: Duration,
    },
    /// Poisson, growing linearly to `to` operations per second over `over`, then constant.
    Ramp { to: f64, over: Duration },
    /// Recorded arrival times since the start, ascending, at least one.
    Trace { at_ns: Arc<[u64]> },
}

const EXAMPLE: &str = "arrivals = \"poisson\"";
const KINDS: [&str; 3] = ["bursts", "ramp", "trace"];

impl ArrivalsSpec {
    /// The name in the record.
    pub fn kind(&self) -> Arrivals {
        match self {
            ArrivalsSpec::Poisson => Arrivals::Poisson,
            ArrivalsSpec::Uniform => Arrivals::Uniform,
            ArrivalsSpec::Bursts { .. } => Arrivals::Bursts,
            ArrivalsSpec::Ramp { .. } => Arrivals::Ramp,
            ArrivalsSpec::Trace { .. } => Arrivals::Trace,
        }
    }

    /// The highest rate in operations per second of a load with `rate`; that of a trace is its mean.
    pub fn highest(&self, rate: f64) -> f64 {
        match self {
            ArrivalsSpec::Bursts { burst_rate, .. } => rate.max(*burst_rate),
            ArrivalsSpec::Ramp { to, .. } => rate.max(*to),
            ArrivalsSpec::Poisson | ArrivalsSpec::Uniform | ArrivalsSpec::Trace { .. } => rate,
        }
    }
}

/// Reads `arrivals`. The path of a trace is relative to `folder`.
pub(super) fn arrivals(node: &Node, folder: &Path) -> Option<ArrivalsSpec> {
    let Some(section) = node.section_if_table() else {
        return named(node);
    };
    section.allow("arrivals", &KINDS);
    let kinds: Vec<Node> = KINDS.iter().filter_map(|kind| section.get(kind)).collect();
    match kinds.as_slice() {
        [kind] => match kind.key {
            "bursts" => {
                bursts(&kind.section("bursts = { rate = 2000, every = \"10s\", length = \"1s\" }")?)
            }
            "ramp" => ramp(&kind.section("ramp = { to = 2000, over = \"60s\" }")?),
            _ => trace::trace(kind, folder).map(|at_ns| ArrivalsSpec::Trace { at_ns }),
        },
        [_, second, ..] => {
            second.note(
                "arrivals must have exactly one kind",
                "a second one",
                "keep one of the two",
            );
            None
        }
        [] => {
            node.note("arrivals have no kind", "empty", "write arrivals = \"poisson\", \"uniform\" or { ramp = { to = 2000, over = \"60s\" } }");
            None
        }
    }
}

fn named(node: &Node) -> Option<ArrivalsSpec> {
    match node.text(EXAMPLE)? {
        "poisson" => Some(ArrivalsSpec::Poisson),
        "uniform" => Some(ArrivalsSpec::Uniform),
        other => {
            let known = [
                "poisson",
                "uniform",
                "{ bursts = ... }",
                "{ ramp = ... }",
                "{ trace = ... }",
            ];
            node.notes
                .unknown(node.at(), "the kind of arrivals", other, &known);
            None
        }
    }
}

fn bursts(section: &Section) -> Option<ArrivalsSpec> {
    section.allow("bursts", &["rate", "every", "length"]);
    let rate = section.require("bursts", "rate", "rate = 2000");
    let every = section.require("bursts", "every", "every = \"10s\"");
    let length = section.require("bursts", "length", "length = \"1s\"");
    let burst_rate = rate.and_then(|node| per_second(&node));
    let every = every.and_then(|node| node.duration("every = \"10s\""));
    let length_at = length?;
    let (burst_rate, every, length) = (burst_rate?, every?, length_at.duration("length = \"1s\"")?);
    if length >= every {
        length_at.note(
            "the bursts leave no gap between them",
            "as long as \"every\"",
            "write a length below \"every\"",
        );
        return None;
    }
    Some(ArrivalsSpec::Bursts {
        burst_rate,
        every,
        length,
    })
}

fn ramp(section: &Section) -> Option<ArrivalsSpec> {
    section.allow("ramp", &["to", "over"]);
    let to = section
        .require("ramp", "to", "to = 2000")
        .and_then(|node| per_second(&node));
    let over = section
        .require("ramp", "over", "over = \"60s\"")
        .and_then(|node| node.duration("over = \"60s\""));
    Some(ArrivalsSpec::Ramp {
        to: to?,
        over: over?,
    })
}
