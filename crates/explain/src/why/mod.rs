//! Why two cells differ: what explains the difference of their times, or that nothing does.
//!
//! Purpose: explain the two rows that differ most and the two cells of every claim from the record. An explanation is right or
//! silent: it needs times that differ, and a cost that is plausible for the difference. Boundary: no proof. Counters that move
//! with the time suggest a cause; the reader decides.

pub(crate) mod limits;
pub(crate) mod reason;

use crate::counters::rank::{self, Difference};
use crate::side::Side;
use crate::side::times::{Times, TimesVerdict};
use crate::side::unintended::{self, Unintended};
use limits::LimitReason;
use reason::Reason;
use record::{Claim, RoundSelector, Run, Subject, Trial, TrialState};
use stats::{RowKey, lack_the_same, matching, rows};
use std::collections::{BTreeMap, BTreeSet};

/// The counters of two sides that differ, and what explains the difference of their times.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// At most as many as requested, the most significant first. Per operation: a query of rounds, or an operation of a timed load.
    pub differences: Vec<Difference>,
    /// Settings that differ although the experiment does not vary them. They come before any finding.
    pub unintended: Vec<Unintended>,
    pub finding: Finding,
    /// Whether the sides are timed loads, and not rounds of queries.
    pub is_timed: bool,
}

/// What explains the difference of two times.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A counter whose cost is plausible for the difference.
    Counter(Reason),
    /// A resource limit that only one side has, or that is tighter there.
    Limit(LimitReason),
    /// The times differ, and no counter or limit costs a tenth of the difference.
    Unexplained(TimesVerdict),
    /// The times do not differ, or cannot be compared: there is nothing to explain.
    Nothing(TimesVerdict),
}

impl Why {
    /// The counter that explains the difference.
    pub fn reason(&self) -> Option<&Reason> {
        match &self.finding {
            Finding::Counter(reason) => Some(reason),
            _ => None,
        }
    }

    /// Whether a counter or a limit explains the difference.
    pub fn is_explained(&self) -> bool {
        matches!(self.finding, Finding::Counter(_) | Finding::Limit(_))
    }
}

/// A row of the matrix: its server, where there is one, and its levels.
pub type RowName = (Option<String>, Vec<(String, String)>);

#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Server and levels of the slower row.
    pub of: RowName,
    pub to: RowName,
    /// The rounds' name: `hot` is the mean of all of them.
    pub round: String,
    /// Elapsed, slower over faster: at least 1.
    pub ratio: f64,
    /// The ratio is a lower bound: a query of the slower row reached the time limit.
    pub at_least: bool,
    pub why: Why,
}

/// The largest ratio of times in a round of the same name, between two rows that differ in as few factors as any two
/// do, and the counters of these. Rows of different numbers of clients are never compared: their rounds hold different work.
/// Needs the rounds' counters alone. None with fewer than two measured rows.
pub fn explain_largest(run: &Run, trials: &[Trial], most: usize) -> Option<Explanation> {
    let question = &run.question;
    let names: BTreeSet<&String> = question.rounds.iter().collect();
    let rows: Vec<Measured> = rows(question, trials)
        .into_iter()
        .filter_map(|row| measured(row, &names))
        .collect();
    let pairs = || {
        rows.iter()
            .enumerate()
            .flat_map(|(n, of)| rows[n + 1..].iter().map(move |to| (of, to)))
            .filter(|(of, to)| of.clients == to.clients && of.not_applied == to.not_applied)
    };
    let fewest = pairs().map(|(of, to)| distance(of.key, to.key)).min()?;
    let near = pairs().filter(|(of, to)| distance(of.key, to.key) == fewest);
    let candidates =
        near.flat_map(|(of, to)| names.iter().filter_map(move |name| candidate(of, to, name)));
    let largest = candidates.max_by(|a, b| a.times.factor().total_cmp(&b.times.factor()))?;
    let (of, to) = (
        &largest.of.sides[largest.round],
        &largest.to.sides[largest.round],
    );
    Some(Explanation {
        of: owned(largest.of.key),
        to: owned(largest.to.key),
        round: largest.round.to_string(),
        ratio: largest.times.factor(),
        at_least: largest.times.at_least(),
        why: why(run, &of.beside(to), &to.beside(of), most),
    })
}

/// Explains the two cells of a claim. None if it does not compare two, or one of them was not
/// measured. Of a single query it needs whole trials (see [`stats::needs_query_counters`]).
pub fn explain_claim(claim: &Claim, run: &Run, trials: &[Trial], most: usize) -> Option<Why> {
    let Subject::Ratio { of, to, .. } = &claim.subject else {
        return None;
    };
    let applied = |cell| {
        let matching = matching(trials, cell);
        matching.iter().all(|trial| trial.not_applied().is_none())
    };
    if !applied(of) || !applied(to) || lack_the_same(trials, &[of, to]).is_err() {
        return None;
    }
    let (of, to) = (Side::of_cell(trials, of), Side::of_cell(trials, to));
    let (of, to) = (of.beside(&to), to.beside(&of));
    let both = !of.blocks.is_empty() && !to.blocks.is_empty();
    both.then(|| why(run, &of, &to, most))
}

fn why(run: &Run, of: &Side, to: &Side, most: usize) -> Why {
    let times = Times::between(of, to);
    let gap = times.as_ref().and_then(Times::gap);
    let mut differences = rank::differences(of, to, gap.as_ref());
    let verdict = times.map_or(TimesVerdict::Nothing, |times| times.verdict());
    let finding = match &gap {
        None => Finding::Nothing(verdict),
        Some(gap) => if of.is_limited_like(to) {
            reason::reason(of, to, gap, &differences).map(Finding::Counter)
        } else {
            limits::reason(of, to, gap).map(Finding::Limit)
        }
        .unwrap_or(Finding::Unexplained(verdict)),
    };
    differences.truncate(most);
    Why {
        differences,
        unintended: unintended::unintended(run, of, to),
        finding,
        is_timed: of.is_timed,
    }
}

fn owned((server, levels): RowKey) -> RowName {
    (server.map(String::from), levels.to_vec())
}

/// How many factors differ, the server among them.
fn distance(of: RowKey, to: RowKey) -> usize {
    let other = |(factor, level): &&(String, String)| {
        to.1.iter()
            .any(|(name, theirs)| name == factor && theirs != level)
    };
    usize::from(of.0 != to.0) + of.1.iter().filter(other).count()
}

/// A row with its trials that count, as a side of a comparison for each name of a round.
struct Measured<'t> {
    key: RowKey<'t>,
    clients: BTreeSet<u32>,
    /// Settings of the file that its server does not have.
    not_applied: BTreeSet<&'t str>,
    sides: BTreeMap<&'t str, Side<'t>>,
}

fn measured<'t>(
    (key, trials): (RowKey<'t>, Vec<&'t Trial>),
    rounds: &BTreeSet<&'t String>,
) -> Option<Measured<'t>> {
    let side = |name: &&'t String| {
        let selector = RoundSelector {
            name: name.to_string(),
            index: None,
        };
        (name.as_str(), Side::of(&trials, Some(&selector), None))
    };
    let measured = trials.iter().any(|trial| trial.state == TrialState::Done);
    let applied = trials.iter().all(|trial| trial.not_applied().is_none());
    (measured && applied).then(|| Measured {
        key,
        clients: Side::of(&trials, None, None).at_once(),
        not_applied: (trials.iter().flat_map(|trial| trial.settings_not_applied())).collect(),
        sides: rounds.iter().map(side).collect(),
    })
}

struct Candidate<'r, 't> {
    /// The slower row.
    of: &'r Measured<'t>,
    to: &'r Measured<'t>,
    round: &'r str,
    times: Times,
}

/// None if it is unknown which of the two is slower.
fn candidate<'r, 't>(
    a: &'r Measured<'t>,
    b: &'r Measured<'t>,
    round: &'r str,
) -> Option<Candidate<'r, 't>> {
    let times = Times::between(&a.sides[round], &b.sides[round])?;
    let (to, of) = times.smaller()?.own_and_other(a, b);
    Some(Candidate {
        of,
        to,
        round,
        times,
    })
}
