//! The result of one claim as reports show it: figures, verdict and reason.

use super::decide::{self, Missing};
use super::found::{Evidence, Found};
use super::{Decision, Family};
use crate::inference::ratio::{Band, CONFIDENCE};
use record::Look;
use record::claim::{Bound, Claim, Direction, Judged, Subject, Verdict};

const ONE_BLOCK: &str = "single block: variance unknown, so no verdict";

pub(super) fn conclude(
    claim: &Claim,
    found: Found,
    decision: &Decision,
    (looks, family): (&[Look], Family),
) -> Judged {
    let missing = found.missing(decision);
    let ci = found.ci();
    let inside = |published: f64| ci.map(|(low, high)| (low..=high).contains(&published));
    let notes: Vec<String> = (found.notes.iter().cloned())
        .chain(decide::after_words(&decision.after, looks))
        .chain(
            not_decided(&found.evidence, decision, family)
                .or_else(|| no_direction(ci, decision, family)),
        )
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
        blocks: found.used,
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
        Evidence::Tested { .. } | Evidence::OneBlock | Evidence::TooShort => Verdict::Inconclusive,
    }
}

/// Why the figures do not show that the verdict is inconclusive.
fn not_decided(evidence: &Evidence, decision: &Decision, family: Family) -> Option<String> {
    match evidence {
        Evidence::Tested { p, .. } if !decision.threshold && *p <= 1.0 - CONFIDENCE => {
            let among = family.words(decision.tested, "tested claims");
            Some(format!("significant alone, but not among {among}"))
        }
        Evidence::OneBlock => Some(ONE_BLOCK.to_string()),
        _ => None,
    }
}

/// Why a direction is undecided although the interval excludes 1.
fn no_direction(ci: Option<(f64, f64)>, decision: &Decision, family: Family) -> Option<String> {
    let (low, high) = ci.filter(|_| decision.direction == Some(Direction::Undecided))?;
    let among = family.words(decision.directed, "ratios that are tested together");
    (low > 1.0 || high < 1.0).then(|| format!("the interval excludes 1, but not among {among}"))
}

impl Family {
    /// So many of it: `5 tested claims (Holm)`.
    fn words(self, count: usize, claims: &str) -> String {
        match self {
            Family::Claims => format!("{count} {claims} (Holm)"),
            Family::Values => format!("the {count} values that are tested together"),
        }
    }
}

/// The threshold in words: `>= 1.34`.
fn threshold(subject: &Subject) -> String {
    match subject {
        Subject::Ratio { bound, .. } => match bound {
            Bound::AtLeast(low) => format!(">= {}", figure(*low)),
            Bound::AtMost(high) => format!("<= {}", figure(*high)),
            Bound::Within(width) => {
                let band = Band::within(*width);
                format!("{} to {}", figure(band.low), figure(band.high))
            }
        },
        Subject::Spread { within, .. } => format!("<= {}", figure(1.0 + within)),
        Subject::Finds { finding, .. } => finding.text(),
    }
}

/// With more digits where it is small, and where rounding would make it 1.
fn figure(ratio: f64) -> String {
    let short = format!("{ratio:.2}");
    match ratio < 0.1 || (short == "1.00" && ratio != 1.0) {
        true => format!("{ratio:.4}"),
        false => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_beside_1_is_not_written_as_1() {
        let written = [1.0, 0.996, 1.0049, 1.02, 0.05].map(figure);
        assert_eq!(written, ["1.00", "0.9960", "1.0049", "1.02", "0.0500"]);
    }

    #[test]
    fn values_that_nobody_claimed_anything_about_are_no_claims() {
        let decision = Decision {
            direction: Some(Direction::Undecided),
            directed: 5,
            ..Decision::default()
        };
        let says = |family| no_direction(Some((1.1, 1.2)), &decision, family).unwrap();
        assert!(says(Family::Claims).ends_with("5 ratios that are tested together (Holm)"));
        assert!(says(Family::Values).ends_with("the 5 values that are tested together"));
        let p = Evidence::Tested {
            p: 0.04,
            claimed_side: true,
        };
        let said = not_decided(&p, &decision, Family::Values).unwrap();
        assert!(!said.contains("claim") && !said.contains("Holm"), "{said}");
    }
}
