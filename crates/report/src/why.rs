//! Why two cells differ, in words.
//!
//! Purpose: one wording in every form of a report. Boundary: crate `explain` decides what to report.

use crate::document::{Claim, Explained};
use crate::{format, names};
use explain::{Because, Difference, Evidence, Explanation, Reason, SideName, TimesVerdict, Why};
use record::{Cell, Judged, Subject, Trial};

/// Number of counters that are listed with a claim's explanation.
pub(crate) const COUNTERS: usize = 10;

const CAVEAT: &str = "Counters that move with the time suggest a cause. They do not prove it.";

/// A judged claim with what explains it.
pub(crate) fn claim(judged: Judged, trials: &[Trial]) -> Claim {
    let why = explained(&judged, trials);
    Claim { judged, why }
}

/// None for a claim that does not compare two measured cells.
fn explained(judged: &Judged, trials: &[Trial]) -> Option<Explained> {
    let Subject::Ratio { of, to, .. } = &judged.claim.subject else {
        return None;
    };
    Some(Explained {
        of: name(of, to),
        to: name(to, of),
        why: explain::explain_claim(&judged.claim, trials, COUNTERS)?,
    })
}

/// What distinguishes a cell from another: `5.6 · small pool, hot`.
fn name(cell: &Cell, other: &Cell) -> String {
    let differs = |(factor, levels): &&(String, Vec<String>)| {
        let theirs = other.levels.iter().find(|(name, _)| name == factor);
        theirs.is_none_or(|(_, theirs)| theirs != levels)
    };
    let level = |(factor, allowed): &(String, Vec<String>)| {
        let words = allowed.iter().map(|level| names::level(factor, level));
        words.collect::<Vec<_>>().join(" or ")
    };
    let levels = cell.levels.iter().filter(differs).map(level);
    let levels: Vec<String> = levels.collect();
    let round = cell.round.as_ref().filter(|_| cell.round != other.round);
    let round = round.map(|round| match round.index {
        Some(index) => format!("{} {index}", round.name),
        None => round.name.clone(),
    });
    let query = cell.query.clone().filter(|_| cell.query != other.query);
    let parts = [
        (!levels.is_empty()).then(|| levels.join(" · ")),
        round,
        query,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "all together".to_string(),
        false => parts.join(", "),
    }
}

/// What a reader of the explanations has to know; none where there is no explanation.
pub(crate) fn caveat(claims: &[Claim], largest: Option<&Explanation>) -> Option<&'static str> {
    let whys = claims.iter().filter_map(|claim| claim.why.as_ref());
    let mut whys = whys
        .map(|one| &one.why)
        .chain(largest.map(|largest| &largest.why));
    whys.any(|why| why.reason.is_some()).then_some(CAVEAT)
}

/// `off had 19.0 times as many pages read from disk as on (540,805 against 28,468). With on, ...`. `names` are those of the two
/// sides; counts are written by `count`.
pub(crate) fn sentence(reason: &Reason, names: (&str, &str), count: fn(f64) -> String) -> String {
    let (with, other) = match reason.with {
        SideName::Of => names,
        SideName::To => (names.1, names.0),
    };
    let what = reason.noun.unwrap_or(&reason.counter);
    let more = count(reason.more);
    let mut text = match reason.factor() {
        Some(factor) => {
            let factor = match factor >= 1000.0 {
                true => count(factor.round()),
                false => format::ratio(factor),
            };
            let fewer = count(reason.fewer);
            format!("{other} had {factor} times as many {what} as {with} ({more} against {fewer}).")
        }
        None => format!("{other} had {more} {what}, {with} none."),
    };
    for because in &reason.because {
        text.push_str(&format!(" With {with}, {}.", self::because(because, count)));
    }
    if reason.falls_short() {
        let times = format::ratio(reason.times_factor);
        text.push_str(&format!(" The times differ by more ({times}×)."));
    }
    text + doubt(reason)
}

/// Why no cause is named, as far as the noise forbids it.
fn doubt(reason: &Reason) -> &'static str {
    match (reason.times, reason.beyond_noise) {
        (TimesVerdict::OneBlock, _) | (_, None) => " Single block: variance unknown.",
        (TimesVerdict::WithinNoise, _) => " The times do not differ beyond noise.",
        (TimesVerdict::Nothing, _) => " The times do not show which of the two is faster.",
        (TimesVerdict::OtherLimits, _) => " Their servers had different limits.",
        (TimesVerdict::Differ, _) => "",
    }
}

fn because(because: &Because, count: fn(f64) -> String) -> String {
    let evidence = because.evidence.iter();
    let evidence: Vec<String> = evidence.map(|one| self::evidence(one, count)).collect();
    format!("{} ({})", because.words, evidence.join(", "))
}

fn evidence(evidence: &Evidence, count: fn(f64) -> String) -> String {
    match evidence {
        Evidence::Counter { name, with, other } => match other.filter(|other| *other > 0.0) {
            Some(other) => format!("{name} {} against {}", count(*with), count(other)),
            None => format!("{name} {}", count(*with)),
        },
        Evidence::Plan(words) => format!("its plan shows \"{words}\""),
        Evidence::Setting { name, with, other } => {
            format!("{name} {} against {}", setting(with), setting(other))
        }
    }
}

/// A number of bytes with its unit, anything else unchanged.
fn setting(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(bytes) if bytes >= 1 << 20 => format::bytes(bytes),
        _ => value.to_string(),
    }
}

/// What a counter means, and whether it counts double here.
pub(crate) fn meaning(difference: &Difference) -> Option<String> {
    let doubled = difference.doubled.map(|doubled| doubled.words());
    let parts: Vec<&str> = [difference.meaning, doubled]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The unit that counters are divided by: `query`, or `operation` of a timed load.
pub(crate) fn per(why: &Why) -> &'static str {
    if why.is_timed { "operation" } else { "query" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Index condition pushdown with Q19, as published.
    fn published() -> Reason {
        let counter = |name, with| Evidence::Counter {
            name,
            with,
            other: None,
        };
        Reason {
            counter: "Innodb_buffer_pool_reads".into(),
            noun: Some("pages read from disk"),
            with: SideName::To,
            fewer: 28_468.0,
            more: 540_805.0,
            beyond_noise: Some(true),
            times: TimesVerdict::Differ,
            times_factor: 39.0,
            because: vec![Because {
                words: "index condition pushdown checks the condition before it reads the row",
                evidence: vec![
                    counter("Handler_icp_attempts", 571_312.0),
                    counter("Handler_icp_match", 4_541.0),
                ],
            }],
        }
    }

    fn written(reason: &Reason) -> String {
        sentence(reason, ("off", "on"), format::count)
    }

    #[test]
    fn a_sentence_names_the_ratio_the_figures_and_the_cause() {
        assert_eq!(
            written(&published()),
            "off had 19.0 times as many pages read from disk as on (540,805 against 28,468). With on, index condition pushdown \
             checks the condition before it reads the row (Handler_icp_attempts 571,312, Handler_icp_match 4,541)."
        );
        assert!(
            sentence(&published(), ("off", "on"), format::plain_count)
                .contains("(540805 against 28468)")
        );
    }

    #[test]
    fn without_a_cause_the_sentence_ends_with_the_counter() {
        let reason = Reason {
            because: Vec::new(),
            beyond_noise: None,
            noun: None,
            fewer: 0.0,
            ..published()
        };
        assert_eq!(
            written(&reason),
            "off had 540,805 Innodb_buffer_pool_reads, on none. Single block: variance unknown."
        );
    }

    #[test]
    fn a_counter_that_differs_less_than_the_times_is_reported_as_such() {
        let reason = Reason {
            because: Vec::new(),
            fewer: 1_000.0,
            more: 1_270.0,
            times_factor: 8.82,
            ..published()
        };
        assert_eq!(
            written(&reason),
            "off had 1.27 times as many pages read from disk as on (1,270 against 1,000). The times differ by more (8.82×)."
        );
    }

    #[test]
    fn times_that_do_not_differ_are_reported_as_such() {
        let written = |times| {
            written(&Reason {
                because: Vec::new(),
                times,
                ..published()
            })
        };
        assert!(
            written(TimesVerdict::WithinNoise).ends_with(" The times do not differ beyond noise.")
        );
        assert!(written(TimesVerdict::OneBlock).ends_with(" Single block: variance unknown."));
        assert!(
            written(TimesVerdict::OtherLimits).ends_with(" Their servers had different limits.")
        );
    }

    #[test]
    fn settings_and_plans_are_evidence_too() {
        let written = |one: Evidence| evidence(&one, format::count);
        assert_eq!(
            written(Evidence::Plan("Using MRR")),
            "its plan shows \"Using MRR\""
        );
        let pool = Evidence::Setting {
            name: "innodb_buffer_pool_size",
            with: "4294967296".into(),
            other: "134217728".into(),
        };
        assert_eq!(
            written(pool),
            "innodb_buffer_pool_size 4.0 GiB against 128.0 MiB"
        );
    }
}
