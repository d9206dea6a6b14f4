//! The reason for a difference: a counter that is smaller on the faster side, its cost, and its causes.
//!
//! Purpose: the reason as data, from the record alone. A counter is named only if the times differ and if its events plausibly
//! cost a tenth of the difference or more; a cause only if its evidence is recorded too. Boundaries: crate `report` writes
//! the sentence; a reason is not a proof.

use crate::counters::causes::{CAUSES, Cause, KEY_REQUESTS, POOL_REQUESTS, Sign, noun};
use crate::counters::cost::{Explains, SHARE_MIN};
use crate::counters::misses::{MISSES, Misses, Source};
use crate::counters::rank::Difference;
use crate::side::times::{Gap, TimesVerdict};
use crate::side::{Side, SideName};
use record::names;
use stats::each_once;

/// A counter with a known cause goes before a counter without one that costs up to three times as much.
const CAUSED_WEIGHT: f64 = 3.0;
/// Smaller factors are not reported.
const FACTOR_MIN: f64 = 1.1;
/// Smaller increases of a setting hardly matter.
const LARGER_MIN: f64 = 1.5;
/// A side with a smaller share of the other's requests does not use the cache: servers send a few requests of their own.
const UNUSED: f64 = 0.01;

/// One side has fewer of a counter.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    pub counter: String,
    /// What it counts, in words; none if unknown.
    pub noun: Option<&'static str>,
    /// The side that has fewer.
    pub with: SideName,
    /// Per operation.
    pub fewer: f64,
    pub more: f64,
    /// Whether the difference is beyond noise; none if nothing repeats.
    pub beyond_noise: Option<bool>,
    pub times: TimesVerdict,
    /// What the difference of the counter costs.
    pub cost: Explains,
    /// Known causes on that side; empty if there are none.
    pub because: Vec<Because>,
}

impl Reason {
    /// `more / fewer`; none if `fewer` is 0.
    pub fn factor(&self) -> Option<f64> {
        (self.fewer > 0.0).then(|| self.more / self.fewer)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Because {
    /// `index condition pushdown checks the condition before it reads the row`
    pub words: &'static str,
    pub evidence: Vec<Evidence>,
}

/// Recorded evidence of both sides.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// Per operation; none on the other side where its server lacks the counter.
    Counter {
        name: &'static str,
        with: f64,
        other: Option<f64>,
    },
    Plan(&'static str),
    Setting {
        name: &'static str,
        with: String,
        other: String,
    },
}

/// The counter that explains the difference of the times, from a list with the largest cost first: the first with a cause that
/// costs at least a third of the first, else the first whose typical or measured cost is enough. None if no known counter explains it.
pub(crate) fn reason(
    of: &Side,
    to: &Side,
    gap: &Gap,
    differences: &[Difference],
) -> Option<Reason> {
    let candidates: Vec<Reason> = differences
        .iter()
        .filter(|difference| difference.is_clear())
        .filter_map(|difference| plain(difference, gap))
        .map(|one| with_source(one, of, to))
        .filter(|one| !is_idle(one, of, to))
        .collect();
    let most = candidates
        .iter()
        .map(|one| one.cost.share)
        .reduce(f64::max)?;
    let caused = candidates
        .iter()
        .filter(|one| one.cost.share * CAUSED_WEIGHT >= most)
        .map(|one| (one, because(one, of, to)))
        .find(|(_, because)| !because.is_empty());
    match caused {
        Some((subject, because)) => Some(Reason {
            because,
            ..subject.clone()
        }),
        None => candidates
            .into_iter()
            .find(|one| !is_own(one) && one.cost.share >= SHARE_MIN),
    }
}

/// Only of what differs beyond noise, as the times do.
fn because(subject: &Reason, of: &Side, to: &Side) -> Vec<Because> {
    if subject.beyond_noise != Some(true) || subject.times != TimesVerdict::Differ {
        return Vec::new();
    }
    let fits = |cause: &&Cause| {
        cause.fewer.contains(&subject.counter.as_str()) && holds(cause, subject, of, to)
    };
    let (with, other) = subject.with.own_and_other(of, to);
    CAUSES
        .iter()
        .filter(fits)
        .map(|cause| Because {
            words: cause.because,
            evidence: evidence(cause, subject, with, other),
        })
        .collect()
}

/// Says of buffer pool misses who served them on the side that has more, as far as that is known.
fn with_source(one: Reason, of: &Side, to: &Side) -> Reason {
    let (_, more) = one.with.own_and_other(of, to);
    let source = (one.counter == MISSES).then(|| misses(more)).flatten();
    Reason {
        noun: source.or(one.noun),
        ..one
    }
}

fn misses(side: &Side) -> Option<&'static str> {
    let found = Misses::of(|name| side.sum(name), side.setting("innodb_page_size"))?;
    match found.source()? {
        Source::Disk => Some("pages read from disk (buffer pool misses)"),
        Source::PageCache => Some("buffer pool misses served by the OS page cache"),
        Source::Both(_) => Some("buffer pool misses, some served by the OS page cache,"),
    }
}

/// A counter that is on both sides, higher on the slower one by enough, and whose cost is plausible for the difference.
fn plain(difference: &Difference, gap: &Gap) -> Option<Reason> {
    let (of, to) = (difference.of?, difference.to?);
    let cost = difference.explains.filter(Explains::is_enough)?;
    (of.max(to) >= of.min(to) * FACTOR_MIN).then(|| Reason {
        counter: difference.counter.clone(),
        noun: noun(&difference.counter),
        with: gap.faster,
        fewer: of.min(to),
        more: of.max(to),
        beyond_noise: difference.beyond_noise,
        times: gap.verdict,
        cost,
        because: Vec::new(),
    })
}

/// Whether it is one of prony's counters: resource use is the cost itself, so it is reported only with a cause.
fn is_own(one: &Reason) -> bool {
    names::SYSTEM_COUNTERS.contains(&one.counter.as_str())
}

/// Whether it counts writes during read-only statements, or the work of an engine that the faster side does not use: what another engine does
/// instead has another counter.
fn is_idle(one: &Reason, of: &Side, to: &Side) -> bool {
    let (with, other) = one.with.own_and_other(of, to);
    let of_engine = |(prefix, requests): &(&str, &[&'static str])| {
        one.counter.starts_with(prefix) && is_unused(requests, with, other)
    };
    let is_a_write = WRITES.iter().any(|part| one.counter.contains(part));
    let nobody_wrote = !of.writes() && !to.writes();
    is_a_write && nobody_wrote || ENGINES.iter().any(of_engine)
}

/// Parts of the names of write counters.
const WRITES: [&str; 5] = ["writ", "fsync", "flush", "_log_", "dirty"];

/// Engines by the beginning of their counters, with the requests to their caches.
const ENGINES: [(&str, &[&str]); 5] = [
    ("Innodb_", &POOL_REQUESTS),
    ("buffer_", &POOL_REQUESTS),
    ("adaptive_hash_", &POOL_REQUESTS),
    ("Key_", &KEY_REQUESTS),
    ("Aria_", &["Aria_pagecache_read_requests"]),
];

fn holds(cause: &Cause, subject: &Reason, of: &Side, to: &Side) -> bool {
    let (with, other) = subject.with.own_and_other(of, to);
    let moves = |names: &&'static [&'static str]| !stands_still(names, of, to);
    let has_moved = cause.beside.is_empty() || cause.beside.iter().any(moves);
    let counts = |sign: &&Sign| has_moved || !matches!(sign, Sign::Setting(_));
    let is_shown = |sign: &Sign| shown(sign, subject, with, other).is_some();
    cause.signs.iter().filter(counts).any(is_shown) && !cause.unless.iter().any(is_shown)
}

fn evidence(cause: &Cause, subject: &Reason, with: &Side, other: &Side) -> Vec<Evidence> {
    let signs = cause
        .signs
        .iter()
        .filter_map(|sign| shown(sign, subject, with, other));
    let beside = cause.beside.iter().filter_map(|names| {
        let evidence = counted(names, with, other)?;
        matches!(evidence, Evidence::Counter { with, .. } if with > 0.0).then_some(evidence)
    });
    // Two signs of a cause may use the same counter.
    each_once(signs.chain(beside))
}

/// The evidence for a sign; none if it is absent.
fn shown(sign: &Sign, subject: &Reason, with: &Side, other: &Side) -> Option<Evidence> {
    match sign {
        Sign::Counts(names, words) => counts(names, words, with, other),
        Sign::Hits(names) => hits(names, with, other),
        Sign::Plan(words) => {
            let elsewhere = words.iter().any(|words| other.a_plan_holds(words));
            let here = words.iter().find(|words| with.a_plan_holds(words));
            here.filter(|_| !elsewhere && !other.plans.is_empty())
                .map(|words| Evidence::Plan(words))
        }
        Sign::More(names) => more(names, with, other),
        Sign::Instead(names) => {
            let found = more(names, with, other)?;
            let Evidence::Counter {
                with,
                other: Some(other),
                ..
            } = &found
            else {
                return None;
            };
            (with - other >= (subject.more - subject.fewer) / 2.0).then_some(found)
        }
        Sign::Setting(name) => setting(name, with, other),
        Sign::Larger(name) => larger(name, with, other),
        Sign::Cache(name, requests) => {
            let has_requests = |side: &Side| side.counter(requests).is_some();
            let unused = is_unused(requests, with, other) || is_unused(requests, other, with);
            let both = has_requests(with) && has_requests(other) && !unused;
            larger(name, with, other).filter(|_| both)
        }
    }
}

fn counts(names: &[&'static str], words: &[&str], with: &Side, other: &Side) -> Option<Evidence> {
    let (_, values) = with.counter(names)?;
    let in_each_block = values.iter().all(|value| *value > 0.0);
    let elsewhere = match other.counter(names) {
        Some((_, values)) => values.iter().any(|value| *value != 0.0),
        // Without the counter, its plans alone can show that the feature is not used.
        None if words.is_empty() || other.plans.is_empty() => true,
        None => words.iter().any(|words| other.a_plan_holds(words)),
    };
    (in_each_block && !elsewhere)
        .then(|| counted(names, with, other))
        .flatten()
}

fn hits(names: &[&'static str], with: &Side, other: &Side) -> Option<Evidence> {
    let moves = |side: &Side, all: bool| {
        let values = side.counter(names).map(|(_, values)| values);
        let values = values.unwrap_or_default();
        let moved = values.iter().filter(|value| **value > 0.0).count();
        moved > 0 && (!all || moved == values.len())
    };
    (moves(with, true) && !moves(other, false))
        .then(|| counted(names, with, other))
        .flatten()
}

/// A counter that the servers have and that did not move on either side.
fn stands_still(names: &[&'static str], of: &Side, to: &Side) -> bool {
    let known = [of.counter(names), to.counter(names)];
    let mut values = known
        .iter()
        .flatten()
        .flat_map(|(_, values)| values)
        .peekable();
    values.peek().is_some() && values.all(|value| *value == 0.0)
}

/// Whether a side does not use a cache that the other one uses.
fn is_unused(requests: &[&'static str], side: &Side, other: &Side) -> bool {
    let all = |side: &Side| {
        let counter = side.counter(requests);
        counter.and_then(|(_, values)| stats::mean(&values))
    };
    match (all(side), all(other)) {
        (Some(here), Some(there)) => here < there * UNUSED,
        _ => false,
    }
}

fn larger(name: &'static str, with: &Side, other: &Side) -> Option<Evidence> {
    let number = |side: &Side| side.setting(name)?.parse::<f64>().ok();
    let (here, there) = (number(with)?, number(other)?);
    let larger = here > there && here >= there * LARGER_MIN;
    larger.then(|| setting(name, with, other)).flatten()
}

/// More in every block of one side than in any block of the other; unknown without repeats.
fn more(names: &[&'static str], with: &Side, other: &Side) -> Option<Evidence> {
    let (_, here) = with.counter(names)?;
    let (_, there) = other.counter(names)?;
    let least = here.iter().copied().fold(f64::INFINITY, f64::min);
    let most = there.iter().copied().fold(0.0, f64::max);
    let repeats = here.len() > 1 && there.len() > 1;
    (repeats && least > most * FACTOR_MIN)
        .then(|| counted(names, with, other))
        .flatten()
}

/// Only for the same server, because two servers may differ in more than the setting.
fn setting(name: &'static str, with: &Side, other: &Side) -> Option<Evidence> {
    if !with.is_same_server(other) {
        return None;
    }
    let (with, other) = (with.setting(name)?, other.setting(name)?);
    (with != other).then(|| Evidence::Setting {
        name,
        with: with.to_string(),
        other: other.to_string(),
    })
}

fn counted(names: &[&'static str], with: &Side, other: &Side) -> Option<Evidence> {
    let (name, values) = with.counter(names)?;
    let others = other.counter(&[name]);
    Some(Evidence::Counter {
        name,
        with: stats::mean(&values)?,
        other: others.and_then(|(_, values)| stats::mean(&values)),
    })
}
