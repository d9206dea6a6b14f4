//! Why two cells differ, as keys.

use super::levels;
use crate::document::Explained;
use crate::{format, why};
use explain::{Difference, Doubled, Explanation, RowName, Why};
use serde_json::{Value, json};

/// Of a claim.
pub(super) fn explained(one: &Explained) -> Value {
    note(&one.why, one.sentence(format::plain_count))
}

/// The two rows that differ most.
pub(super) fn largest(found: &Explanation) -> Value {
    let reason = found.why.reason.as_ref();
    let sentence = reason.map(|reason| why::sentence(reason, ("of", "to"), format::plain_count));
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
    json!({
        "per": why::per(why),
        "sentence": sentence,
        "counters": differences.map(counter).collect::<Vec<_>>(),
    })
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
        "counts_twice": doubled,
        "meaning": difference.meaning,
    })
}
