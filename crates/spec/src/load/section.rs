//! `[load.closed]`, `[load.open]` and the `load` of a level.
//!
//! Purpose: their keys, defaults, ranges and lists. Boundaries: `sections::load_factors` makes factors of the lists; `check::timed` checks that the workload supports them.

use super::arrivals::arrivals;
use super::rate::per_second;
use super::rates::rates;
use super::{
    ArrivalsSpec, CLIENTS_MAX, CLOSED_KEYS, Load, LoadPatch, LoadSpec, OPEN_KEYS, OpenSpec,
    QueueSpec, RateSpec, WhenFull, trace,
};
use crate::file::lists::distinct;
use crate::file::read::{Node, Section};
use std::path::Path;
use std::time::Duration;
use toml::de::DeValue;

const EXAMPLE: &str = "[load.closed] with clients = [1, 8] below it";
const CLIENTS: &str = "clients = [1, 8]";
const WORKERS: &str = "workers = [1, 8]";

/// Reads the load; the default is one client in closed loop. The path of a trace is relative to `folder`.
pub(crate) fn load(file: &Section, folder: &Path) -> Load {
    let one_client = Load::from_spec(LoadSpec::Closed {
        clients: 1,
        think: Duration::ZERO,
    });
    let Some(load) = file.read("load", |node| node.section(EXAMPLE)) else {
        return one_client;
    };
    load.allow("[load]", &["closed", "open"]);
    match (load.get("closed"), load.get("open")) {
        (Some(_), Some(open)) => {
            open.notes.note(
                open.key_at,
                "a file can have only one load, closed or open",
                "a second one",
                "write a second file for it: closed and open loads are never compared",
            );
            one_client
        }
        (Some(node), None) => node
            .section(EXAMPLE)
            .map_or(one_client, |section| closed(&section)),
        (None, Some(node)) => node
            .section("[load.open] with rate = 500 below it")
            .and_then(|section| open(&section, folder))
            .unwrap_or_else(unread),
        (None, None) => one_client,
    }
}

/// A placeholder for an open load with mistakes, so that the loads of levels are not reported too.
fn unread() -> Load {
    Load::from_spec(LoadSpec::Open(OpenSpec {
        rate: RateSpec::PerSecond(1.0),
        arrivals: ArrivalsSpec::Poisson,
        workers: 1,
        queue: QueueSpec::Default,
        when_full: WhenFull::Stop,
    }))
}

fn closed(section: &Section) -> Load {
    section.allow("[load.closed]", &CLOSED_KEYS);
    let clients = counts(section, "clients", CLIENTS);
    let think = section.read("think", |node| node.time("think = \"10ms\""));
    let spec = LoadSpec::Closed {
        clients: clients.first().copied().unwrap_or(1),
        think: think.unwrap_or_default(),
    };
    Load {
        clients,
        ..Load::from_spec(spec)
    }
}

fn open(section: &Section, folder: &Path) -> Option<Load> {
    section.allow("[load.open]", &[OPEN_KEYS.as_slice(), &["find"]].concat());
    let node = section.get("arrivals");
    let arrivals = node
        .as_ref()
        .map_or(Some(ArrivalsSpec::Poisson), |node| arrivals(node, folder));
    let rates = rates(section, arrivals.as_ref());
    let workers = counts(section, "workers", WORKERS);
    let queue = section.get_or("queue", QueueSpec::Default, queue);
    let when_full = section.get_or("when_full", WhenFull::Stop, when_full);
    let (arrivals, rates) = (arrivals?, rates?);
    let trace = node.and_then(|node| trace_in_place(&node, &arrivals));
    let spec = LoadSpec::Open(OpenSpec {
        rate: rates.first()?.clone(),
        arrivals,
        workers: workers.first().copied().unwrap_or(1),
        queue: queue?,
        when_full: when_full?,
    });
    Some(Load {
        rates,
        workers,
        trace,
        ..Load::from_spec(spec)
    })
}

/// The times of a trace, which replace its file name in the record.
fn trace_in_place(
    node: &Node,
    arrivals: &ArrivalsSpec,
) -> Option<(std::ops::Range<usize>, String)> {
    let ArrivalsSpec::Trace { at_ns } = arrivals else {
        return None;
    };
    let named = node.section("")?.get("trace")?;
    named.value.as_str()?;
    Some((named.value_at(), trace::as_list(at_ns)))
}

/// Reads client or worker counts, without duplicates.
fn counts(section: &Section, key: &str, example: &str) -> Vec<u32> {
    let Some(node) = section.get(key) else {
        return Vec::new();
    };
    let twice = |count: &u32| {
        let says = format!("{count} {key} is listed twice");
        (says, "list each number once")
    };
    let counts = distinct(&node, example, |node| count(node, example), twice).into_iter();
    counts.map(|(_, count)| count).collect()
}

fn count(node: &Node, example: &str) -> Option<u32> {
    let count = node.count(example)?;
    if count > CLIENTS_MAX {
        node.note(
            format!("{count} connections exceed the maximum of {CLIENTS_MAX}"),
            "too many",
            "write a smaller number",
        );
        return None;
    }
    Some(count)
}

/// Reads a number of operations, or the seconds of arrivals that it holds.
fn queue(node: &Node) -> Option<QueueSpec> {
    let example = "queue = \"10s\"";
    match node.value {
        DeValue::String(_) => node.duration(example).map(QueueSpec::Time),
        _ => node
            .count(example)
            .map(u64::from)
            .map(QueueSpec::Operations),
    }
}

fn when_full(node: &Node) -> Option<WhenFull> {
    let all = [WhenFull::Stop, WhenFull::Drop, WhenFull::Wait].map(|one| (one.name(), one));
    node.one_of("the value of when_full", "when_full = \"stop\"", &all)
}

/// Reads the `load` of a level; `names` checks later that its keys match the kind of load.
pub(crate) fn level(node: &Node) -> Option<LoadPatch> {
    let section = node.section("load = { clients = 8 }")?;
    section.allow(
        "the load of a level",
        &[CLOSED_KEYS.as_slice(), &OPEN_KEYS].concat(),
    );
    Some(LoadPatch {
        clients: section.read("clients", |node| count(node, "load = { clients = 8 }")),
        think: section.read("think", |node| node.time("think = \"10ms\"")),
        rate: section.read("rate", per_second).map(RateSpec::PerSecond),
        arrivals: section.read("arrivals", level_arrivals),
        workers: section.read("workers", |node| count(node, "load = { workers = 8 }")),
        queue: section.read("queue", queue),
        when_full: section.read("when_full", when_full),
    })
}

/// Reads the arrivals of a level. A trace is rejected, because it defines its own rate.
fn level_arrivals(node: &Node) -> Option<ArrivalsSpec> {
    let table = node.section_if_table();
    if let Some(trace) = table.and_then(|table| table.get("trace")) {
        trace.note(
            "a level cannot change the trace",
            "not in a level",
            "write it in [load.open]",
        );
        return None;
    }
    arrivals(node, Path::new(""))
}
