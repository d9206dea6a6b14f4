//! Builds the document from the record.
//!
//! Purpose: each judgement, explanation and comparison is computed here, once, and each section has one builder. Boundaries:
//! the rules behind the figures are in `stats` and `explain`; nothing is drawn here.

pub(crate) mod claims;
mod comparison;
mod counters;
mod headline;
pub(crate) mod loads;
pub(crate) mod ratios;
mod rounds;
mod rows;
pub(crate) mod setup;
mod slices;
pub(crate) mod trials;

use crate::document::{Claim, Document, Faults, Headline, Recorded, Section};
use crate::looks::Blocks;
use crate::why;
pub use comparison::Measured;
use loads::Loads;
use ratios::contrasts;
use record::{Judged, Run, Trial};
use rounds::{coldness, plans, profile};
use rows::Rows;
use setup::{datasets, environment, limits, settings};
use trials::{audit, blocks, events, noise, warnings};

/// How much of the record goes into the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What the terminal, Markdown, JSON and CSV show. Trials without the counters of single queries are enough, unless
    /// [`stats::needs_query_counters`].
    Brief,
    /// The page's charts and evidence too. Needs whole trials.
    Full,
}

/// What the builders share.
pub(crate) struct Context<'d> {
    run: &'d Run,
    trials: &'d [Trial],
    recorded: &'d [Recorded<'d>],
    rows: Rows<'d>,
    detail: Detail,
}

/// Whether the experiment measures for a fixed time; such trials have no rounds.
pub(crate) fn timed(run: &Run) -> bool {
    run.question.rounds.is_empty()
}

impl<'r> Document<'r> {
    /// Builds the document of a run without a control.
    pub fn of(run: &'r Run, trials: &'r [Trial], detail: Detail) -> Document<'r> {
        Document::with_control(run, trials, &[], detail)
    }

    /// `trials` without those of the control, as the store keeps them apart.
    pub fn with_control(
        run: &'r Run,
        trials: &'r [Trial],
        controls: &'r [Trial],
        detail: Detail,
    ) -> Document<'r> {
        Document::within(stats::TOLERANCE, run, (trials, controls), detail)
    }

    /// Builds the document with another tolerance: how much slower a further server may be than the first one (0.05 is 5 %).
    pub fn within(
        tolerance: f64,
        run: &'r Run,
        (trials, controls): (&'r [Trial], &'r [Trial]),
        detail: Detail,
    ) -> Document<'r> {
        let claims: Vec<Claim> = judged(run, trials)
            .into_iter()
            .map(|judged| why::claim(judged, run, trials))
            .collect();
        let largest = explain::explain_largest(run, trials, usize::MAX);
        let summary = |trial: &'r Trial| trial.load.as_deref().map(stats::summary);
        let recorded = |trial: &'r Trial| Recorded {
            summary: summary(trial),
            trial,
        };
        let mut document = Document {
            valid: headline::valid(trials) && controls.iter().all(headline::counts),
            faults: Faults::of(run, trials, controls),
            headline: Headline::default(),
            subtitle: headline::subtitle(run, trials),
            measured_on: environment::measured_on(run, trials),
            caveat: why::caveat(&claims, largest.as_ref()),
            plans: explain::query_plans(&run.question, trials),
            drifts: stats::drifts(&run.question, trials),
            trials: trials.iter().map(recorded).collect(),
            controls: controls.iter().map(recorded).collect(),
            control: stats::control(&run.question, trials, controls),
            sections: Vec::new(),
            contrasts: if claims.is_empty() {
                stats::against_first(&run.question, trials, tolerance)
            } else {
                Vec::new()
            },
            blocks: Blocks::of(run, trials),
            run,
            claims,
            largest,
        };
        let context = Context {
            run,
            trials,
            recorded: &document.trials,
            rows: Rows::of(run, trials),
            detail,
        };
        (document.headline, document.sections) = contents(&context, &document);
        document
    }
}

/// A slim record keeps the verdicts of the whole one.
fn judged(run: &Run, trials: &[Trial]) -> Vec<Judged> {
    match &run.slim {
        Some(slim) => slim.verdicts.clone(),
        None => explain::judge(&run.question, trials),
    }
}

/// The headline and the sections in reading order: the noise, what differs unintentionally, the table, the verdicts, the explanations, the
/// evidence, how to repeat it.
fn contents(context: &Context, document: &Document) -> (Headline, Vec<Section>) {
    let loads = Loads::of(context);
    let measured = if timed(context.run) {
        loads::sections(context, &loads)
    } else {
        rounds::sections(context, document)
    };
    let mut measured = measured.into_iter();
    let unintended = match context.detail {
        Detail::Full => settings::unintended(context.run, &context.rows),
        Detail::Brief => None,
    };
    let mut sections = vec![
        noise::section(document, context.trials),
        unintended,
        measured.next().flatten(),
        claims::verdicts(document),
        contrasts::section(document),
        blocks::section(document),
    ];
    sections.extend(measured);
    sections.extend(audit::section(context).map(Some));
    sections.extend([
        claims::explanations(document),
        counters::section(context, document),
        plans::section(context.run, &document.plans),
        warnings::section(context),
    ]);
    if context.detail == Detail::Full {
        if timed(context.run) {
            sections.extend(loads::evidence(context, &loads));
        }
        sections.extend([
            profile::section(&context.rows),
            events::section(context),
            coldness::section(context),
            settings::section(&context.rows),
        ]);
    }
    sections.extend([
        limits::section(context.trials),
        datasets::section(context),
        environment::section(context.run, context.trials),
        environment::repeat(context.run),
    ]);
    let headline = headline::headline(context, document, &loads);
    (headline, sections.into_iter().flatten().collect())
}
