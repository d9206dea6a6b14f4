//! The report as plain data: what every form of it shows, decided once.
//!
//! Purpose: a renderer takes a [`Document`] and nothing else, so terminal, Markdown and HTML cannot disagree, and a claim is
//! judged once. Boundaries: building it from the record is `build`; drawing it is `render`.

mod block;
mod chart;
mod headline;
mod table;

pub use block::{Block, Compare, Forms, List, Node, Section};
pub use chart::{
    Axis, Band, Bars, Boxes, Chart, Charts, Curve, Lines, Panel, Quantiles, Scale, Seconds, Series,
    Span, Spread,
};
pub use headline::Headline;
pub use table::{Across, Badge, Cell, Column, ColumnContent, Most, Ratio, Row, Table, marks};

use crate::looks::Blocks;
use explain::{Explanation, QueryPlans, Why};
use record::{Judged, Run, Sharing, Summary, Trial, TrialState, for_count};
use stats::{Basis, Contrast, Control, Drift, LeftOut, Progress};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// One run, ready to be rendered.
pub struct Document<'r> {
    pub run: &'r Run,
    /// In the order in which they ended.
    pub trials: Vec<Recorded<'r>>,
    /// The trials of the A/A control, which are in no table and chart.
    pub controls: Vec<Recorded<'r>>,
    /// The A/A control; none in a run without one.
    pub control: Option<Control>,
    /// Whether every recorded trial can be counted.
    pub valid: bool,
    pub faults: Faults,
    /// The answer in a sentence or two.
    pub headline: Headline,
    /// Workload, blocks and progress in a line.
    pub subtitle: String,
    /// Servers with their versions, hardware and day in a line.
    pub measured_on: String,
    /// None for a fixed number of blocks.
    pub blocks: Option<Blocks>,
    /// In the experiment file's order.
    pub claims: Vec<Claim>,
    /// The servers against the first one; empty if there are claims.
    pub contrasts: Vec<Contrast>,
    /// The two rows whose rounds differ most, with all of their counters.
    pub largest: Option<Explanation>,
    /// A warning to readers of the explanations; none if there is no explanation.
    pub caveat: Option<&'static str>,
    pub plans: Vec<QueryPlans>,
    /// Queries that are slower or faster in the last hot round than in the first; the largest change first.
    pub drifts: Vec<Drift>,
    /// In reading order.
    pub sections: Vec<Section>,
}

/// What keeps a run from being counted whole.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Why trials failed or are invalid, those of the control too: one sentence each.
    pub invalid: Vec<String>,
    /// How far a run is that was interrupted; None for a complete one.
    pub missing: Option<Progress>,
    /// Of which whole the run is a part alone (`--part`, `--shard`), as a sentence.
    pub part: Option<String>,
}

impl Faults {
    pub(crate) fn of(run: &Run, trials: &[Trial], controls: &[Trial]) -> Faults {
        let invalid = |trial: &Trial| {
            let lacks = trial.lacks_queries().then_some("a query failed");
            let why = trial.reason().or(lacks).unwrap_or("no reason is recorded");
            let counts = trial.state == TrialState::Done && !trial.lacks_queries();
            (!counts).then(|| format!("{}: {why}", trial.key))
        };
        Faults {
            invalid: trials.iter().chain(controls).filter_map(invalid).collect(),
            missing: stats::incomplete(&run.question, trials),
            part: part(run),
        }
    }

    /// `the run is incomplete: 9 of 12 trials`, or of which whole it is a part.
    pub(crate) fn incomplete(&self) -> Option<String> {
        let missing = self.missing.map(|progress| {
            let Progress {
                recorded, planned, ..
            } = progress;
            let (one, many) = match progress.is_search {
                true => ("search", "searches"),
                false => ("trial", "trials"),
            };
            let noun = for_count(planned as usize, one, many);
            format!("the run is incomplete: {recorded} of {planned} {noun}")
        });
        missing.or_else(|| self.part.clone())
    }
}

/// `the run is part 2/4 of its matrix`, `the run is shard 2/4 of its load`
fn part(run: &Run) -> Option<String> {
    let part = run.part.as_ref();
    let part = part.map(|part| format!("the run is part {part} of its matrix"));
    part.or_else(|| match &run.sharing {
        Some(shard @ Sharing::Shard(_)) => Some(format!("the run is {} of its load", shard.text())),
        Some(Sharing::Merged(_)) | None => None,
    })
}

/// Runs side by side, ready to be rendered.
pub struct Comparison {
    /// In the order in which they were named; the first is the reference.
    pub runs: Vec<Run>,
    /// What differs between the runs besides the figures.
    pub differences: Vec<Difference>,
    pub contrasts: Vec<Contrast>,
    /// The share of the error rate that they have, from 0 to 1.
    pub share: f64,
    pub left_out: Vec<LeftOut>,
    /// The faults of each run.
    pub faults: Vec<Faults>,
    /// The A/A controls of the runs that have one.
    pub controls: Vec<Control>,
    /// Of each run, as in [`Document::drifts`].
    pub drifts: Vec<Vec<Drift>>,
    /// How much slower a run may be than the first one.
    pub tolerance: f64,
    pub title: String,
    pub headline: Headline,
    /// In reading order.
    pub sections: Vec<Section>,
}

/// Something that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub kind: DifferenceKind,
    /// `kernel`, `innodb_buffer_pool_size`, `protocol.time`
    pub what: String,
    /// The value in each run; none if the run has no such thing.
    pub values: Vec<Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    Environment,
    /// A key of the experiment file, or of the command line.
    Experiment,
    /// The rows that the trials were measured on.
    Data,
    /// An effective setting of the servers.
    Setting,
}

/// What a text form begins with.
pub(crate) struct Head<'d> {
    pub(crate) title: &'d str,
    pub(crate) question: &'d str,
    pub(crate) measured_on: &'d str,
    pub(crate) subtitle: &'d str,
    pub(crate) headline: &'d Headline,
}

impl Document<'_> {
    pub(crate) fn head(&self) -> Head<'_> {
        Head {
            title: &self.run.question.title,
            question: &self.run.question.question,
            measured_on: &self.measured_on,
            subtitle: &self.subtitle,
            headline: &self.headline,
        }
    }
}

impl Comparison {
    /// The builds of prony that recorded the runs.
    pub(crate) fn prony(&self) -> String {
        let builds = self.runs.iter().map(|run| &run.environment.prony_version);
        let builds: BTreeSet<&str> = builds.map(String::as_str).collect();
        Vec::from_iter(builds).join(", ")
    }

    pub(crate) fn head(&self) -> Head<'_> {
        Head {
            title: &self.title,
            question: "",
            measured_on: "",
            subtitle: "",
            headline: &self.headline,
        }
    }
}

/// A trial with the summary of its timed load.
pub struct Recorded<'r> {
    pub trial: &'r Trial,
    /// None for rounds, and for a trial that failed before its load ended.
    pub summary: Option<Cow<'r, Summary>>,
}

/// A judged claim and what explains its measured ratio.
pub struct Claim {
    pub judged: Judged,
    pub basis: Basis,
    /// None if the claim does not compare two measured cells.
    pub why: Option<Explained>,
}

/// Why the two cells of a claim differ.
pub struct Explained {
    /// The names of the two cells, as far as they differ.
    pub of: String,
    pub to: String,
    pub why: Why,
}
