//! The answer in a sentence, and what was measured in a line.

use super::loads::Loads;
use super::{Context, contrasts};
use crate::document::{Cell, Document};
use crate::{format, names};
use explain::{Explanation, RowName};
use record::stats;
use record::{Judged, Run, Trial, TrialState, Verdict};

/// Whether every recorded trial can be counted.
pub(super) fn valid(trials: &[Trial]) -> bool {
    !trials.is_empty() && trials.iter().all(counts)
}

pub(super) fn counts(trial: &Trial) -> bool {
    trial.state == TrialState::Done
}

/// How the claims or the servers stand, then the largest difference of times, the answer of the loads or the highest throughput.
pub(super) fn headline(context: &Context, document: &Document, loads: &Loads) -> String {
    if context.trials.is_empty() {
        return "No trial has been recorded yet.".to_string();
    }
    let claims = verdicts(document).or_else(|| contrasts::headline(&document.contrasts));
    let largest = document.largest.as_ref();
    let figure = largest.map(|largest| difference(context.run, largest));
    let answer = || loads.answers.first().map(|answer| format!("{answer}."));
    let figure = figure
        .or_else(answer)
        .or_else(|| best(loads))
        .or_else(|| alone(context));
    let parts: Vec<String> = claims
        .into_iter()
        .chain(figure)
        .chain(spoiled(context))
        .collect();
    match parts.is_empty() {
        true => "No figure could be measured.".to_string(),
        false => parts.join(" "),
    }
}

/// `2 of 4 claims reproduced, 1 inconclusive, 1 not available.` None where nothing is claimed. If some claim has no published figure,
/// claims hold.
fn verdicts(document: &Document) -> Option<String> {
    let claims = || document.claims.iter().map(|claim| &claim.judged);
    let count = |verdict: Verdict| claims().filter(|claim| claim.verdict == verdict).count();
    let all = document.claims.len();
    let mut text = count_of(claims(), count(Verdict::Reproduced), all);
    let not = match all_published(claims()) {
        true => Verdict::NotReproduced.text(),
        false if count(Verdict::NotReproduced) == 1 => "does not hold",
        false => "do not hold",
    };
    for (verdict, words) in [
        (Verdict::NotReproduced, not),
        (Verdict::Inconclusive, Verdict::Inconclusive.text()),
        (Verdict::NotAvailable, Verdict::NotAvailable.text()),
    ] {
        if count(verdict) > 0 {
            text.push_str(&format!(", {} {words}", count(verdict)));
        }
    }
    (all > 0).then_some(text + ".")
}

fn all_published<'a>(mut claims: impl Iterator<Item = &'a Judged>) -> bool {
    claims.all(|claim| claim.claim.published.is_some())
}

/// `2 of 4 claims reproduced`, `1 of 3 claims holds`.
fn count_of<'a>(claims: impl Iterator<Item = &'a Judged>, held: usize, all: usize) -> String {
    let word = match (all_published(claims), held) {
        (true, _) => "reproduced",
        (false, 1) => "holds",
        (false, _) if all == 1 => "holds",
        (false, _) => "hold",
    };
    format!("{held} of {} {word}", format::plural(all, "claim"))
}

/// `Largest difference: hot, 5.5 · small pool is 9.34× slower than 5.5 · large pool.`
fn difference(run: &Run, largest: &Explanation) -> String {
    let name = |(server, levels): &RowName| names::row(run, server.as_deref(), levels);
    format!(
        "Largest difference: {}, {} is {} than {}.",
        largest.round,
        name(&largest.of),
        slower(largest),
        name(&largest.to)
    )
}

/// `9.34× slower`, and of a lower bound `at least 9.34× slower`.
pub(super) fn slower(largest: &Explanation) -> String {
    let bound = if largest.at_least { "at least " } else { "" };
    format!("{bound}{}× slower", format::ratio(largest.ratio))
}

/// `Highest throughput: 63,017 ops/s ±3.1% (5.6 · 64 clients).`
fn best(loads: &Loads) -> Option<String> {
    let measured = loads
        .cells()
        .filter_map(|cell| Some((cell, cell.load.as_ref()?.throughput.as_ref()?)));
    let (cell, throughput) = measured.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let figure = Cell::estimate(Some(throughput), |rate| {
        format!("{} ops/s", format::operations(rate))
    });
    Some(format!(
        "Highest throughput: {} ({}).",
        figure.on_a_line(),
        cell.name
    ))
}

/// `mariadb 10.11.18 · 8 clients, block 1 and 2 more trials: 60 of 2,060 operations (2.9 %) failed, were lost or did not finish.` The
/// trial is the one with the largest share.
fn spoiled(context: &Context) -> Option<String> {
    let recorded = context.recorded.iter();
    let found = recorded.filter_map(|one| {
        let accounts = &one.summary.as_ref()?.accounts;
        let sentence = stats::spoiled(accounts).into_iter().next()?;
        Some((stats::total(accounts).spoiled_share(), sentence, one.trial))
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (_, sentence, trial) = found.first()?;
    let name = names::trial(context.run, &trial.key);
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(
            " and {more} more {}",
            if more == 1 { "trial" } else { "trials" }
        ),
    };
    Some(format!("{name}{more}: {sentence}."))
}

/// Of a single row of rounds: `hot 1: 19.88 s.`
fn alone(context: &Context) -> Option<String> {
    let mut rounds = context
        .rows
        .list
        .iter()
        .flat_map(|row| row.figures.rounds.iter().rev());
    let (round, elapsed) = rounds.find_map(|round| Some((round, round.elapsed_s.as_ref()?)))?;
    let decimals = format::decimals([elapsed.mean]);
    let seconds = match elapsed.at_least {
        true => format::at_least(elapsed.mean, decimals),
        false => format!("{} s", format::seconds(elapsed.mean, decimals)),
    };
    let name = names::round(&context.run.question, &round.name, round.index);
    Some(format!("{name}: {seconds}."))
}

/// `Star Schema Benchmark, scale 1; 3 blocks; 15 of 15 trials; published as P1`
pub(super) fn subtitle(run: &Run, trials: &[Trial]) -> String {
    let question = &run.question;
    let mut parts = vec![question.workload.summary.clone()];
    let constant = question
        .factors
        .iter()
        .filter(|factor| factor.levels.len() == 1);
    parts.extend(constant.map(|factor| format!("{} {}", factor.name, factor.levels[0])));
    parts.push(blocks(run, trials));
    parts.push(progress(run, trials));
    parts.extend(run.shard.iter().map(|shard| format!("shard {shard}")));
    let published = question.published.iter();
    parts.extend(published.map(|published| format!("published as {published}")));
    parts.join("; ")
}

/// `3 blocks`, and `3 to 9 blocks` where some cells went on.
fn blocks(run: &Run, trials: &[Trial]) -> String {
    let question = &run.question;
    let Some(looks) = &question.looks else {
        return format::plural(question.blocks as usize, "block");
    };
    let first = looks.first();
    let last = trials.iter().map(|trial| trial.key.block + 1).max();
    match last.filter(|last| *last > first) {
        Some(last) => format!("{first} to {last} blocks"),
        None => format::plural(first as usize, "block"),
    }
}

fn progress(run: &Run, trials: &[Trial]) -> String {
    let count = |is: &dyn Fn(&Trial) -> bool| trials.iter().filter(|trial| is(trial)).count();
    // A search does not know beforehand how many trials it takes.
    let mut text = match trials.len() as u64 > run.question.trials {
        true => format!("{} trials", trials.len()),
        false => format!("{} of {} trials", trials.len(), run.question.trials),
    };
    let lacking = |trial: &Trial| trial.state == TrialState::Done && trial.is_not_available();
    for (count, word) in [
        (count(&lacking), "not available"),
        (
            count(&|trial| trial.state == TrialState::Invalid),
            "invalid",
        ),
        (count(&|trial| trial.state == TrialState::Failed), "failed"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}
