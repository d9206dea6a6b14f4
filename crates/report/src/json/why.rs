//! Why two cells differ, as keys.

use crate::why::{self, Explained};
use explain::{Difference, Doubled, Explanation, RowName, Why};
use record::{Run, Trial};
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub struct WhyNote {
    per: &'static str,
    sentence: Option<String>,
    counters: Vec<CounterNote>,
}

#[derive(Serialize)]
struct CounterNote {
    name: String,
    of: Option<f64>,
    to: Option<f64>,
    ratio: Option<f64>,
    beyond_noise: Option<bool>,
    counts_twice: Option<&'static str>,
    meaning: Option<&'static str>,
}

/// The two rows that differ most.
#[derive(Serialize)]
pub struct LargestNote {
    of: RowNote,
    to: RowNote,
    round: String,
    ratio: f64,
    at_least: bool,
    why: WhyNote,
}

#[derive(Serialize)]
struct RowNote {
    server: Option<String>,
    levels: Map<String, Value>,
}

impl From<Explained> for WhyNote {
    fn from(one: Explained) -> WhyNote {
        let sentence = one.sentence();
        note(one.why, sentence)
    }
}

pub fn caveat(run: &Run, trials: &[Trial]) -> Option<&'static str> {
    let largest = explain::explain_largest(&run.question, trials, why::COUNTERS);
    why::caveat(&why::claims(run, trials), largest.as_ref())
}

pub fn largest(run: &Run, trials: &[Trial]) -> Option<LargestNote> {
    let Explanation {
        of,
        to,
        round,
        ratio,
        at_least,
        why,
    } = explain::explain_largest(&run.question, trials, why::COUNTERS)?;
    let reason = why.reason.as_ref();
    let sentence = reason.map(|reason| why::sentence(reason, ("of", "to")));
    Some(LargestNote {
        of: row(of),
        to: row(to),
        round,
        ratio,
        at_least,
        why: note(why, sentence),
    })
}

fn row((server, levels): RowName) -> RowNote {
    let levels = levels.into_iter();
    RowNote {
        server,
        levels: levels
            .map(|(factor, level)| (factor, level.into()))
            .collect(),
    }
}

/// Spaces between thousands are plain ones, which scripts search for.
fn note(why: Why, sentence: Option<String>) -> WhyNote {
    WhyNote {
        per: why::per(&why),
        sentence: sentence.map(|sentence| sentence.replace('\u{a0}', " ")),
        counters: why.differences.into_iter().map(counter).collect(),
    }
}

fn counter(difference: Difference) -> CounterNote {
    CounterNote {
        name: difference.counter,
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
