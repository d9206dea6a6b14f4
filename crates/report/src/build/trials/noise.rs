//! How much the same setup differs from itself, and what the run can therefore see.

use crate::build::slices;
use crate::document::{Block, Document, Node, Section};
use crate::{format, names};
use record::{Run, Trial};
use stats::Control;

pub(crate) fn section(document: &Document, trials: &[Trial]) -> Option<Section> {
    let control = document.control.as_ref();
    let control = control.map(|control| Block::text(twice(document, control)).everywhere());
    let split = stats::variance(&document.run.question, trials);
    let further = power(document.run, trials)
        .into_iter()
        .chain(split.map(|split| split.sentence()))
        .chain(slices::next(document, trials));
    let further = further.map(|text| Block::text(text).everywhere());
    let controls = document.controls.iter().map(|control| control.trial);
    let sliced = slices::sentence(trials.iter().chain(controls));
    let sliced = sliced.map(|text| Block::text(text).everywhere());
    let nodes = control
        .into_iter()
        .chain(sliced)
        .map(Node::on_first_screen)
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
    let ci = format::interval(twice.ci?, format::ratio);
    let (ratio, value) = (format::ratio(twice.measured), &control.value);
    Some(format!(
        "the A/A control, the same setup twice, differs from itself: {ratio} ({ci}), {value}; distrust differences of this size"
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

/// `A/A control, the same setup twice: 1.03 (0.91 to 1.16), the throughput of 5.6 · small pool.`
fn twice(document: &Document, control: &Control) -> String {
    let key = &control.key;
    let row = names::row(document.run, key.server.as_deref(), &key.levels);
    let of = if row.is_empty() {
        control.value.clone()
    } else {
        format!("{} of {row}", control.value)
    };
    let figure = match &control.figure {
        Ok(twice) => twice,
        Err(why) => {
            return format!("A/A control, the same setup twice: no figure for {of}: {why}.");
        }
    };
    let ci = match figure.ci {
        Some(ci) => format!(" ({})", format::interval(ci, format::ratio)),
        None => String::new(),
    };
    let ratio = format::ratio(figure.measured);
    let text = format!("A/A control, the same setup twice: {ratio}{ci}, {of}.");
    if figure.differs() {
        format!(
            "{text} The interval excludes 1. Chance alone does that in 1 of 20 runs: distrust differences of this size."
        )
    } else {
        text
    }
}
