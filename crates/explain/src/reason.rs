//! The reason for a difference: a counter that is smaller on one side, and its causes.
//!
//! Purpose: the reason as data, from the record alone. A cause is named only if its evidence is recorded, the times differ
//! beyond noise, and the counter that it reduces differs beyond noise in the same direction. Boundaries: crate `report` writes
//! the sentence; a reason is not a proof.

use crate::causes::{CAUSES, Cause, Sign, noun};
use crate::rank::Difference;
use crate::side::Side;
use crate::times::{Times, TimesVerdict};
use record::stats::used;

/// Smaller factors are not reported.
const FACTOR_MIN: f64 = 1.1;
/// Smaller increases of a setting hardly matter.
const LARGER_MIN: f64 = 1.5;
/// A side with a smaller share of the other's requests does not use the cache: servers send a few requests of their own.
const UNUSED: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideName {
    Of,
    To,
}

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
    /// Whether the difference is beyond noise; none where nothing repeats.
    pub beyond_noise: Option<bool>,
    pub times: TimesVerdict,
    /// Slower over faster: at least 1, and 1 where the times say nothing.
    pub times_factor: f64,
    /// Known causes on that side; empty if there are none.
    pub because: Vec<Because>,
}

impl Reason {
    /// `more / fewer`; none if `fewer` is 0.
    pub fn factor(&self) -> Option<f64> {
        (self.fewer > 0.0).then(|| self.more / self.fewer)
    }

    /// Whether the times differ by more than the square of it.
    pub fn falls_short(&self) -> bool {
        let short = |factor: f64| factor.powi(2) < self.times_factor;
        self.times == TimesVerdict::Differ && self.factor().is_some_and(short)
    }

    /// Distance of its factor from that of the times, in logarithms. Without a factor (division by 0) it is half the distance of
    /// a factor of 1.
    /// Rounded to tenths, within which the order of the causes decides.
    fn distance(&self) -> f64 {
        let times = self.times_factor.ln();
        let distance = self
            .factor()
            .map_or(times / 2.0, |factor| (factor.ln() - times).abs());
        (distance * 10.0).round()
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

/// The difference to report, from a list with the most significant first: of those with a cause, the one whose factor is nearest
/// to that of the times.
pub(crate) fn reason(of: &Side, to: &Side, differences: &[Difference]) -> Option<Reason> {
    let times = Times::of(of, to);
    let faster = times.as_ref().and_then(Times::faster);
    let is_clear = |difference: &&Difference| {
        difference.beyond_noise != Some(false) && difference.doubled.is_none()
    };
    let candidates: Vec<Reason> = differences
        .iter()
        .filter(is_clear)
        .filter_map(|difference| plain(difference, times.as_ref()))
        .filter(|reason| faster.is_none_or(|faster| faster == reason.with))
        .collect();
    let caused = CAUSES
        .iter()
        .flat_map(|cause| candidates_of(cause, &candidates).map(move |one| (cause, one)))
        .filter(|(cause, one)| holds(cause, one, of, to))
        .map(|(_, one)| one)
        .min_by(|a, b| a.distance().total_cmp(&b.distance()));
    let Some(subject) = caused else {
        let mut reportable = candidates
            .into_iter()
            .filter(|one| is_reportable(one, of, to));
        return reportable.next();
    };
    Some(Reason {
        because: because(subject, of, to),
        ..subject.clone()
    })
}

/// In the cause's own order; only what differs beyond noise, as the times do.
fn candidates_of<'r>(
    cause: &'static Cause,
    candidates: &'r [Reason],
) -> impl Iterator<Item = &'r Reason> {
    cause.fewer.iter().filter_map(move |name| {
        let named = |one: &&Reason| {
            let beyond = one.beyond_noise == Some(true) && one.times == TimesVerdict::Differ;
            one.counter == *name && beyond
        };
        candidates.iter().find(named)
    })
}

fn because(subject: &Reason, of: &Side, to: &Side) -> Vec<Because> {
    let fits = |cause: &&Cause| {
        cause.fewer.contains(&subject.counter.as_str()) && holds(cause, subject, of, to)
    };
    let (with, other) = sides(subject, of, to);
    CAUSES
        .iter()
        .filter(fits)
        .map(|cause| Because {
            words: cause.because,
            evidence: evidence(cause, subject, with, other),
        })
        .collect()
}

/// A counter that has a meaning, is on both sides, and differs enough.
fn plain(difference: &Difference, times: Option<&Times>) -> Option<Reason> {
    let (of, to) = (difference.of?, difference.to?);
    difference.meaning?;
    if difference.counter.contains(" / ") || of.max(to) < of.min(to) * FACTOR_MIN {
        return None;
    }
    Some(Reason {
        counter: difference.counter.clone(),
        noun: noun(&difference.counter),
        with: if of < to { SideName::Of } else { SideName::To },
        fewer: of.min(to),
        more: of.max(to),
        beyond_noise: difference.beyond_noise,
        times: times.map_or(TimesVerdict::Nothing, Times::verdict),
        times_factor: times.map_or(1.0, Times::factor),
        because: Vec::new(),
    })
}

/// Whether to report a counter without a cause. Resource use is the cost itself, so it is not; nor are writes during read-only
/// statements, nor counters of an engine that the side does not use.
fn is_reportable(one: &Reason, of: &Side, to: &Side) -> bool {
    let (with, other) = sides(one, of, to);
    let of_engine = |(prefix, requests): &(&str, &[&'static str])| {
        one.counter.starts_with(prefix) && is_unused(requests, with, other)
    };
    let is_of_prony = used::NAMES.contains(&one.counter.as_str());
    let is_a_write = WRITES.iter().any(|part| one.counter.contains(part));
    let nobody_wrote = !of.writes() && !to.writes();
    let idle = is_of_prony || is_a_write && nobody_wrote || ENGINES.iter().any(of_engine);
    !idle
}

/// Parts of the names of write counters.
const WRITES: [&str; 5] = ["writ", "fsync", "flush", "_log_", "dirty"];

/// Engines by the beginning of their counters, with the requests to their caches.
const ENGINES: [(&str, &[&str]); 3] = [
    ("Innodb_", &["Innodb_buffer_pool_read_requests"]),
    ("Key_", &["Key_read_requests"]),
    ("Aria_", &["Aria_pagecache_read_requests"]),
];

fn sides<'s, 't>(
    subject: &Reason,
    of: &'s Side<'t>,
    to: &'s Side<'t>,
) -> (&'s Side<'t>, &'s Side<'t>) {
    match subject.with {
        SideName::Of => (of, to),
        SideName::To => (to, of),
    }
}

fn holds(cause: &Cause, subject: &Reason, of: &Side, to: &Side) -> bool {
    let (with, other) = sides(subject, of, to);
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
    signs.chain(beside).fold(Vec::new(), |mut found, one| {
        // Two signs of a cause may use the same counter.
        if !found.contains(&one) {
            found.push(one);
        }
        found
    })
}

/// The evidence for a sign; none if it is absent.
fn shown(sign: &Sign, subject: &Reason, with: &Side, other: &Side) -> Option<Evidence> {
    match sign {
        Sign::Counts(names, words) => counts(names, words, with, other),
        Sign::OtherEngine(names, requests) => {
            let found = counts(names, &[], with, other);
            found.filter(|_| is_unused(requests, with, other))
        }
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
        None => words.iter().any(|words| other.a_plan_holds(words)),
    };
    (in_each_block && !elsewhere)
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
        counter.map(|(_, values)| values.iter().sum::<f64>() / values.len() as f64)
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
    if with.servers() != other.servers() {
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
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let (name, values) = with.counter(names)?;
    Some(Evidence::Counter {
        name,
        with: mean(values),
        other: other.counter(&[name]).map(|(_, values)| mean(values)),
    })
}
