//! `[load.closed]`, `[load.open]` and the `load` of a level.
//!
//! Goal: their keys, defaults and ranges; lists become factors. Non-goal: whether the workload can be driven so (see
//! `timed`).

use super::super::read::{Node, Section};
use super::arrivals::arrivals;
use super::factor::{clients_factor, rate_factor, workers_factor};
use super::rates::{per_second, rates};
use super::{
    ArrivalsSpec, CLIENTS_MAX, CLOSED_KEYS, Load, LoadPatch, LoadSpec, OPEN_KEYS, OpenSpec, QUEUE,
    RateSpec, WhenFull, trace,
};
use std::path::Path;
use std::time::Duration;

const EXAMPLE: &str = "[load.closed] with clients = [1, 8] below it";
const CLIENTS: &str = "clients = [1, 8]";
const WORKERS: &str = "workers = [1, 8]";

/// One client in closed loop where the file says nothing. `folder` is where a trace's path begins.
pub(crate) fn load(file: &Section, folder: &Path) -> Load {
    let one_client = Load {
        spec: LoadSpec::Closed {
            clients: 1,
            think: Duration::ZERO,
        },
        factors: Vec::new(),
        trace: None,
    };
    let Some(load) = file.get("load").and_then(|node| node.section(EXAMPLE)) else {
        return one_client;
    };
    load.allow("[load]", &["closed", "open"]);
    match (load.get("closed"), load.get("open")) {
        (Some(_), Some(open)) => {
            open.notes.note(
                open.key_at,
                "a file has one load, closed or open",
                "a second one",
                "write a second file for it: the two are never compared",
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

/// In place of an open load with mistakes, so that the loads of levels are not blamed for them.
fn unread() -> Load {
    Load {
        spec: LoadSpec::Open(OpenSpec {
            rate: RateSpec::PerSecond(1.0),
            arrivals: ArrivalsSpec::Poisson,
            workers: 1,
            queue: QUEUE,
            when_full: WhenFull::Stop,
        }),
        factors: Vec::new(),
        trace: None,
    }
}

fn closed(section: &Section) -> Load {
    section.allow("[load.closed]", &CLOSED_KEYS);
    let list = section
        .get("clients")
        .map(|node| counts(&node, CLIENTS))
        .unwrap_or_default();
    let think = section
        .get("think")
        .and_then(|node| node.time("think = \"10ms\""));
    Load {
        spec: LoadSpec::Closed {
            clients: list.first().copied().unwrap_or(1),
            think: think.unwrap_or_default(),
        },
        factors: clients_factor(&list).into_iter().collect(),
        trace: None,
    }
}

fn open(section: &Section, folder: &Path) -> Option<Load> {
    section.allow("[load.open]", &[OPEN_KEYS.as_slice(), &["find"]].concat());
    let node = section.get("arrivals");
    let arrivals = node
        .as_ref()
        .map_or(Some(ArrivalsSpec::Poisson), |node| arrivals(node, folder));
    let rates = rates(section, arrivals.as_ref());
    let workers = section
        .get("workers")
        .map(|node| counts(&node, WORKERS))
        .unwrap_or_default();
    let queue = section
        .get("queue")
        .map_or(Some(QUEUE), |node| queue(&node));
    let when_full = section
        .get("when_full")
        .map_or(Some(WhenFull::Stop), |node| when_full(&node));
    let (arrivals, rates) = (arrivals?, rates?);
    let trace = node.and_then(|node| trace_in_place(&node, &arrivals));
    let factors = [rate_factor(&rates), workers_factor(&workers)];
    Some(Load {
        spec: LoadSpec::Open(OpenSpec {
            rate: rates.first()?.clone(),
            arrivals,
            workers: workers.first().copied().unwrap_or(1),
            queue: queue?,
            when_full: when_full?,
        }),
        factors: factors.into_iter().flatten().collect(),
        trace,
    })
}

/// Where the trace's file is named, the times themselves stand in the record.
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

/// Clients or workers, each number once.
fn counts(node: &Node, example: &str) -> Vec<u32> {
    let mut counts = Vec::new();
    for element in node.one_or_more(example) {
        let Some(count) = count(&element, example) else {
            continue;
        };
        if counts.contains(&count) {
            element.note(
                format!("{count} {} stand twice in the list", node.key),
                "again",
                "name each number once",
            );
        } else {
            counts.push(count);
        }
    }
    counts
}

fn count(node: &Node, example: &str) -> Option<u32> {
    let count = node.count(example)?;
    if count > CLIENTS_MAX {
        node.note(
            format!("{count} connections are more than the {CLIENTS_MAX} that prony opens"),
            "too many",
            "write a smaller number",
        );
        return None;
    }
    Some(count)
}

fn queue(node: &Node) -> Option<u64> {
    node.count("queue = 10000").map(u64::from)
}

fn when_full(node: &Node) -> Option<WhenFull> {
    let all = [WhenFull::Stop, WhenFull::Drop, WhenFull::Wait];
    let text = node.text("when_full = \"stop\"")?;
    let found = all.into_iter().find(|known| known.name() == text);
    if found.is_none() {
        node.notes.unknown(
            node.at(),
            "the answer to a full queue",
            text,
            &all.map(WhenFull::name),
        );
    }
    found
}

/// The `load` of a level; whether its keys belong to the file's kind of load is checked when that is known.
pub(crate) fn level(node: &Node) -> Option<LoadPatch> {
    let section = node.section("load = { clients = 8 }")?;
    section.allow(
        "the load of a level",
        &[CLOSED_KEYS.as_slice(), &OPEN_KEYS].concat(),
    );
    let get = |key: &str| section.get(key);
    Some(LoadPatch {
        clients: get("clients").and_then(|node| count(&node, "load = { clients = 8 }")),
        think: get("think").and_then(|node| node.time("think = \"10ms\"")),
        rate: get("rate")
            .and_then(|node| per_second(&node))
            .map(RateSpec::PerSecond),
        arrivals: get("arrivals").and_then(|node| level_arrivals(&node)),
        workers: get("workers").and_then(|node| count(&node, "load = { workers = 8 }")),
        queue: get("queue").and_then(|node| queue(&node)),
        when_full: get("when_full").and_then(|node| when_full(&node)),
    })
}

/// A trace has a rate of its own, which a level's other rate would contradict.
fn level_arrivals(node: &Node) -> Option<ArrivalsSpec> {
    if let Some(trace) = node
        .value
        .as_table()
        .and_then(|_| node.section("")?.get("trace"))
    {
        trace.note(
            "a trace belongs to the file's own load",
            "not in a level",
            "write it in [load.open]",
        );
        return None;
    }
    arrivals(node, Path::new(""))
}
