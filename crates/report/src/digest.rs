//! What a run adds up to: its verdicts in one line, its warnings grouped, its progress.
//!
//! Goal: sentences that every form of a report shares.

use crate::{format, matrix, names};
use explain::{Difference, Explanation, Why};
use record::stats::PlanChange;
use record::{Flag, FlagKind, Judged, Limit, Run, Trial, TrialState, Verdict};

/// A flag that one or more trials carry.
pub struct Warning {
    pub kind: String,
    pub text: String,
    /// Names of the trials, in the order in which they ended.
    pub trials: Vec<String>,
}

/// Whether a flag says what a search found, which is a result and no warning.
pub fn is_answer(flag: &Flag) -> bool {
    flag.kind == FlagKind::Search
}

/// The flags of all trials, each text once, the widest spread first.
pub fn warnings(run: &Run, trials: &[Trial]) -> Vec<Warning> {
    let mut found: Vec<Warning> = Vec::new();
    for trial in trials {
        for flag in trial.flags.iter().filter(|flag| !is_answer(flag)) {
            let name = names::trial(&run.question, &trial.key);
            match found
                .iter_mut()
                .find(|seen| seen.kind == flag.kind.as_str() && seen.text == flag.text)
            {
                Some(seen) => seen.trials.push(name),
                None => found.push(Warning {
                    kind: flag.kind.to_string(),
                    text: flag.text.clone(),
                    trials: vec![name],
                }),
            }
        }
    }
    found.sort_by_key(|warning| std::cmp::Reverse(warning.trials.len()));
    found
}

impl Warning {
    /// `every trial`, `5.6 · small pool, block 2`, or the first and how many more.
    pub fn whose(&self, all: usize) -> String {
        match self.trials.len() {
            n if n == all && n > 1 => "every trial".to_string(),
            0 => String::new(),
            1 => self.trials[0].clone(),
            n => format!("{} and {} more", self.trials[0], n - 1),
        }
    }
}

/// Whether every recorded trial can be counted.
pub fn valid(trials: &[Trial]) -> bool {
    !trials.is_empty() && trials.iter().all(|trial| trial.state == TrialState::Done)
}

/// `Star Schema Benchmark, scale 1; 3 blocks; 15 of 15 trials; reproduces P1`.
pub fn subtitle(run: &Run, trials: &[Trial]) -> String {
    let question = &run.question;
    let mut parts = vec![question.workload.summary.clone()];
    parts.extend(
        matrix::constant(question)
            .iter()
            .map(|(factor, level)| format!("{factor} {level}")),
    );
    parts.push(format::plural(question.blocks as usize, "block"));
    parts.push(progress(run, trials));
    parts.extend(run.shard.iter().map(|shard| format!("shard {shard}")));
    parts.extend(
        question
            .published
            .iter()
            .map(|published| format!("published as {published}")),
    );
    parts.join("; ")
}

fn progress(run: &Run, trials: &[Trial]) -> String {
    let state = |wanted| trials.iter().filter(|trial| trial.state == wanted).count();
    // How many a search takes is not known beforehand.
    let mut text = match trials.len() as u64 > run.question.trials {
        true => format!("{} trials", trials.len()),
        false => format!("{} of {} trials", trials.len(), run.question.trials),
    };
    let lacking = |trial: &&Trial| trial.state == TrialState::Done && trial.is_not_available();
    for (count, word) in [
        (trials.iter().filter(lacking).count(), "not available"),
        (state(TrialState::Invalid), "invalid"),
        (state(TrialState::Failed), "failed"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}

/// `hot rounds take 1.80 times as long with A as with B`; A is the slower one.
pub fn difference(explanation: &Explanation) -> String {
    let bound = match explanation.at_least {
        true => "at least ",
        false => "",
    };
    format!(
        "{} rounds take {bound}{} times as long with A as with B",
        explanation.round,
        format::ratio(explanation.ratio)
    )
}

/// Why no counter of the largest difference is listed.
pub fn no_counters(explanation: &Explanation) -> &'static str {
    match explanation.at_least {
        true => "What was counted until a query was stopped is not compared.",
        false => "No counter of the record differs between them.",
    }
}

/// `1.78`, and of a bound `>= 8.20`; `-` where the record has none.
pub fn measured(judged: &Judged) -> String {
    let ratio = judged.measured.map(format::ratio);
    match (ratio, judged.limit) {
        (Some(ratio), Some(Limit::AtLeast)) => format!(">= {ratio}"),
        (Some(ratio), Some(Limit::AtMost)) => format!("<= {ratio}"),
        (Some(ratio), None) => ratio,
        (None, _) => "-".to_string(),
    }
}

/// `1.71 to 1.86`, and of a bound `8.10 or more`.
pub fn interval(judged: &Judged) -> String {
    match (judged.ci, judged.limit) {
        (Some((low, _)), Some(Limit::AtLeast)) => format!("{} or more", format::ratio(low)),
        (Some((_, high)), Some(Limit::AtMost)) => format!("{} or less", format::ratio(high)),
        (Some(ci), None) => format::interval(ci, format::ratio),
        (None, _) => "-".to_string(),
    }
}

/// `3 reproduced, 1 inconclusive`; none where nothing is claimed.
pub fn verdicts(claims: &[Judged]) -> Option<String> {
    let all = [
        Verdict::Reproduced,
        Verdict::NotReproduced,
        Verdict::Inconclusive,
        Verdict::NotAvailable,
    ];
    let counted = all.map(|verdict| {
        (
            verdict,
            claims
                .iter()
                .filter(|claim| claim.verdict == verdict)
                .count(),
        )
    });
    let said = counted
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(verdict, n)| format!("{n} {}", verdict.text()));
    (!claims.is_empty()).then(|| said.collect::<Vec<_>>().join(", "))
}

/// `Q4.3, 5.6 · small pool: plan 6b6b6b6b 11 times; plan c0ffee00 in block 1, hot 1`.
pub fn plan_change(run: &Run, change: &PlanChange) -> String {
    let row = names::row(&run.question, change.server.as_deref(), &change.levels);
    let plans = change.seen.iter().map(|(hash, places)| {
        let places = match places.len() {
            1..=3 => format!(
                "in {}",
                places
                    .iter()
                    .map(|place| within_row(place))
                    .collect::<Vec<_>>()
                    .join(" and ")
            ),
            n => format!("{n} times"),
        };
        format!("plan {} {places}", names::plan(hash))
    });
    format!(
        "{}, {row}: {}",
        change.query,
        plans.collect::<Vec<_>>().join("; ")
    )
}

/// `block 1, hot 2` of a place in full words, whose row is already named.
fn within_row(place: &str) -> &str {
    place.rfind("block ").map_or(place, |start| &place[start..])
}

/// A counter's mean over rounds; a counter that the server lacks is absent, never 0.
pub fn counter(value: Option<f64>) -> String {
    value.map_or("absent".to_string(), format::count)
}

/// Marked `?` where the difference lies within what the blocks differ among themselves.
pub fn counter_ratio(difference: &Difference) -> String {
    let ratio = difference
        .ratio
        .filter(|ratio| ratio.is_finite())
        .map_or("-".to_string(), format::ratio);
    if difference.beyond_noise == Some(false) {
        format!("{ratio} ?")
    } else {
        ratio
    }
}

/// What the mark `?` says, where it is used.
pub fn counter_note(why: &Why) -> Option<&'static str> {
    let doubtful = why
        .differences
        .iter()
        .any(|difference| difference.beyond_noise == Some(false));
    doubtful.then_some("? within what the blocks differ among themselves")
}
