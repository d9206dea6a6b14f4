//! Claims against the record.
//!
//! A claim is reproduced where its test decides for the claimed side of the threshold, not reproduced where it decides
//! for the other, and inconclusive else. The tests of all claims share one error rate of 5 % (Holm), and so do their
//! directions. A test at a level decides exactly where the moderated t interval of that confidence lies wholly on one side.
//! Where a run looks at its claims several times, the smallest p over the looks counts, each divided by its look's weight.

use super::cells::{self, Series};
use super::decide::{self, Missing, Side};
use super::finding;
use super::holm;
use super::lender::{self, Lenders};
use super::plans;
use super::ratio::{Band, CONFIDENCE, LogMean, MARGIN};
use super::spread::Spread;
use crate::claim::{
    Bound, Cell, Claim, DecidedAfter, Direction, Finding, Judged, Limit, Subject, Value, Verdict,
};
use crate::looks::{Look, Looks};
use crate::run::Question;
use crate::trial::Trial;

const ONE_BLOCK: &str = "single block: variance unknown, so no verdict";
const LIMIT: &str = "a query reached the time limit: the figure is a bound";

/// Tests whether a plan contains a text. Arguments: trial, query, plan hash, text. None if the plan's text is not recorded. Only
/// crate `explain` can read plans.
pub type PlanHolds<'h> = dyn Fn(&Trial, &str, &str, &str) -> Option<bool> + 'h;

/// Every claim of the question, in its order, with what these trials say about it.
///
/// Needs whole trials if [`needs_query_counters`] returns true.
pub fn judge(question: &Question, trials: &[Trial], holds: &PlanHolds) -> Vec<Judged> {
    judged_at(&question.looks(), &question.claims, trials, holds)
}

/// The claims of a comparison, which is made once.
pub(super) fn judge_paired(claims: &[Claim], trials: &[Trial], holds: &PlanHolds) -> Vec<Judged> {
    judged_at(&Looks::fixed(u32::MAX), claims, trials, holds)
}

fn judged_at(looks: &Looks, claims: &[Claim], trials: &[Trial], holds: &PlanHolds) -> Vec<Judged> {
    let followed = follow((looks, claims), trials, holds, u32::MAX);
    conclusions(claims, followed, looks.all())
}

/// The same for ratios of cells of different runs, whose blocks do not belong together.
pub(super) fn judge_unpaired(claims: &[Claim], trials: &[Trial]) -> Vec<Judged> {
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
        .map(|found| found.unwrap_or_else(Found::not_available).weighed(1.0))
        .collect();
    let mut decisions = vec![Decision::default(); claims.len()];
    decide(&found, &mut decisions, 0);
    conclusions(claims, found.into_iter().zip(decisions).collect(), &[])
}

fn conclusions(claims: &[Claim], followed: Vec<(Found, Decision)>, looks: &[Look]) -> Vec<Judged> {
    let conclude = |(claim, (found, decision)): (&Claim, (Found, Decision))| Judged {
        decided_after: (looks.len() > 1).then_some(decision.after),
        ..conclude(claim, found, &decision, looks)
    };
    claims.iter().zip(followed).map(conclude).collect()
}

/// Of each claim, whether the first so many blocks leave it undecided and more blocks may decide it. A shape, a bound and a claim
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
        decision.after.note(decision.threshold, direction, blocks);
    }
}

/// Whether a claim compares single queries of a round: their counters, which `Store::trials` leaves out and `trials_whole`
/// reads, are compared themselves or explain the claim.
pub fn needs_query_counters(question: &Question) -> bool {
    let is_counter = |value: &Value| matches!(value, Value::Counter(_) | Value::Quotient(..));
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
    after: DecidedAfter,
}

/// The result for one claim before the correction for multiple tests.
#[derive(Default)]
struct Found {
    ratio: Option<LogMean>,
    /// All pairs, of which `ratio` is the widest.
    spread: Option<Spread>,
    limit: Option<Limit>,
    evidence: Evidence,
    side: Option<Side>,
    /// Complete blocks that it rests on.
    blocks: usize,
    /// Of its look.
    weight: f64,
    /// The nearest ratio that the threshold separates from the claimed ones.
    edge: f64,
    notes: Vec<String>,
}

#[derive(Default)]
enum Evidence {
    /// The test's two-sided p value, and whether the figure is on the claimed side.
    Tested {
        p: f64,
        claimed_side: bool,
    },
    /// Read from the record itself, without noise; no test is needed.
    Seen(bool),
    OneBlock,
    #[default]
    Missing,
}

impl Evidence {
    /// Takes the p values of the claimed side and of the other side; the smaller one decides.
    fn tested((p_claimed, p_other): (f64, f64)) -> Evidence {
        Evidence::Tested {
            p: p_claimed.min(p_other),
            claimed_side: p_claimed <= p_other,
        }
    }

    fn p(&self) -> Option<f64> {
        match self {
            Evidence::Tested { p, .. } => Some(*p),
            _ => None,
        }
    }
}

impl Found {
    fn p(&self) -> Option<f64> {
        self.evidence.p()
    }

    fn not_available(why: String) -> Found {
        Found {
            notes: vec![why],
            ..Found::default()
        }
    }

    fn figure(ratio: LogMean, p_values: (f64, f64), notes: Vec<String>) -> Found {
        Found {
            evidence: match ratio.count < 2 {
                true => Evidence::OneBlock,
                false => Evidence::tested(p_values),
            },
            blocks: ratio.count,
            ratio: Some(ratio),
            notes,
            ..Found::default()
        }
    }

    /// The confidence interval; of a bound it is open on the other side.
    fn ci(&self) -> Option<(f64, f64)> {
        let alpha = (1.0 - CONFIDENCE) * self.weight;
        let (low, high) = match &self.spread {
            Some(spread) => spread.interval(alpha)?,
            None => self.ratio?.interval(alpha)?,
        };
        Some(match self.limit {
            None => (low, high),
            Some(Limit::AtLeast) => (low, f64::INFINITY),
            Some(Limit::AtMost) => (0.0, high),
        })
    }

    /// None where the figure is a bound: more blocks do not move it across the threshold. The direction of a ratio that is
    /// equivalent to 1 is not missed.
    fn missing(&self, decision: &Decision) -> Option<Missing> {
        let ratio = self
            .ratio
            .filter(|ratio| ratio.count > 1 && self.limit.is_none())?;
        let undecided =
            decision.direction == Some(Direction::Undecided) && !Band::within(MARGIN).holds(&ratio);
        let edge = (!decision.threshold).then_some(self.edge);
        let alpha = (1.0 - CONFIDENCE) * self.weight / decision.tested.max(1) as f64;
        Missing::of(&ratio, undecided.then_some(1.0), edge, alpha)
    }

    /// Whether more blocks may decide what is not decided.
    fn is_open(&self, decision: &Decision) -> bool {
        match self.evidence {
            Evidence::OneBlock => self.ratio.is_some() && self.limit.is_none(),
            _ => self.missing(decision).is_some(),
        }
    }

    /// The p values as shares of the error rate of their look.
    fn weighed(mut self, weight: f64) -> Found {
        self.weight = weight;
        self.side = self.side.map(|side| side.weighed(weight));
        if let Evidence::Tested { p, .. } = &mut self.evidence {
            *p = (*p / weight).min(1.0);
        }
        self
    }

    /// What two looks show together: the later figure, and of each test the smaller p value. Where nothing was measured between them,
    /// there was no second look.
    fn followed_by(self, later: Found) -> Found {
        let is_missing = matches!(later.evidence, Evidence::Missing);
        if later.blocks <= self.blocks && !is_missing {
            return self;
        }
        let keeps = matches!((self.p(), later.p()), (Some(before), Some(now)) if before <= now);
        Found {
            side: match (self.side, later.side) {
                (Some(before), Some(now)) => Some(before.or(now)),
                (_, now) => now,
            },
            evidence: match keeps {
                true => self.evidence,
                false => later.evidence,
            },
            ..later
        }
    }
}

/// In the blocks below `until`; a shape in all blocks.
fn find<'t>(
    claim: &Claim,
    trials: &'t [Trial],
    until: u32,
    lenders: &mut Lenders<'t>,
    holds: &PlanHolds,
) -> Found {
    let found = match &claim.subject {
        Subject::Ratio {
            value,
            of,
            to,
            bound,
        } => find_ratio(trials, until, lenders, value, (of, to), *bound),
        Subject::Spread {
            value,
            among,
            within,
        } => find_spread(trials, until, lenders, value, among, *within),
        Subject::Finds { finding, of } => find_shape(trials, finding, of, holds),
    };
    found.unwrap_or_else(Found::not_available)
}

fn find_ratio<'t>(
    trials: &'t [Trial],
    until: u32,
    lenders: &mut Lenders<'t>,
    value: &Value,
    cells: (&Cell, &Cell),
    bound: Bound,
) -> Result<Found, String> {
    let Pair {
        ratio,
        of,
        to,
        blocks,
    } = pair(trials, until, lenders, value, cells)?;
    let left_out = left_out_note(&[&of, &to], blocks.len());
    tested(ratio, (&of, &to), bound, left_out)
}

fn find_unpaired(
    trials: &[Trial],
    value: &Value,
    (of, to): (&Cell, &Cell),
    bound: Bound,
) -> Result<Found, String> {
    let of = cells::series(trials, of, value, u32::MAX)?;
    let to = cells::series(trials, to, value, u32::MAX)?;
    let values = |rows: &[Series]| cells::combined(rows, &cells::common_blocks(&[rows]));
    let ratio = LogMean::unpaired(&values(&of), &values(&to)).ok_or("a side has no value")?;
    tested(lender::at_resolution(ratio, value), (&of, &to), bound, None)
}

/// The ratio against 1 and against the bound.
fn tested(
    ratio: LogMean,
    (of, to): (&[Series], &[Series]),
    bound: Bound,
    left_out: Option<String>,
) -> Result<Found, String> {
    let limit = limit(of, to)?;
    let band = band(bound);
    let p_values = match limit {
        None => (band.p_inside(&ratio), band.p_outside(&ratio)),
        Some(Limit::AtLeast) => band.p_from_below(&ratio),
        Some(Limit::AtMost) => band.p_from_above(&ratio),
    };
    let notes = [
        combined_note("of", of),
        combined_note("to", to),
        left_out,
        limit.map(|_| LIMIT.to_string()),
        uncertain_note(of.iter().chain(to)),
    ];
    let notes = notes.into_iter().flatten().collect();
    Ok(Found {
        limit,
        side: Side::of(&ratio, limit),
        edge: band.nearest_edge(&ratio),
        ..Found::figure(ratio, p_values, notes)
    })
}

/// Two cells, with what their matrix lends to their ratio.
pub(super) struct Pair<'t> {
    pub(super) ratio: LogMean,
    of: Vec<Series<'t>>,
    to: Vec<Series<'t>>,
    blocks: Vec<u32>,
}

pub(super) fn pair<'t>(
    trials: &'t [Trial],
    until: u32,
    lenders: &mut Lenders<'t>,
    value: &Value,
    (of_cell, to_cell): (&Cell, &Cell),
) -> Result<Pair<'t>, String> {
    let of = cells::series(trials, of_cell, value, until)?;
    let to = cells::series(trials, to_cell, value, until)?;
    let blocks = cells::common_blocks(&[&of, &to]);
    let ratio = LogMean::of_ratios(
        &cells::combined(&of, &blocks),
        &cells::combined(&to, &blocks),
    );
    let ratio = ratio.ok_or("no block has both sides")?;
    Ok(Pair {
        ratio: lenders.moderate(ratio, value, (of_cell, &of), (to_cell, &to)),
        of,
        to,
        blocks,
    })
}

/// Returns an error if both sides reached the time limit: the ratio is unknown.
fn limit(of: &[Series], to: &[Series]) -> Result<Option<Limit>, String> {
    let any = |rows: &[Series]| rows.iter().any(|row| row.at_least);
    match (any(of), any(to)) {
        (true, true) => Err("queries of both sides reached the time limit".to_string()),
        (true, false) => Ok(Some(Limit::AtLeast)),
        (false, true) => Ok(Some(Limit::AtMost)),
        (false, false) => Ok(None),
    }
}

fn find_spread<'t>(
    trials: &'t [Trial],
    until: u32,
    lenders: &mut Lenders<'t>,
    value: &Value,
    among: &Cell,
    within: f64,
) -> Result<Found, String> {
    let rows = cells::series(trials, among, value, until)?;
    if rows.len() < 2 {
        return Err(format!(
            "only one row of {}: nothing to compare it with",
            cells::cell_words(among)
        ));
    }
    let blocks = cells::common_blocks(&[&rows]);
    if rows.iter().any(|row| row.at_least) {
        return Err("a query reached the time limit: the maximum is unknown".into());
    }
    let lend = |ratio, of: &Series<'t>, to: &Series<'t>| {
        let side = |row| (among, std::slice::from_ref(row));
        lenders.moderate(ratio, value, side(of), side(to))
    };
    let spread = Spread::of(&rows, &blocks, lend).ok_or("no block has all rows")?;
    let band = Band::within(within);
    let notes = left_out_note(&[&rows], blocks.len()).into_iter();
    let notes = notes.chain(uncertain_note(rows.iter())).collect();
    let p_values = (spread.p_inside(band), spread.p_outside(band));
    let figure = Found::figure(spread.widest, p_values, notes);
    Ok(Found {
        edge: band.nearest_edge(&spread.widest),
        spread: Some(spread),
        ..figure
    })
}

fn find_shape(
    trials: &[Trial],
    finding: &Finding,
    of: &Cell,
    reads: &PlanHolds,
) -> Result<Found, String> {
    cells::all_applied(&cells::matching(trials, of))?;
    let (blocks, seen, words) = match finding {
        Finding::PlanChanged => {
            let seen = plans::seen(trials, of)?;
            let (changed, words) = seen.changed();
            (seen.blocks(), Evidence::Seen(changed), words)
        }
        Finding::PlanHolds(text) => {
            let seen = plans::seen(trials, of)?;
            let (holds, words) = seen.holds(text, reads)?;
            (seen.blocks(), Evidence::Seen(holds), words)
        }
        _ => {
            let shown = finding::shown(trials, finding, of)?;
            let evidence = match finding {
                // One loss is a loss.
                Finding::Losses => Evidence::Seen(shown.found > 0),
                Finding::NoLosses => Evidence::Seen(shown.found == shown.trials),
                _ => Evidence::tested(shown.p_values(finding)),
            };
            let p = evidence.p().filter(|_| shown.blocks > 1);
            (shown.blocks, evidence, shown.words(p))
        }
    };
    Ok(Found {
        evidence: if blocks < 2 { Evidence::OneBlock } else { seen },
        blocks,
        notes: vec![words],
        ..Found::default()
    })
}

fn conclude(claim: &Claim, found: Found, decision: &Decision, looks: &[Look]) -> Judged {
    let missing = found.missing(decision);
    let ci = found.ci();
    let inside = |published: f64| ci.map(|(low, high)| (low..=high).contains(&published));
    let notes: Vec<String> = (found.notes.iter().cloned())
        .chain(decide::after_words(&decision.after, looks))
        .chain(not_decided(&found.evidence, decision))
        .chain(missing.as_ref().map(Missing::text))
        .collect();
    Judged {
        claim: claim.clone(),
        measured: found.ratio.map(|ratio| ratio.geometric()),
        ci,
        limit: found.limit,
        threshold: threshold(&claim.subject),
        verdict: verdict(&found.evidence, decision),
        direction: decision.direction,
        published_inside: claim.published.and_then(inside),
        blocks_to_decide: missing.and_then(|missing| missing.all()),
        decided_after: None,
        reason: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

fn verdict(evidence: &Evidence, decision: &Decision) -> Verdict {
    match evidence {
        Evidence::Missing => Verdict::NotAvailable,
        Evidence::Seen(true) => Verdict::Reproduced,
        Evidence::Seen(false) => Verdict::NotReproduced,
        Evidence::Tested { claimed_side, .. } if decision.threshold => match claimed_side {
            true => Verdict::Reproduced,
            false => Verdict::NotReproduced,
        },
        Evidence::Tested { .. } | Evidence::OneBlock => Verdict::Inconclusive,
    }
}

/// Why the figures do not show that the verdict is inconclusive.
fn not_decided(evidence: &Evidence, decision: &Decision) -> Option<String> {
    match evidence {
        Evidence::Tested { p, .. } if !decision.threshold && *p <= 1.0 - CONFIDENCE => {
            Some(format!(
                "significant alone, but not among {} tested claims (Holm)",
                decision.tested
            ))
        }
        Evidence::OneBlock => Some(ONE_BLOCK.to_string()),
        _ => None,
    }
}

fn band(bound: Bound) -> Band {
    match bound {
        Bound::AtLeast(low) => Band {
            low,
            high: f64::INFINITY,
        },
        Bound::AtMost(high) => Band { low: 0.0, high },
        Bound::Within(width) => Band::within(width),
    }
}

fn combined_note(side: &str, rows: &[Series]) -> Option<String> {
    (rows.len() > 1).then(|| format!("`{side}` is the geometric mean of {} rows", rows.len()))
}

/// The first of the values that is uncertain.
fn uncertain_note<'s>(mut rows: impl Iterator<Item = &'s Series<'s>>) -> Option<String> {
    rows.find_map(|row| row.uncertain.clone())
}

fn left_out_note(all: &[&[Series]], used: usize) -> Option<String> {
    let blocks: std::collections::BTreeSet<u32> = all
        .iter()
        .flat_map(|rows| rows.iter())
        .flat_map(|row| row.by_block.keys().copied())
        .collect();
    (blocks.len() > used).then(|| {
        format!(
            "{} of {} blocks are incomplete and left out",
            blocks.len() - used,
            blocks.len()
        )
    })
}

/// The threshold in words: `>= 1.34`.
fn threshold(subject: &Subject) -> String {
    match subject {
        Subject::Ratio {
            bound: Bound::AtLeast(low),
            ..
        } => format!(">= {}", figure(*low)),
        Subject::Ratio {
            bound: Bound::AtMost(high),
            ..
        } => format!("<= {}", figure(*high)),
        Subject::Ratio {
            bound: Bound::Within(width),
            ..
        } => {
            let band = Band::within(*width);
            format!("{} to {}", figure(band.low), figure(band.high))
        }
        Subject::Spread { within, .. } => format!("<= {}", figure(1.0 + within)),
        Subject::Finds { finding, .. } => match finding {
            Finding::PlanChanged => "plan changed".to_string(),
            Finding::PlanHolds(text) => format!("plan holds {text:?}"),
            Finding::Unstable => "unstable".to_string(),
            Finding::Stall => "stall".to_string(),
            Finding::LevelShift => "level shift".to_string(),
            Finding::Period => "period".to_string(),
            Finding::Steady => "steady".to_string(),
            Finding::Losses => "losses".to_string(),
            Finding::NoLosses => "no losses".to_string(),
        },
    }
}

fn figure(ratio: f64) -> String {
    if ratio < 0.1 {
        format!("{ratio:.4}")
    } else {
        format!("{ratio:.2}")
    }
}
