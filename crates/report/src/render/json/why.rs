//! Why two cells differ, as keys.

use super::levels;
use crate::document::Explained;
use crate::{format, why};
use explain::{Difference, Doubled, Explanation, Finding, RowName, Unintended, Why};
use serde_json::{Value, json};

/// The explanation of a claim.
pub(super) fn explained(one: &Explained) -> Value {
    note(&one.why, one.sentence(format::plain_count))
}

/// The two rows that differ most.
pub(super) fn largest(found: &Explanation) -> Value {
    let sentence = why::sentence(&found.why, ("of", "to"), format::plain_count);
    let row = |(server, own): &RowName| json!({ "server": server, "levels": levels(own) });
    json!({
        "of": row(&found.of),
        "to": row(&found.to),
        "round": found.round,
        "ratio": found.ratio,
        "at_least": found.at_least,
        "why": note(&found.why, sentence),
    })
}

fn note(why: &Why, sentence: Option<String>) -> Value {
    let differences = why.differences.iter().take(why::COUNTERS);
    let because = why.reason().into_iter().flat_map(|reason| &reason.because);
    json!({
        "per": why::per(why),
        "sentence": sentence,
        "explained_by": explained_by(&why.finding),
        "because": because.map(|because| because.words).collect::<Vec<_>>(),
        "unintended": why.unintended.iter().map(unintended).collect::<Vec<_>>(),
        "counters": differences.map(counter).collect::<Vec<_>>(),
    })
}

/// The counter or the limit; null if nothing explains the difference, or if the times do not differ.
fn explained_by(finding: &Finding) -> Option<&str> {
    match finding {
        Finding::Counter(reason) => Some(&reason.counter),
        Finding::Limit(limit) => Some(&limit.name),
        Finding::Unexplained(_) | Finding::Nothing(_) => None,
    }
}

fn unintended(one: &Unintended) -> Value {
    json!({ "name": one.name, "of": one.of, "to": one.to })
}

fn counter(difference: &Difference) -> Value {
    let doubled = difference.doubled.map(|doubled| match doubled {
        Doubled::Of => "of",
        Doubled::To => "to",
        Doubled::Both => "both",
    });
    json!({
        "name": difference.counter,
        "of": difference.of,
        "to": difference.to,
        "ratio": difference.ratio,
        "beyond_noise": difference.beyond_noise,
        "cost_us": difference.explains.map(|explains| explains.each.typical_s * 1e6),
        "cost_measured": difference.explains.map(|explains| explains.each.measured),
        "share": difference.explains.map(|explains| explains.share),
        "counts_twice": doubled,
        "meaning": difference.meaning,
    })
}
