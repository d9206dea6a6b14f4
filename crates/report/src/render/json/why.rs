//! Why two cells differ, as keys.

use super::levels;
use crate::document::Explained;
use crate::{format, why};
use explain::{Difference, Doubled, Explanation, RowName, Why};
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub struct WhyNote<'a> {
    per: &'static str,
    sentence: Option<String>,
    counters: Vec<CounterNote<'a>>,
}

#[derive(Serialize)]
struct CounterNote<'a> {
    name: &'a str,
    of: Option<f64>,
    to: Option<f64>,
    ratio: Option<f64>,
    beyond_noise: Option<bool>,
    counts_twice: Option<&'static str>,
    meaning: Option<&'static str>,
}

/// The two rows that differ most.
#[derive(Serialize)]
pub struct LargestNote<'a> {
    of: RowNote<'a>,
    to: RowNote<'a>,
    round: &'a str,
    ratio: f64,
    at_least: bool,
    why: WhyNote<'a>,
}

#[derive(Serialize)]
struct RowNote<'a> {
    server: Option<&'a str>,
    levels: Map<String, Value>,
}

impl<'a> From<&'a Explained> for WhyNote<'a> {
    fn from(one: &'a Explained) -> WhyNote<'a> {
        note(&one.why, one.sentence(format::plain_count))
    }
}

pub fn largest(found: &Explanation) -> LargestNote<'_> {
    let reason = found.why.reason.as_ref();
    let sentence = reason.map(|reason| why::sentence(reason, ("of", "to"), format::plain_count));
    LargestNote {
        of: row(&found.of),
        to: row(&found.to),
        round: &found.round,
        ratio: found.ratio,
        at_least: found.at_least,
        why: note(&found.why, sentence),
    }
}

fn row((server, own): &RowName) -> RowNote<'_> {
    RowNote {
        server: server.as_deref(),
        levels: levels(own),
    }
}

fn note(why: &Why, sentence: Option<String>) -> WhyNote<'_> {
    WhyNote {
        per: why::per(why),
        sentence,
        counters: why
            .differences
            .iter()
            .take(why::COUNTERS)
            .map(counter)
            .collect(),
    }
}

fn counter(difference: &Difference) -> CounterNote<'_> {
    CounterNote {
        name: &difference.counter,
        of: difference.of,
        to: difference.to,
        ratio: difference.ratio,
        beyond_noise: difference.beyond_noise,
        counts_twice: difference.doubled.map(|doubled| match doubled {
            Doubled::Of => "of",
            Doubled::To => "to",
            Doubled::Both => "both",
        }),
        meaning: difference.meaning,
    }
}
