//! Why two cells differ, in words.
//!
//! Purpose: one wording in every form of a report. Boundary: crate `explain` decides what to report.

use crate::document::{Claim, Explained};
use crate::{format, names};
use explain::{
    Because, Difference, Evidence, Explains, Explanation, Finding, LimitReason, Reason, SideName,
    TimesVerdict, Unintended, Why,
};
use record::{Cell, Judged, Run, Subject, Trial, Value};
use stats::Basis;

/// Number of counters that are listed with a claim's explanation.
pub(crate) const COUNTERS: usize = 10;

/// Settings that differ unintentionally, as many as a sentence names.
const UNINTENDED: usize = 4;

/// From this share on, the cost of a counter is enough for a difference; below the other one it is little.
const WHOLE: f64 = 0.95;
const LITTLE: f64 = 0.1;

const CAVEAT: &str = "Counters that move with the time suggest a cause. They do not prove it.";

/// A judged claim with what explains it.
pub(crate) fn claim(judged: Judged, run: &Run, trials: &[Trial]) -> Claim {
    let why = explained(&judged, run, trials);
    let basis = Basis::of(&judged.claim, trials);
    Claim { judged, basis, why }
}

/// None for a claim that does not compare two measured cells.
fn explained(judged: &Judged, run: &Run, trials: &[Trial]) -> Option<Explained> {
    let Subject::Ratio { of, to, .. } = &judged.claim.subject else {
        return None;
    };
    let why = explain::explain_claim(&judged.claim, run, trials, COUNTERS)?;
    let value = judged.claim.subject.value();
    let finding = match is_of_time(&why.finding, value, judged.measured) {
        true => Finding::Nothing(TimesVerdict::Nothing),
        false => why.finding,
    };
    Some(Explained {
        of: name(run, of, to),
        to: name(run, to, of),
        why: Why { finding, ..why },
    })
}

/// Whether the finding explains the time of the slower side, while the claim compares a counter of which that side does not have more.
/// `ratio` is that of the counter.
fn is_of_time(finding: &Finding, value: Option<&Value>, ratio: Option<f64>) -> bool {
    let is_counter = matches!(value, Some(Value::Counter(_) | Value::Quotient(..)));
    let less = ratio.map(|ratio| match ratio < 1.0 {
        true => SideName::Of,
        false => SideName::To,
    });
    let is_same = matches!(finding, Finding::Counter(reason) if Some(reason.with) == less);
    is_counter && !is_same
}

/// What distinguishes a cell from another: `5.6 · small pool, hot`.
pub(crate) fn name(run: &Run, cell: &Cell, other: &Cell) -> String {
    let differs = |(factor, levels): &&(String, Vec<String>)| {
        let theirs = other.levels.iter().find(|(name, _)| name == factor);
        theirs.is_none_or(|(_, theirs)| theirs != levels)
    };
    let level = |(factor, allowed): &(String, Vec<String>)| {
        let word = |level: &String| match factor.as_str() {
            "server" => names::server(run, level),
            _ => names::level_alone(factor, level),
        };
        allowed.iter().map(word).collect::<Vec<_>>().join(" or ")
    };
    let levels = cell.levels.iter().filter(differs).map(level);
    let levels: Vec<String> = levels.collect();
    let round = cell.round.as_ref().filter(|_| cell.round != other.round);
    let round = round.map(ToString::to_string);
    let query = cell.query.clone().filter(|_| cell.query != other.query);
    let parts = [
        (!levels.is_empty()).then(|| levels.join(" · ")),
        round,
        query,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        "all together".to_string()
    } else {
        parts.join(", ")
    }
}

/// What a reader of the explanations has to know; none if there is no explanation.
pub(crate) fn caveat(claims: &[Claim], largest: Option<&Explanation>) -> Option<&'static str> {
    let whys = claims.iter().filter_map(|claim| claim.why.as_ref());
    let mut whys = whys
        .map(|one| &one.why)
        .chain(largest.map(|largest| &largest.why));
    whys.any(Why::is_explained).then_some(CAVEAT)
}

impl Explained {
    /// The explanation in words; counts are written by `count`. None if the times do not differ.
    pub fn sentence(&self, count: fn(f64) -> String) -> Option<String> {
        sentence(&self.why, (&self.of, &self.to), count)
    }
}

/// What explains the difference of the two sides: settings that differ unintentionally first. None if their times do not differ.
/// `names` are those of the two sides; counts are written by `count`.
pub(crate) fn sentence(why: &Why, names: (&str, &str), count: fn(f64) -> String) -> Option<String> {
    let finding = match &why.finding {
        Finding::Counter(reason) => counter(reason, names, count),
        Finding::Limit(limit) => limited(limit, names),
        Finding::Unexplained(times) => format!("{UNEXPLAINED}{}", doubt(*times)),
        Finding::Nothing(_) => return None,
    };
    let both = |one: &Unintended| {
        let (of, to) = (setting(&one.name, &one.of), setting(&one.name, &one.to));
        format!("{} ({of} in {}, {to} in {})", one.name, names.0, names.1)
    };
    let unintended = unintended(&why.unintended, both);
    let parts: Vec<String> = unintended.into_iter().chain([finding]).collect();
    Some(parts.join(" "))
}

const UNEXPLAINED: &str = "No known counter explains it.";

/// The first ones, and how many more there are; none without any.
fn unintended(settings: &[Unintended], one: impl Fn(&Unintended) -> String) -> Option<String> {
    let list = format::first_few(settings.iter().map(one).collect(), UNINTENDED, ", ");
    (!settings.is_empty())
        .then(|| format!("Settings differ that the experiment does not vary: {list}."))
}

/// `off had 19.0 times as many pages read from disk as on (540,805 against 28,468). At 0.1 ms each, that is 41 % of the
/// difference. With on, ...`
fn counter(reason: &Reason, names: (&str, &str), count: fn(f64) -> String) -> String {
    let (with, other) = reason.with.own_and_other(names.0, names.1);
    let what = reason.noun.unwrap_or(&reason.counter);
    let more = count(reason.more);
    let mut text = match reason.factor() {
        Some(factor) => {
            let factor = if factor >= 1000.0 {
                count(factor.round())
            } else {
                format::ratio(factor)
            };
            let fewer = count(reason.fewer);
            format!("{other} had {factor} times as many {what} as {with} ({more} against {fewer}).")
        }
        None => format!("{other} had {more} {what}, {with} none."),
    };
    text.push_str(&cost(&reason.cost));
    for because in &reason.because {
        text.push_str(&format!(" With {with}, {}.", self::because(because, count)));
    }
    let is_once = reason.beyond_noise.is_none() && reason.times == TimesVerdict::Differ;
    let times = if is_once {
        TimesVerdict::OneBlock
    } else {
        reason.times
    };
    text + doubt(times)
}

/// The explanation in a few words, for the headline: `It misses 40,255 pages per query, the large pool none.` The pronoun is for the first
/// side if that is the subject of the sentence before.
pub(crate) fn brief(why: &Why, names: (&str, &str), is_subject: bool) -> Option<String> {
    let unintended = unintended(&why.unintended, |one| one.name.clone());
    if unintended.is_some() {
        return unintended;
    }
    let reason = why.reason()?;
    let (other, who) = reason.with.own_and_other(names.0, names.1);
    let (more, per) = (format::count(reason.more), per(why));
    let noun = reason.noun.unwrap_or(&reason.counter);
    if !is_subject {
        let beside = match reason.factor() {
            None => format!("with {other} none"),
            Some(factor) => format!("{} times as many as with {other}", format::ratio(factor)),
        };
        return Some(format!("With {who}, {more} {noun} per {per}, {beside}."));
    }
    let who = match reason.with {
        SideName::To => "It".to_string(),
        SideName::Of => format::capitalised(who),
    };
    let what = if noun.starts_with(MISSES) {
        format!("misses {more} pages")
    } else {
        format!("counts {more} {noun}")
    };
    let beside = match reason.factor() {
        None => format!("{other} none"),
        Some(factor) => format!("{} times as many as {other}", format::ratio(factor)),
    };
    Some(format!("{who} {what} per {per}, {beside}."))
}

/// How the noun of misses begins.
const MISSES: &str = "buffer pool misses";

/// What the difference of the counter explains, at the typical cost or, where that is little, at the largest plausible one.
fn cost(explains: &Explains) -> String {
    let Explains {
        each,
        share,
        share_most,
    } = explains;
    let measured = if each.measured { " as measured" } else { "" };
    if *share >= WHOLE {
        let each = format::duration(each.typical_s);
        return format!(" At {each} each{measured}, that is enough for the whole difference.");
    }
    if *share >= LITTLE {
        let (each, share) = (format::duration(each.typical_s), format::percent(*share));
        return format!(" At {each} each{measured}, that is {share} of the difference.");
    }
    let (each, share) = (
        format::duration(each.most_s),
        format::percent(share_most.min(1.0)),
    );
    format!(" At up to {each} each, that is up to {share} of the difference.")
}

/// `A was limited to 200 disk reads per second (read_iops), B to 4,000. Its 35.0 per operation take 93 % of the difference.`
fn limited(limit: &LimitReason, names: (&str, &str)) -> String {
    let (with, other) = limit.with.own_and_other(names.0, names.1);
    let LimitReason { name, noun, .. } = limit;
    let beside = match limit.other {
        Some(value) => format!("{other} to {}", format::ratio(value)),
        None => format!("{other} was not"),
    };
    let share = if limit.share >= WHOLE {
        "the whole difference".to_string()
    } else {
        format!("{} of the difference", format::percent(limit.share))
    };
    let (value, used) = (format::ratio(limit.limit), format::ratio(limit.used));
    format!(
        "{with} was limited ({name} {value}), {beside}. At this limit, the {used} {noun} of an operation take {share}.{}",
        doubt(limit.times)
    )
}

/// Why no more can be said.
fn doubt(times: TimesVerdict) -> &'static str {
    match times {
        TimesVerdict::OneBlock => " Single block: variance unknown.",
        _ => "",
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
            let (with, other) = (setting(name, with), setting(name, other));
            format!("{name} {with} against {other}")
        }
    }
}

/// How the names of settings end that are numbers of bytes. Others are seconds, counts or rates.
const ENDS_OF_BYTES: [&str; 3] = ["_size", "_log_capacity", "_packet"];

/// A number of bytes with its unit, anything else unchanged.
fn setting(name: &str, value: &str) -> String {
    let is_bytes = ENDS_OF_BYTES.iter().any(|end| name.ends_with(end));
    match value.parse::<u64>() {
        Ok(bytes) if is_bytes && bytes >= 1 << 20 => format::bytes(bytes),
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
    use explain::Cost;

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
            cost: Explains {
                each: Cost {
                    typical_s: 0.004,
                    most_s: 0.012,
                    measured: true,
                },
                share: 0.45,
                share_most: 1.35,
            },
            because: vec![Because {
                words: "index condition pushdown checks the condition before it reads the row",
                evidence: vec![
                    counter("Handler_icp_attempts", 571_312.0),
                    counter("Handler_icp_match", 4_541.0),
                ],
            }],
        }
    }

    fn why(finding: Finding) -> Why {
        Why {
            differences: Vec::new(),
            unintended: Vec::new(),
            finding,
            is_timed: false,
        }
    }

    fn written(reason: &Reason) -> String {
        counter(reason, ("off", "on"), format::count)
    }

    #[test]
    fn a_reason_for_times_is_left_out_where_the_faster_side_has_more_of_the_counter() {
        let reads = Value::Counter("server read bytes".into());
        let slower_with_off = Finding::Counter(published());
        let is_left_out = |finding, ratio| is_of_time(finding, Some(&reads), Some(ratio));
        assert!(!is_left_out(&slower_with_off, 1.18));
        assert!(is_left_out(&slower_with_off, 0.85));
        assert!(is_left_out(
            &Finding::Unexplained(TimesVerdict::Differ),
            1.18
        ));
        assert!(!is_of_time(
            &slower_with_off,
            Some(&Value::Elapsed),
            Some(0.85)
        ));
    }

    #[test]
    fn a_sentence_names_the_ratio_the_figures_and_the_cause() {
        assert_eq!(
            written(&published()),
            "off had 19.0 times as many pages read from disk as on (540,805 against 28,468). At 4.00 ms each as measured, \
             that is 45 % of the difference. With on, index condition pushdown checks the condition before it reads the row \
             (Handler_icp_attempts 571,312, Handler_icp_match 4,541)."
        );
        let found = why(Finding::Counter(published()));
        let sentence = sentence(&found, ("off", "on"), format::plain_count).unwrap();
        assert!(sentence.contains("(540805 against 28468)"), "{sentence}");
    }

    #[test]
    fn the_headline_has_the_counts_without_the_cost_and_the_cause() {
        let written = |reason: Reason, is_subject| {
            brief(
                &why(Finding::Counter(reason)),
                ("the old", "the new"),
                is_subject,
            )
            .unwrap()
        };
        let misses = Reason {
            noun: Some("buffer pool misses served by the OS page cache"),
            fewer: 0.0,
            ..published()
        };
        assert_eq!(
            written(misses, true),
            "It misses 540,805 pages per query, the new none."
        );
        let lookups = Reason {
            with: SideName::Of,
            noun: Some("index lookups"),
            ..published()
        };
        assert_eq!(
            written(lookups.clone(), true),
            "The new counts 540,805 index lookups per query, 19.0 times as many as the old."
        );
        assert_eq!(
            written(lookups, false),
            "With the new, 540,805 index lookups per query, 19.0 times as many as with the old."
        );
    }

    #[test]
    fn without_a_cause_and_with_one_block_the_sentence_ends_with_the_doubt() {
        let reason = Reason {
            because: Vec::new(),
            beyond_noise: None,
            noun: None,
            fewer: 0.0,
            ..published()
        };
        assert_eq!(
            written(&reason),
            "off had 540,805 Innodb_buffer_pool_reads, on none. At 4.00 ms each as measured, that is 45 % of the difference. \
             Single block: variance unknown."
        );
    }

    #[test]
    fn a_cost_from_the_table_is_given_as_enough_or_as_at_most() {
        let each = Cost {
            typical_s: 1e-4,
            most_s: 1e-2,
            measured: false,
        };
        let written = |share, share_most| {
            cost(&Explains {
                each,
                share,
                share_most,
            })
        };
        assert_eq!(
            written(3.0, 300.0),
            " At 100 µs each, that is enough for the whole difference."
        );
        assert_eq!(
            written(0.004, 0.4),
            " At up to 10.0 ms each, that is up to 40 % of the difference."
        );
    }

    #[test]
    fn nothing_is_written_where_the_times_do_not_differ() {
        let written = |finding| sentence(&why(finding), ("off", "on"), format::count);
        assert_eq!(written(Finding::Nothing(TimesVerdict::WithinNoise)), None);
        assert_eq!(
            written(Finding::Unexplained(TimesVerdict::Differ)).as_deref(),
            Some("No known counter explains it.")
        );
    }

    #[test]
    fn settings_that_the_experiment_does_not_vary_come_first() {
        let version = Unintended {
            name: "version".into(),
            of: "10.11.6".into(),
            to: "10.11.14".into(),
        };
        let found = Why {
            unintended: vec![version],
            ..why(Finding::Unexplained(TimesVerdict::Differ))
        };
        assert_eq!(
            sentence(&found, ("off", "on"), format::count).unwrap(),
            "Settings differ that the experiment does not vary: version (10.11.6 in off, 10.11.14 in on). \
             No known counter explains it."
        );
    }

    #[test]
    fn only_settings_of_bytes_are_written_as_bytes() {
        let written = |name| setting(name, "2592000");
        assert_eq!(written("innodb_log_file_size"), "2.5 MiB");
        assert_eq!(written("innodb_redo_log_capacity"), "2.5 MiB");
        assert_eq!(written("binlog_expire_logs_seconds"), "2592000");
        assert_eq!(written("lock_wait_timeout"), "2592000");
    }

    #[test]
    fn a_limit_is_written_with_both_values_and_its_share() {
        let limit = LimitReason {
            name: "read_iops".into(),
            with: SideName::Of,
            limit: 200.0,
            other: None,
            noun: "disk reads",
            used: 35.0,
            share: 0.93,
            times: TimesVerdict::Differ,
        };
        assert_eq!(
            limited(&limit, ("off", "on")),
            "off was limited (read_iops 200), on was not. At this limit, the 35.0 disk reads of an operation take 93 % of the \
             difference."
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
