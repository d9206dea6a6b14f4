//! Claims against the record.
//!
//! A claim is reproduced where its test decides for the claimed side of the threshold, not reproduced where it decides
//! for the other, and inconclusive else. The tests of all claims share one error rate of 5 % (Holm). A test at a level
//! decides exactly where the t interval of that confidence lies wholly on one side.

use super::cells::{self, Series};
use super::finding;
use super::holm;
use super::plans;
use super::ratio::{Band, CONFIDENCE, LogMean};
use super::spread::Spread;
use crate::claim::{Bound, Cell, Claim, Finding, Judged, Limit, Subject, Value, Verdict};
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
    let found: Vec<Found> = question
        .claims
        .iter()
        .map(|claim| find(claim, trials, holds))
        .collect();
    let tested: Vec<f64> = found.iter().filter_map(Found::p).collect();
    let mut decided = holm::rejected(&tested, 1.0 - CONFIDENCE).into_iter();
    let conclude = |(claim, found): (&Claim, Found)| {
        let decided = found.p().is_some() && decided.next().unwrap_or(false);
        conclude(claim, found, decided, tested.len())
    };
    question.claims.iter().zip(found).map(conclude).collect()
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

/// The result for one claim before the correction for multiple tests.
struct Found {
    measured: Option<f64>,
    ci: Option<(f64, f64)>,
    limit: Option<Limit>,
    evidence: Evidence,
    notes: Vec<String>,
}

enum Evidence {
    /// The test's two-sided p value, and whether the figure is on the claimed side.
    Tested {
        p: f64,
        claimed_side: bool,
    },
    /// Seen or not seen in every trial; no test is needed.
    Seen(bool),
    /// Seen in some trials only.
    Mixed,
    OneBlock,
    Missing,
}

impl Found {
    fn p(&self) -> Option<f64> {
        match self.evidence {
            Evidence::Tested { p, .. } => Some(p),
            _ => None,
        }
    }

    fn missing(why: String) -> Found {
        Found {
            measured: None,
            ci: None,
            limit: None,
            evidence: Evidence::Missing,
            notes: vec![why],
        }
    }

    /// Takes the p values of the claimed side and of the other side; the smaller one decides.
    fn figure(ratio: &LogMean, p_claimed: f64, p_other: f64, notes: Vec<String>) -> Found {
        let tested = Evidence::Tested {
            p: p_claimed.min(p_other),
            claimed_side: p_claimed <= p_other,
        };
        let evidence = if ratio.count < 2 {
            Evidence::OneBlock
        } else {
            tested
        };
        Found {
            measured: Some(ratio.geometric()),
            ci: ratio.ci(),
            limit: None,
            evidence,
            notes,
        }
    }

    /// A figure that is only a bound: the interval is open on the other side.
    fn bounded(self, limit: Limit) -> Found {
        let open = |(low, high): (f64, f64)| match limit {
            Limit::AtLeast => (low, f64::INFINITY),
            Limit::AtMost => (0.0, high),
        };
        Found {
            ci: self.ci.map(open),
            limit: Some(limit),
            ..self
        }
    }
}

fn find(claim: &Claim, trials: &[Trial], holds: &PlanHolds) -> Found {
    let found = match &claim.subject {
        Subject::Ratio {
            value,
            of,
            to,
            bound,
        } => find_ratio(trials, value, of, to, *bound),
        Subject::Spread {
            value,
            among,
            within,
        } => find_spread(trials, value, among, *within),
        Subject::Finds { finding, of } => find_shape(trials, finding, of, holds),
    };
    found.unwrap_or_else(Found::missing)
}

fn find_ratio(
    trials: &[Trial],
    value: &Value,
    of: &Cell,
    to: &Cell,
    bound: Bound,
) -> Result<Found, String> {
    let (of, to) = (
        cells::series(trials, of, value)?,
        cells::series(trials, to, value)?,
    );
    let blocks = cells::common_blocks(&[&of, &to]);
    let ratio = LogMean::of_ratios(
        &cells::combined(&of, &blocks),
        &cells::combined(&to, &blocks),
    );
    let ratio = ratio.ok_or("no block has both sides")?;
    let limit = limit(&of, &to)?;
    let band = band(bound);
    let notes = [
        combined_note("of", &of),
        combined_note("to", &to),
        left_out_note(&[&of, &to], blocks.len()),
        limit.map(|_| LIMIT.to_string()),
    ];
    let notes = notes.into_iter().flatten().collect();
    let Some(limit) = limit else {
        let (inside, outside) = (band.p_inside(&ratio), band.p_outside(&ratio));
        return Ok(Found::figure(&ratio, inside, outside, notes));
    };
    let (inside, outside) = match limit {
        Limit::AtLeast => band.p_from_below(&ratio),
        Limit::AtMost => band.p_from_above(&ratio),
    };
    Ok(Found::figure(&ratio, inside, outside, notes).bounded(limit))
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

fn find_spread(
    trials: &[Trial],
    value: &Value,
    among: &Cell,
    within: f64,
) -> Result<Found, String> {
    let rows = cells::series(trials, among, value)?;
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
    let spread = Spread::of(&rows, &blocks).ok_or("no block has all rows")?;
    let band = Band::within(within);
    let notes = left_out_note(&[&rows], blocks.len()).into_iter().collect();
    Ok(Found::figure(
        &spread.widest,
        spread.p_inside(band),
        spread.p_outside(band),
        notes,
    ))
}

fn find_shape(
    trials: &[Trial],
    finding: &Finding,
    of: &Cell,
    reads: &PlanHolds,
) -> Result<Found, String> {
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
            let seen = match shown.found {
                0 => Evidence::Seen(false),
                found if found == shown.trials => Evidence::Seen(true),
                // One loss is a loss.
                _ if *finding == Finding::Losses => Evidence::Seen(true),
                _ if *finding == Finding::NoLosses => Evidence::Seen(false),
                _ => Evidence::Mixed,
            };
            (shown.blocks, seen, shown.text)
        }
    };
    Ok(Found {
        measured: None,
        ci: None,
        limit: None,
        evidence: if blocks < 2 { Evidence::OneBlock } else { seen },
        notes: vec![words],
    })
}

fn conclude(claim: &Claim, found: Found, decided: bool, tested: usize) -> Judged {
    let mut notes = found.notes;
    let verdict = match found.evidence {
        Evidence::Missing => Verdict::NotAvailable,
        Evidence::Seen(true) => Verdict::Reproduced,
        Evidence::Seen(false) => Verdict::NotReproduced,
        Evidence::Mixed => Verdict::Inconclusive,
        Evidence::Tested {
            claimed_side: true, ..
        } if decided => Verdict::Reproduced,
        Evidence::Tested {
            claimed_side: false,
            ..
        } if decided => Verdict::NotReproduced,
        Evidence::Tested { p, .. } => {
            if p <= 1.0 - CONFIDENCE {
                notes.push(format!(
                    "significant alone, but not among {tested} tested claims (Holm)"
                ));
            }
            Verdict::Inconclusive
        }
        Evidence::OneBlock => {
            notes.push(ONE_BLOCK.to_string());
            Verdict::Inconclusive
        }
    };
    let reason = (!notes.is_empty()).then(|| notes.join("; "));
    Judged {
        claim: claim.clone(),
        measured: found.measured,
        ci: found.ci,
        limit: found.limit,
        threshold: threshold(&claim.subject),
        verdict,
        reason,
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
