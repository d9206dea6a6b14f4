//! The keys of a claim with its verdict.

use super::{doubts, failed, finite, why, without_nulls, work};
use crate::document::Claim;
use serde_json::{Value, json};

pub(super) fn claim(claim: &Claim) -> Value {
    let (judged, basis) = (&claim.judged, &claim.basis);
    let keys = json!({
        "says": judged.claim.says,
        "published": judged.claim.published,
        "measured": judged.measured,
        "ci": judged.ci.map(|(low, high)| (low, finite(high))),
        "limit": judged.limit,
        "verdict": judged.verdict,
        "direction": judged.direction,
        "published_inside": judged.published_inside,
        "blocks_to_decide": judged.blocks_to_decide,
        "decided_after": judged.decided_after,
        "blocks": judged.blocks,
        "failed_share": basis.failed.as_ref().map(failed),
        "other_work": work(&basis.other_work),
        "reason": judged.reason,
        "doubts": doubts(basis),
        "why": claim.why.as_ref().map(why::explained),
    });
    without_nulls(keys, &["doubts"])
}
