//! Shapes in timed loads that claims test for.

use super::cells;
use super::loads::{Counted, counted};
use super::stall;
use super::steady::Shape;
use super::summary::Summary;
use crate::claim::{Cell, Finding};
use crate::number::grouped;
use crate::trial::Trial;
use std::collections::BTreeSet;

/// The shape in the trials of a cell.
pub(super) struct Shown {
    pub(super) blocks: usize,
    pub(super) trials: usize,
    /// Number of trials with the shape.
    pub(super) found: usize,
    /// The shape of the first of them in words, or what was found instead; losses of all of them.
    pub(super) text: String,
}

/// Looks for the shape in each trial that counts; an error explains why it cannot.
pub(super) fn shown(trials: &[Trial], finding: &Finding, of: &Cell) -> Result<Shown, String> {
    let matching = cells::matching(trials, of);
    let counted = counted(&matching);
    if counted.is_empty() {
        return Err(format!(
            "no timed load of {} is recorded",
            cells::cell_words(of)
        ));
    }
    let looked = counted
        .iter()
        .map(|counted| look(counted, finding))
        .collect::<Result<Vec<(bool, String)>, String>>()?;
    let found = looked.iter().filter(|(found, _)| *found).count();
    let first = looked.iter().find(|(is, _)| *is == (found > 0));
    let text = match finding {
        Finding::Losses | Finding::NoLosses => losses(&counted),
        _ => first.map(|(_, text)| text.clone()).unwrap_or_default(),
    };
    let blocks: BTreeSet<u32> = counted.iter().map(|c| c.trial.key.block).collect();
    Ok(Shown {
        blocks: blocks.len(),
        trials: looked.len(),
        found,
        text: format!("in {found} of {} trials: {text}", looked.len()),
    })
}

/// A queue that fills during the warm-up needs no measured part; the shapes of the throughput need a long enough one.
fn can_be_seen(summary: &Summary, finding: &Finding) -> bool {
    match finding {
        Finding::Unstable | Finding::Losses | Finding::NoLosses => true,
        Finding::Steady | Finding::LevelShift | Finding::Period => {
            summary.steady.shape != Shape::TooShort
        }
        _ => summary.steady.seconds() > 0,
    }
}

fn look(counted: &Counted, finding: &Finding) -> Result<(bool, String), String> {
    let summary: &Summary = &counted.summary;
    if !can_be_seen(summary, finding) {
        return Err(format!("{}: {}", counted.trial.key, summary.steady.reason));
    }
    let found_or = |found: Option<String>, else_: &str| {
        (found.is_some(), found.unwrap_or_else(|| else_.to_string()))
    };
    let shifts = || summary.shifts.first().map(|shift| shift.sentence());
    let stalls = || stall::sentence(&summary.stalls, summary.steady.seconds());
    let period = || summary.period.as_ref().map(|period| period.sentence());
    Ok(match finding {
        Finding::Unstable => {
            let offered = summary.offered.as_ref();
            let offered = offered
                .ok_or("only an open loop can be unstable, and this load is a closed loop")?;
            found_or(offered.unstable.clone(), "stable: all requests were served")
        }
        Finding::Losses | Finding::NoLosses => {
            let audit = counted.trial.audit.as_ref();
            let audit =
                audit.ok_or_else(|| format!("{}: no audit is recorded", counted.trial.key))?;
            let has_losses = audit.lost > 0;
            // The counts are those of all trials together, see `losses`.
            (has_losses == (*finding == Finding::Losses), String::new())
        }
        Finding::Stall => found_or(stalls(), "no stall"),
        Finding::LevelShift => found_or(shifts(), "no level shift"),
        Finding::Period => found_or(period(), "no period"),
        Finding::Steady => {
            let shape = summary.steady.shape;
            let against = (!shape.is_steady()).then(|| summary.steady.reason.clone());
            let against = against.or_else(stalls).or_else(shifts).or_else(period);
            (
                against.is_none(),
                against.unwrap_or_else(|| summary.steady.reason.clone()),
            )
        }
        Finding::PlanChanged | Finding::PlanHolds(_) => {
            return Err("a timed load has no plans".to_string());
        }
    })
}

/// The losses of all trials together.
fn losses(trials: &[Counted]) -> String {
    let audits = || trials.iter().filter_map(|one| one.trial.audit.as_ref());
    let lost: u64 = audits().map(|audit| audit.lost).sum();
    let acknowledged: u64 = audits().map(|audit| audit.acknowledged).sum();
    format!(
        "{} of {} acknowledged transactions lost",
        grouped(lost),
        grouped(acknowledged)
    )
}
