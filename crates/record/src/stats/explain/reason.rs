//! The sentence that says why: what one side has fewer of, and because of what.
//!
//! Goal: the sentence as data, made from the record alone. A cause is named only where its counters are there, and where
//! what it makes smaller differs beyond noise and goes with the time. Non-goals: words around it and the writing of
//! figures (crate `report`); proof.

use super::causes::{CAUSES, Cause, Sign, noun};
use super::rank::Difference;
use super::side::Side;

/// Less than this is not worth a sentence.
const FACTOR_MIN: f64 = 1.1;
/// Times that differ by less do not say which side is to have fewer.
const SAME_TIME: f64 = 1.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideName {
    Of,
    To,
}

/// One side has fewer of a counter.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    pub counter: String,
    /// What it counts, in words; none where they are not known.
    pub noun: Option<&'static str>,
    /// The side that has fewer.
    pub with: SideName,
    /// Per operation.
    pub fewer: f64,
    pub more: f64,
    /// Whether the difference is beyond noise; none where nothing repeats.
    pub beyond_noise: Option<bool>,
    /// What goes with it on that side alone; empty where nothing known does.
    pub because: Vec<Because>,
}

impl Reason {
    /// `more / fewer`; none where there were none at all.
    pub fn factor(&self) -> Option<f64> {
        (self.fewer > 0.0).then(|| self.more / self.fewer)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Because {
    /// `the condition is checked in the index before the row is read`
    pub words: &'static str,
    pub evidence: Vec<Evidence>,
}

/// What the record holds of the side with fewer, and of the other one.
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

/// Of the differences, the most telling first, the one that is said in a sentence.
pub(super) fn reason(of: &Side, to: &Side, differences: &[Difference]) -> Option<Reason> {
    let faster = faster(of, to);
    let told = |difference: &&Difference| {
        difference.beyond_noise != Some(false) && difference.doubled.is_none()
    };
    let candidates: Vec<Reason> = differences
        .iter()
        .filter(told)
        .filter_map(plain)
        .filter(|reason| faster.is_none_or(|faster| faster == reason.with))
        .collect();
    let caused = CAUSES
        .iter()
        .find_map(|cause| candidates_of(cause, &candidates).find(|one| holds(cause, one, of, to)));
    let Some(subject) = caused else {
        return candidates.into_iter().next();
    };
    Some(Reason {
        because: because(subject, of, to),
        ..subject.clone()
    })
}

/// In the cause's own order; only what differs beyond noise.
fn candidates_of<'r>(
    cause: &'static Cause,
    candidates: &'r [Reason],
) -> impl Iterator<Item = &'r Reason> {
    cause.fewer.iter().filter_map(move |name| {
        let named = |one: &&Reason| one.counter == *name && one.beyond_noise == Some(true);
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
fn plain(difference: &Difference) -> Option<Reason> {
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
        because: Vec::new(),
    })
}

/// None where the times are alike or not known.
fn faster(of: &Side, to: &Side) -> Option<SideName> {
    match of.elapsed_s()? / to.elapsed_s()? {
        ratio if ratio > SAME_TIME => Some(SideName::To),
        ratio if ratio < 1.0 / SAME_TIME => Some(SideName::Of),
        _ => None,
    }
}

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
    let any = |signs: &[Sign]| {
        signs
            .iter()
            .any(|sign| shown(sign, subject, with, other).is_some())
    };
    any(cause.signs) && !any(cause.unless)
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
    signs.chain(beside).collect()
}

/// What shows a sign; none where it is not there.
fn shown(sign: &Sign, subject: &Reason, with: &Side, other: &Side) -> Option<Evidence> {
    match sign {
        Sign::Counts(names, words) => {
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
        Sign::Larger(name) => {
            let number = |side: &Side| side.setting(name)?.parse::<f64>().ok();
            (number(with)? > number(other)?)
                .then(|| setting(name, with, other))
                .flatten()
        }
    }
}

/// In every block of the one side more than in any of the other; without repetition nobody knows the noise.
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

fn setting(name: &'static str, with: &Side, other: &Side) -> Option<Evidence> {
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
