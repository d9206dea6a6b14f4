//! How much the same setup differs from itself, what the run can therefore see, and which means hide a trend.

use crate::build::slices;
use crate::document::{Block, Document, Node, Section};
use crate::{format, names};
use explain::QueryPlans;
use record::{Run, Trial, for_count};
use stats::{Control, Drift, Twice};

/// Queries whose plans changed, as many as a sentence names.
const NAMED: usize = 3;
/// Queries that drift, in the terminal.
const DRIFTS: usize = 5;

pub(crate) fn section(document: &Document, trials: &[Trial]) -> Option<Section> {
    let control = document.control.as_ref();
    let control = control.map(|control| Block::text(twice(document, control)).everywhere());
    let split = stats::variance(&document.run.question, trials);
    let plans = split.as_ref().and_then(|_| changed(&document.plans));
    let further = power(document.run, trials)
        .into_iter()
        .chain(split.map(|split| split.sentence()))
        .chain(plans)
        .chain(slices::next(document, trials));
    let further = further.map(|text| Block::text(text).everywhere());
    let controls = document.controls.iter().map(|control| control.trial);
    let sliced = slices::sentence(trials.iter().chain(controls));
    let sliced = sliced.map(|text| Block::text(text).everywhere());
    let nodes = control
        .into_iter()
        .chain(sliced)
        .map(Node::on_first_screen)
        .chain(drifting("", document.run, &document.drifts))
        .chain(further);
    Section::unless_empty("noise", "Noise", nodes.collect())
}

/// A control that differs from itself by more than a margin, in one sentence without its end; None for a good one.
///
/// `the A/A control, the same setup twice, differs from itself: 0.85 (0.80 to 0.90), the throughput`
pub(crate) fn bad(control: &Control, margin: f64) -> Option<String> {
    let twice = control
        .figure
        .as_ref()
        .ok()
        .filter(|twice| twice.differs_beyond(margin))?;
    let (found, value) = (found(twice), &control.value);
    Some(format!(
        "the A/A control, the same setup twice, differs from itself: {found}, {value}; distrust differences of this size"
    ))
}

/// `By the noise of these trials, with 3 blocks an effect of 22 % or more is seen with 80 % probability.`
fn power(run: &Run, trials: &[Trial]) -> Option<String> {
    let measured = trials.iter().map(|trial| trial.key.block + 1).max()?;
    let blocks = measured.max(run.question.blocks);
    let power = stats::power(&run.question, trials, blocks)?;
    Some(format!(
        "By the noise of these trials, {}.",
        power.sentence()
    ))
}

/// `10 of 13 queries changed their plans within a row of the table (Q2.1, Q2.2, Q2.3, and 7 more). ...` None without such a query.
fn changed(queries: &[QueryPlans]) -> Option<String> {
    let several = queries.iter().filter(|query| !query.changes.is_empty());
    let names: Vec<String> = several.map(|query| query.query.clone()).collect();
    let (count, all) = (names.len(), queries.len());
    (count > 0).then(|| {
        format!(
            "{count} of {all} {} changed {} within a row of the table ({}). That is a part of this noise: compare or fix the plans before you measure more.",
            for_count(all, "query", "queries"),
            for_count(count, "its plan", "their plans"),
            format::first_few(names, NAMED, ", "),
        )
    })
}

/// The queries whose hot rounds have no level, and what to do; empty without any. `of` names the run where there are several: `run 2, `.
pub(crate) fn drifting(of: &str, run: &Run, drifts: &[Drift]) -> Vec<Node> {
    let Some(last) = drifts.iter().map(|drift| drift.rounds.1).max() else {
        return Vec::new();
    };
    let item = |drift: &Drift| format!("{of}{}", drift_sentence(run, drift));
    let items = drifts.iter().map(item).collect();
    let advice = format!(
        "The mean of such hot rounds depends on their number: add hot rounds until the last two agree, and compare the last one alone (round = \"hot {}\" in a claim).",
        last + 1
    );
    let blocks = [Block::list(items, DRIFTS), Block::text(advice)];
    blocks
        .map(|block| block.everywhere().on_first_screen())
        .into()
}

/// `5.6 · InnoDB: Q3.4 is 1.56× slower in hot 3 than in hot 1, in each of 5 trials.`
fn drift_sentence(run: &Run, drift: &Drift) -> String {
    let row = names::row(run, drift.server.as_deref(), &drift.levels);
    let (ratio, way) = match drift.ratio > 1.0 {
        true => (drift.ratio, "slower"),
        false => (1.0 / drift.ratio, "faster"),
    };
    let (first, last) = drift.rounds;
    format!(
        "{}{} is {}× {way} in hot {last} than in hot {first}, in each of {} trials.",
        names::before(&row),
        drift.query,
        format::ratio(ratio),
        drift.trials
    )
}

/// `A/A control, the same setup twice: 1.03 (0.91 to 1.16), the throughput of 5.6 · small pool.`
fn twice(document: &Document, control: &Control) -> String {
    let key = &control.key;
    let row = names::row(document.run, key.server.as_deref(), &key.levels);
    let of = if row.is_empty() {
        control.value.clone()
    } else {
        format!("{} of {row}", control.value)
    };
    let differing = " The interval excludes 1. Chance alone does that in 1 of 20 runs: distrust differences of this size.";
    let figure = match &control.figure {
        Err(why) => format!("no figure for {of}: {why}."),
        Ok(twice) if twice.differs() => format!("{}, {of}.{differing}", found(twice)),
        Ok(twice) => format!("{}, {of}.", found(twice)),
    };
    format!("A/A control, the same setup twice: {figure}")
}

/// `1.03 (0.91 to 1.16)`
fn found(twice: &Twice) -> String {
    let written = format::ratio_within(twice.ci);
    let ci = twice.ci.map(|ci| format::interval(ci, written));
    let ci = ci.map(|ci| format!(" ({ci})")).unwrap_or_default();
    written(twice.measured) + &ci
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_excludes_1_is_not_rounded_to_1() {
        let written = |measured, ci| found(&Twice { measured, ci });
        let near = written(1.0032, Some((1.0011, 1.0054)));
        assert_eq!(near, "1.0032 (1.0011 to 1.0054)");
        let around = written(1.0032, Some((0.9981, 1.0084)));
        assert_eq!(around, "1.00 (1.00 to 1.01)");
        assert_eq!(written(1.03, None), "1.03");
    }
}
