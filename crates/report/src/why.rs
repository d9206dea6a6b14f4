//! Why two cells differ, in words: the sentence of a claim, of the largest difference, and the warning of a counter.
//!
//! Goal: one wording in every form of a report. What is said is decided by crate `explain`.

use crate::{format, names};
use explain::{Because, Difference, Evidence, Explanation, Reason, SideName, TimesSay, Why};
use record::{Cell, Claim, Run, Subject, Trial};

/// Counters of a claim that are listed beside its sentence.
pub const COUNTERS: usize = 10;

const CAVEAT: &str = "Counters that move with the time suggest a cause, they do not prove it.";

/// A claim on two cells with what explains it.
pub struct Explained {
    pub says: String,
    /// The names of the two cells, as far as they differ.
    pub of: String,
    pub to: String,
    pub why: Why,
}

/// The claims that compare two measured cells whose counters differ, in the file's order.
pub fn claims(run: &Run, trials: &[Trial]) -> Vec<Explained> {
    let claims = run.question.claims.iter();
    let explained = claims.filter_map(|claim| explained(claim, trials));
    explained
        .filter(|one| !one.why.differences.is_empty())
        .collect()
}

/// None for a claim that compares no two cells, or cells that were not measured.
pub fn explained(claim: &Claim, trials: &[Trial]) -> Option<Explained> {
    let Subject::Ratio { of, to, .. } = &claim.subject else {
        return None;
    };
    Some(Explained {
        says: claim.says.clone(),
        of: name(of, to),
        to: name(to, of),
        why: explain::explain_claim(claim, trials, COUNTERS)?,
    })
}

/// What tells a cell from another one: `5.6 · small pool, hot`.
fn name(cell: &Cell, other: &Cell) -> String {
    let told = |(factor, levels): &&(String, Vec<String>)| {
        let theirs = other.levels.iter().find(|(name, _)| name == factor);
        theirs.is_none_or(|(_, theirs)| theirs != levels)
    };
    let levels = cell.levels.iter().filter(told);
    let level = |(factor, allowed): &(String, Vec<String>)| {
        let words: Vec<String> = (allowed.iter())
            .map(|level| names::level(factor, level))
            .collect();
        words.join(" or ")
    };
    let levels: Vec<String> = levels.map(level).collect();
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

impl Explained {
    /// `on had 19.0x fewer pages read on demand (540 805 against 28 468), because ...`
    pub fn sentence(&self) -> Option<String> {
        let reason = self.why.reason.as_ref()?;
        Some(sentence(reason, (&self.of, &self.to)))
    }
}

/// What a reader of these sentences has to know; none where there is no sentence.
pub fn caveat(claims: &[Explained], largest: Option<&Explanation>) -> Option<&'static str> {
    let mut whys = claims.iter().map(|one| &one.why);
    let said = whys.any(|why| why.reason.is_some())
        || largest.is_some_and(|largest| largest.why.reason.is_some());
    said.then_some(CAVEAT)
}

/// `names`: of the two sides.
pub fn sentence(reason: &Reason, names: (&str, &str)) -> String {
    let with = match reason.with {
        SideName::Of => names.0,
        SideName::To => names.1,
    };
    let mut text = format!("{with} had {}", fewer(reason));
    for (place, because) in reason.because.iter().enumerate() {
        let joint = if place == 0 {
            ", because"
        } else {
            "; and because"
        };
        text.push_str(&format!("{joint} {}", self::because(because)));
    }
    if reason.falls_short() {
        let times = format::ratio(reason.times_factor);
        text.push_str(&format!("; the times differ by more, {times}x"));
    }
    text + doubt(reason)
}

/// Why no cause is named, as far as the noise forbids it.
fn doubt(reason: &Reason) -> &'static str {
    match (reason.times, reason.beyond_noise) {
        (TimesSay::OneBlock, _) | (_, None) => "; measured once, so nobody knows its noise",
        (TimesSay::WithinNoise, _) => "; the times do not differ beyond noise",
        (TimesSay::Nothing, _) => "; the times do not say which of the two is faster",
        (TimesSay::OtherLimits, _) => "; their servers were held to other limits",
        (TimesSay::Differ, _) => "",
    }
}

/// `19.0x fewer pages read on demand (540 805 against 28 468)`
fn fewer(reason: &Reason) -> String {
    let what = reason.noun.unwrap_or(&reason.counter);
    let times = match reason.factor() {
        Some(factor) => format!("{}x fewer", format::ratio(factor)),
        None => "no".to_string(),
    };
    format!(
        "{times} {what} ({} against {})",
        format::count(reason.more),
        format::count(reason.fewer)
    )
}

fn because(because: &Because) -> String {
    let evidence: Vec<String> = because.evidence.iter().map(evidence).collect();
    format!("{}: {}", because.words, evidence.join(", "))
}

fn evidence(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Counter { name, with, other } => match other.filter(|other| *other > 0.0) {
            Some(other) => format!(
                "{name} {} against {}",
                format::count(*with),
                format::count(other)
            ),
            None => format!("{name} {}", format::count(*with)),
        },
        Evidence::Plan(words) => format!("its plan says \"{words}\""),
        Evidence::Setting { name, with, other } => {
            format!("{name} {} against {}", setting(with), setting(other))
        }
    }
}

/// A number of bytes as such, anything else as it is.
fn setting(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(bytes) if bytes >= 1 << 20 => format::bytes(bytes),
        _ => value.to_string(),
    }
}

/// What a counter means, and whether it counts double here.
pub fn meaning(difference: &Difference) -> String {
    let doubled = difference.doubled.map(|doubled| doubled.words());
    let parts = [difference.meaning, doubled];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What the counters are per: `query`, or `operation` of a timed load.
pub fn per(why: &Why) -> &'static str {
    if why.is_timed { "operation" } else { "query" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P6: index condition pushdown with Q19.
    fn published() -> Reason {
        let counter = |name, with| Evidence::Counter {
            name,
            with,
            other: None,
        };
        Reason {
            counter: "Innodb_buffer_pool_reads".into(),
            noun: Some("pages read on demand"),
            with: SideName::To,
            fewer: 28_468.0,
            more: 540_805.0,
            beyond_noise: Some(true),
            times: TimesSay::Differ,
            times_factor: 39.0,
            because: vec![Because {
                words: "the condition is checked in the index before the row is read",
                evidence: vec![
                    counter("Handler_icp_attempts", 571_312.0),
                    counter("Handler_icp_match", 4_541.0),
                ],
            }],
        }
    }

    #[test]
    fn the_published_sentence_is_made_from_data() {
        assert_eq!(
            sentence(&published(), ("off", "on")).replace('\u{a0}', ","),
            "on had 19.0x fewer pages read on demand (540,805 against 28,468), because the condition is checked in the \
             index before the row is read: Handler_icp_attempts 571,312, Handler_icp_match 4,541"
        );
    }

    #[test]
    fn without_a_cause_the_counter_is_said_alone() {
        let reason = Reason {
            because: Vec::new(),
            beyond_noise: None,
            noun: None,
            fewer: 0.0,
            ..published()
        };
        assert_eq!(
            sentence(&reason, ("off", "on")).replace('\u{a0}', ","),
            "on had no Innodb_buffer_pool_reads (540,805 against 0); measured once, so nobody knows its noise"
        );
    }

    #[test]
    fn a_counter_that_differs_by_far_less_than_the_times_says_so() {
        let reason = Reason {
            because: Vec::new(),
            fewer: 1_000.0,
            more: 1_270.0,
            times_factor: 8.82,
            ..published()
        };
        assert_eq!(
            sentence(&reason, ("off", "on")).replace('\u{a0}', ","),
            "on had 1.27x fewer pages read on demand (1,270 against 1,000); the times differ by more, 8.82x"
        );
    }

    #[test]
    fn without_a_difference_of_times_the_sentence_says_that() {
        let said = |times| {
            let reason = Reason {
                because: Vec::new(),
                times,
                ..published()
            };
            sentence(&reason, ("off", "on"))
        };
        assert!(said(TimesSay::WithinNoise).ends_with("; the times do not differ beyond noise"));
        assert!(said(TimesSay::OneBlock).ends_with("; measured once, so nobody knows its noise"));
        assert!(said(TimesSay::OtherLimits).ends_with("; their servers were held to other limits"));
    }

    #[test]
    fn settings_and_plans_are_evidence_too() {
        let said = |one: Evidence| evidence(&one);
        assert_eq!(
            said(Evidence::Plan("Using MRR")),
            "its plan says \"Using MRR\""
        );
        let pool = Evidence::Setting {
            name: "innodb_buffer_pool_size",
            with: "4294967296".into(),
            other: "134217728".into(),
        };
        assert_eq!(
            said(pool),
            "innodb_buffer_pool_size 4.0 GiB against 128.0 MiB"
        );
    }
}
