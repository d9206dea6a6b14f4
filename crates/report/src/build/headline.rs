//! The answer in a sentence, and what was measured in a line.

use super::Context;
use super::loads::Loads;
use super::ratios::{answer, contrasts};
use super::rows::Row;
use super::trials::failures::{self, Failing};
use super::trials::noise;
use crate::document::{Document, Faults, Headline};
use crate::{format, names};
use explain::{Explanation, RowName};
use record::{AuditNote, FlagKind, LatencyKind, Percentile, Run, Trial, TrialState, for_count};
use stats::{Control, Estimate, RoundCell};
use std::collections::BTreeSet;

/// Whether every recorded trial can be counted, and all of it was measured.
pub(super) fn valid(trials: &[Trial]) -> bool {
    !trials.is_empty() && trials.iter().all(counts)
}

pub(super) fn counts(trial: &Trial) -> bool {
    trial.state == TrialState::Done && !trial.lacks_queries()
}

/// What the claims, the servers, the loads or the largest difference of times answer, how many claims hold, and what spoils it.
pub(super) fn headline(context: &Context, document: &Document, loads: &Loads) -> Headline {
    if context.trials.is_empty() {
        return "No trial has been recorded yet.".into();
    }
    let (run, claims) = (context.run, &document.claims);
    let answers = || loads.answers.first().map(|answer| format!("{answer}."));
    let largest = || Some(difference(run, document.largest.as_ref()?));
    let answer = answer::of_ratios(run, claims)
        .or_else(|| contrasts::headline(&run.question, &document.contrasts))
        .or_else(|| answers().map(Headline::from))
        .or_else(|| answer::of_statements(claims))
        .or_else(|| audited(context.trials))
        .or_else(largest)
        .or_else(|| best(loads))
        .or_else(|| alone(context));
    let failing = failures::of_claims(run, claims, failures::NAMED).into_iter();
    let compared = failures::of_contrasts(&run.question, &document.contrasts, failures::NAMED);
    let further = doubts(
        [&document.faults],
        failing.chain(compared),
        &document.control,
    );
    let last = [unlimited(context), spoiled(context)];
    let further = (answer::count(claims).map(Headline::from).into_iter())
        .chain(further)
        .chain(last.into_iter().flatten().map(Headline::from));
    let answer = answer.or_else(|| without_total(context).map(Headline::from));
    match answer.into_iter().chain(further).reduce(Headline::then) {
        Some(headline) => headline,
        None => "No figure could be measured.".into(),
    }
}

/// What makes the answer doubtful: trials that are missing, losses or failures on one side, a control that differs from itself.
pub(super) fn doubts<'f>(
    faults: impl IntoIterator<Item = &'f Faults>,
    failing: impl Iterator<Item = Failing>,
    controls: impl IntoIterator<Item = &'f Control>,
) -> Vec<Headline> {
    let sentence = |text: String| Headline::from(format!("{}.", format::capitalised(&text)));
    let faults = faults.into_iter();
    let missing = faults.filter_map(Faults::incomplete).map(sentence);
    let bad = |control| noise::bad(control, stats::MARGIN);
    let controls = controls.into_iter().filter_map(bad).map(sentence);
    missing
        .chain(failures::headline(failing.collect()))
        .chain(controls)
        .collect()
}

/// `Largest difference: hot, 5.5 · small pool is 9.34× slower than 5.5 · large pool.`
fn difference(run: &Run, largest: &Explanation) -> Headline {
    let name = |(server, levels): &RowName| names::row(run, server.as_deref(), levels);
    let start = format!(
        "Largest difference: {}, {} is ",
        largest.round,
        name(&largest.of)
    );
    Headline::from(start)
        .stress(slower(largest))
        .plain(format!(" than {}.", name(&largest.to)))
}

/// `9.34× slower`, and of a lower bound `at least 9.34× slower`.
pub(super) fn slower(largest: &Explanation) -> String {
    let bound = if largest.at_least { "at least " } else { "" };
    format!("{bound}{}× slower", format::ratio(largest.ratio))
}

/// `No acknowledged transaction was lost (126,134 in 1 trial). The first commit came 0.348 s after the outage.`
fn audited(trials: &[Trial]) -> Option<Headline> {
    let audits: Vec<&AuditNote> = trials.iter().filter_map(|t| t.audit.as_ref()).collect();
    let sum = |of: fn(&AuditNote) -> u64| -> u64 { audits.iter().map(|audit| of(audit)).sum() };
    let acknowledged = sum(|audit| audit.acknowledged);
    if acknowledged == 0 {
        return None;
    }
    let of = format::count(acknowledged as f64);
    let all = format::plural(audits.len(), "trial");
    let (lost, partly) = (sum(|audit| audit.lost), sum(|audit| audit.partly_applied));
    let found = match harm(lost, partly, &of) {
        None => Headline::default()
            .stress("No acknowledged transaction was lost")
            .plain(format!(" ({of} in {all}).")),
        Some(harm) => {
            let harmed = audits.iter().filter(|audit| audit.has_losses()).count();
            Headline::default()
                .stress(harm)
                .plain(format!(", in {harmed} of {all}."))
        }
    };
    Some(found.then(Headline::from(first_commit(trials).unwrap_or_default())))
}

/// `3 of 1,200 acknowledged transactions were lost, 1 transaction was applied only in part`. None if nothing happened to any.
fn harm(lost: u64, partly: u64, of: &str) -> Option<String> {
    let count = |count: u64| format::count(count as f64);
    let lost = (lost > 0).then(|| {
        let were = for_count(lost as usize, "was", "were");
        let lost = count(lost);
        format!("{lost} of {of} acknowledged transactions {were} lost")
    });
    let partly = (partly > 0).then(|| match partly {
        1 => "1 transaction was applied only in part".to_string(),
        several => format!("{} transactions were applied only in part", count(several)),
    });
    let both: Vec<String> = lost.into_iter().chain(partly).collect();
    (!both.is_empty()).then(|| both.join(", "))
}

fn first_commit(trials: &[Trial]) -> Option<String> {
    let cells = stats::recoveries(trials);
    let numbers = cells.iter().filter_map(|row| row.numbers.get("commit_s"));
    let seconds: Vec<f64> = numbers.map(|found| found.mean).collect();
    let decimals = format::decimals(seconds.iter().copied());
    let range = format::range(seconds.into_iter(), |s| format::seconds(s, decimals))?;
    Some(format!("The first commit came {range} s after the outage."))
}

/// `Highest throughput: 63,017 ops/s ±3.1% (5.6 · 64 clients), p99 2.31 ms.`
fn best(loads: &Loads) -> Option<Headline> {
    let measured = loads.cells().filter_map(|cell| {
        let load = cell.load.as_ref()?;
        Some((cell, load, load.throughput.as_ref()?))
    });
    let (cell, load, throughput) = measured.max_by(|a, b| a.2.mean.total_cmp(&b.2.mean))?;
    let start = match loads.cells().count() {
        1 => "Throughput: ",
        _ => "Highest throughput: ",
    };
    let figure = format::with_interval(throughput.mean, throughput.ci, format::operations);
    let figure = format!("{figure} ops/s");
    let spread = throughput
        .ci
        .map(|ci| format!(" {}", format::half_width(ci)));
    let name = if cell.name.is_empty() {
        String::new()
    } else {
        format!(" ({})", cell.name)
    };
    let p99 = load.latency.of(LatencyKind::Response, Percentile::P99);
    let p99 = p99.map(|p99| {
        let is_uncertain = load
            .latency
            .is_uncertain(LatencyKind::Response, Percentile::P99);
        let mark = if is_uncertain { "~" } else { "" };
        let figure = format::with_interval(p99.mean, p99.ci, format::milliseconds);
        format!(", p99 {mark}{figure} ms")
    });
    let unstable = match cell.is_unstable() {
        true => "; this load was unstable",
        false => "",
    };
    let (spread, p99) = (spread.unwrap_or_default(), p99.unwrap_or_default());
    let rest = [spread, name, p99, unstable.to_string()];
    Some(
        Headline::from(start)
            .stress(figure)
            .plain(rest.concat())
            .plain("."),
    )
}

/// `mariadb 10.11.18 · 8 clients, block 1 and 2 more trials: 60 of 2,060 operations (2.9 %) failed, were lost or did not finish (error 1366:
/// Incorrect integer value).` The trial is the one with the largest share; its flag has the server's words.
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
    let flag = trial.flagged(FlagKind::OperationsFailed);
    let sentence = flag.map_or(sentence, |flag| &flag.text);
    let name = names::trial(context.run, &trial.key);
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", format::plural(more, "more trial")),
    };
    Some(format!("{name}{more}: {sentence}."))
}

/// Reports rounds that have no total because queries failed: `1 of 2 queries failed (bad): their rounds have no total.`
fn without_total(context: &Context) -> Option<String> {
    let rounds = context.trials.iter().flat_map(|trial| &trial.rounds);
    let queries = rounds.flat_map(|round| &round.queries);
    let failed = queries.filter(|query| query.has_failed());
    let failed: BTreeSet<&str> = failed.map(|query| query.name.as_str()).collect();
    let names = failed.iter().map(ToString::to_string).collect();
    let all = context.run.question.workload.operations.len();
    (!failed.is_empty()).then(|| {
        format!(
            "{} of {all} {} failed ({}): their rounds have no total.",
            failed.len(),
            for_count(all, "query", "queries"),
            format::first_few(names, FAILED_MAX, ", ")
        )
    })
}

/// Names of failed queries in the headline.
const FAILED_MAX: usize = 3;

/// Says that the run had no limits, so that it answers another question than its file asks.
fn unlimited(context: &Context) -> Option<String> {
    let is_unlimited = context.trials.iter().any(Trial::is_unlimited);
    is_unlimited.then(|| "Measured without the experiment's limits (--no-limits).".to_string())
}

/// The first row of rounds that are compared with nothing: `Hot 2, the 13 queries take 19.88 s ±2.1% on mariadb 10.11.18; cold 180.20 s.`
fn alone(context: &Context) -> Option<Headline> {
    let question = &context.run.question;
    let mut rows = context.rows.list.iter();
    let (row, (last, elapsed)) = rows.find_map(|row| Some((row, timed(row).next()?)))?;
    let decimals = format::decimals([elapsed.mean]);
    let written = |seconds| format::seconds(seconds, decimals);
    let seconds = |elapsed: &Estimate| match elapsed.at_least {
        true => format::at_least(elapsed.mean, decimals),
        false => {
            let figure = format::with_interval(elapsed.mean, elapsed.ci, written);
            format!("{figure} s")
        }
    };
    let name = |round: &RoundCell| match round.lukewarm {
        true => "lukewarm".to_string(),
        false => names::round(question, &round.name, round.index),
    };
    let what = match question.workload.operations.len() {
        1 => "the query takes".to_string(),
        several => format!("the {several} queries take"),
    };
    let spread = elapsed.ci.map(|ci| format!(" {}", format::half_width(ci)));
    let place = (!row.name.is_empty()).then(|| format!(" on {}", row.name));
    let single = (elapsed.blocks == 1).then(|| " (one block, no interval)".to_string());
    let other = timed(row).find(|(round, _)| round.name != last.name);
    let other = other.map(|(round, elapsed)| format!("; {} {}", name(round), seconds(elapsed)));
    let rest = [spread, place, single, other].into_iter().flatten();
    let start = format!("{}, {what} ", format::capitalised(&name(last)));
    Some(
        Headline::from(start)
            .stress(seconds(elapsed))
            .plain(rest.collect::<String>())
            .plain("."),
    )
}

/// The rounds of a row that have a time, the last one first.
fn timed<'r>(row: &'r Row) -> impl Iterator<Item = (&'r RoundCell, &'r Estimate)> {
    let rounds = row.figures.rounds.iter().rev();
    rounds.filter_map(|round| Some((round, round.elapsed_s.as_ref()?)))
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
    parts.extend(run.part.iter().map(|part| format!("part {part}")));
    parts.extend(run.sharing.iter().map(record::Sharing::text));
    parts.extend(run.slim.iter().map(record::Slim::text));
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
    let mut text = run.question.progress(trials.len() as u64);
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

#[cfg(test)]
mod tests {
    use super::harm;

    #[test]
    fn an_audit_that_found_lost_and_torn_transactions_says_both() {
        let harm = |lost, partly| harm(lost, partly, "1,200");
        assert_eq!(harm(0, 0), None);
        let lost = "3 of 1,200 acknowledged transactions were lost";
        assert_eq!(harm(3, 0).as_deref(), Some(lost));
        let one = "1 of 1,200 acknowledged transactions was lost";
        assert_eq!(harm(1, 0).as_deref(), Some(one));
        let torn = "1 transaction was applied only in part";
        assert_eq!(harm(0, 1).as_deref(), Some(torn));
        let both = "3 of 1,200 acknowledged transactions were lost, 2 transactions were applied only in part";
        assert_eq!(harm(3, 2).as_deref(), Some(both));
    }
}
