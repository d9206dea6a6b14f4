//! Claims against the record.
//!
//! A claim is reproduced where its test decides for the claimed side of the threshold, not reproduced where it decides
//! for the other, and inconclusive else. The tests of all claims share one error rate of 5 % (Holm), and so do their
//! directions. A test at a level decides exactly where the moderated t interval of that confidence lies wholly on one side.
//! Where a run looks at its claims several times, the smallest p over the looks counts, each divided by its look's weight.

use crate::inference::holm;
use crate::inference::ratio::CONFIDENCE;
use borrowed_noise::Lenders;
use conclude::conclude;
use decide::Side;
use found::{Found, find, find_unpaired};
use plans::PlanHolds;
use record::claim::{Claim, DecidedAfter, Direction, Judged, Measured, Subject, Value};
use record::run::Question;
use record::trial::Trial;
use record::{Look, Looks};

mod adjusted;
pub(crate) mod basis;
pub(crate) mod borrowed_noise;
mod conclude;
pub(crate) mod decide;
mod finding;
mod found;
pub(crate) mod plans;
pub(crate) mod same_tables;
pub(crate) mod same_work;

pub(crate) use found::pair;

/// Every claim of the question, in its order, with what these trials say about it.
///
/// Needs whole trials if [`needs_query_counters`] returns true.
pub fn judge(question: &Question, trials: &[Trial], holds: &PlanHolds) -> Vec<Judged> {
    let looks = question.looks();
    judged_at(&looks, &question.claims, trials, holds, Family::Claims)
}

/// The claims of a comparison within a run, at the looks of the run. None of them is on plans.
pub(crate) fn judge_paired(looks: &Looks, claims: &[Claim], trials: &[Trial]) -> Vec<Judged> {
    judged_at(looks, claims, trials, &|_, _, _, _| None, Family::Values)
}

/// What is tested together.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    /// Of the experiment.
    Claims,
    /// Of two sides, for which nobody claimed anything.
    Values,
}

fn judged_at(
    looks: &Looks,
    claims: &[Claim],
    trials: &[Trial],
    holds: &PlanHolds,
    family: Family,
) -> Vec<Judged> {
    let followed = follow((looks, claims), trials, holds, u32::MAX);
    conclusions(claims, followed, looks.all(), family)
}

/// The same for ratios of cells of different runs, whose blocks do not belong together, with this share of the error rate.
pub(crate) fn judge_unpaired(claims: &[Claim], trials: &[Trial], share: f64) -> Vec<Judged> {
    let find = |claim: &Claim| match &claim.subject {
        Subject::Ratio {
            value,
            of,
            to,
            bound,
        } => find_unpaired(trials, value, (of, to), *bound),
        _ => Err("only ratios are compared between runs".to_string()),
    };
    let found = claims.iter().map(find);
    let found: Vec<Found> = found
        .map(|found| found.unwrap_or_else(Found::not_available).weighed(share))
        .collect();
    let mut decisions = vec![Decision::default(); claims.len()];
    decide(&found, &mut decisions, 0);
    let followed = found.into_iter().zip(decisions).collect();
    conclusions(claims, followed, &[], Family::Values)
}

/// A claim on sides that cannot be compared.
pub(crate) fn not_available(claim: &Claim, why: &str) -> Judged {
    let found = Found::not_available(why.to_string());
    conclude(claim, found, &Decision::default(), (&[], Family::Values))
}

fn conclusions(
    claims: &[Claim],
    followed: Vec<(Found, Decision)>,
    looks: &[Look],
    family: Family,
) -> Vec<Judged> {
    let conclude = |(claim, (found, decision)): (&Claim, (Found, Decision))| Judged {
        decided_after: (looks.len() > 1).then_some(decision.after),
        ..conclude(claim, found, &decision, (looks, family))
    };
    claims.iter().zip(followed).map(conclude).collect()
}

/// Of each claim, whether the first so many blocks leave its verdict undecided and more blocks may decide it. A shape, a bound and a claim
/// without figures are never among them.
pub fn undecided(
    question: &Question,
    trials: &[Trial],
    holds: &PlanHolds,
    blocks: u32,
) -> Vec<bool> {
    let followed = follow((&question.looks(), &question.claims), trials, holds, blocks);
    let is_open = |(found, decision): &(Found, Decision)| found.is_open(decision);
    followed.iter().map(is_open).collect()
}

/// Takes every look at the claims for which there are trials in the blocks below `until`, one after the other.
fn follow(
    (looks, claims): (&Looks, &[Claim]),
    trials: &[Trial],
    holds: &PlanHolds,
    until: u32,
) -> Vec<(Found, Decision)> {
    let measured = trials.iter().map(|trial| trial.key.block + 1).max();
    let measured = measured.unwrap_or(0);
    let until = until.min(measured);
    let mut lenders = Lenders::of(trials, bound(looks.all(), 0, until));
    let mut found: Vec<Found> = Vec::new();
    let mut decisions: Vec<Decision> = vec![Decision::default(); claims.len()];
    for (place, look) in looks.all().iter().enumerate() {
        if place > 0 && looks.all()[place - 1].blocks >= until {
            break;
        }
        let until = bound(looks.all(), place, until);
        let seen: Vec<Found> = (claims.iter())
            .map(|claim| find(claim, trials, until, &mut lenders, holds).weighed(look.weight))
            .collect();
        found = match place {
            0 => seen,
            _ => (found.into_iter().zip(seen))
                .map(|(before, now)| before.followed_by(now))
                .collect(),
        };
        decide(&found, &mut decisions, until);
    }
    found.into_iter().zip(decisions).collect()
}

/// The number of blocks that a look judges; the last look judges all.
fn bound(looks: &[Look], place: usize, until: u32) -> u32 {
    match place + 1 == looks.len() {
        true => until,
        false => looks[place].blocks.min(until),
    }
}

/// Tests all claims together.
fn decide(found: &[Found], decisions: &mut [Decision], blocks: u32) {
    let tested: Vec<f64> = found.iter().filter_map(Found::p).collect();
    let sides: Vec<Option<Side>> = found.iter().map(|found| found.side).collect();
    let mut decided = holm::rejected(&tested, 1.0 - CONFIDENCE).into_iter();
    let directions = decide::directions(&sides);
    for ((found, decision), direction) in found.iter().zip(decisions).zip(directions) {
        decision.threshold = found.p().is_some() && decided.next().unwrap_or(false);
        decision.direction = direction;
        decision.tested = tested.len();
        decision.directed = sides.iter().flatten().count();
        decide::note(&mut decision.after, decision.threshold, direction, blocks);
    }
}

/// Whether a claim compares single queries of a round: their counters, which `Store::trials` leaves out and `trials_whole`
/// reads, are compared themselves or explain the claim.
pub fn needs_query_counters(question: &Question) -> bool {
    let is_counter = |value: &Value| value.measured() == Measured::Always;
    question.claims.iter().any(|claim| match &claim.subject {
        Subject::Ratio { of, to, .. } => of.query.is_some() || to.query.is_some(),
        Subject::Spread { value, among, .. } => is_counter(value) && among.query.is_some(),
        Subject::Finds { .. } => false,
    })
}

/// What the tests of all claims together say of one.
#[derive(Clone, Default)]
struct Decision {
    /// Whether its test against the threshold decides.
    threshold: bool,
    direction: Option<Direction>,
    /// Claims that share the error rate.
    tested: usize,
    /// Ratios that share the error rate of their directions.
    directed: usize,
    after: DecidedAfter,
}
