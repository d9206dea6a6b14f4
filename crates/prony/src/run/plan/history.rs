//! Earlier runs of an experiment on this machine, from which the detection limit of the next one is predicted.
//!
//! Purpose: the newest run in the results folder whose trials are comparable. Outside this module: the formula (`stats`).

use super::request::Request;
use crate::run::results::folder::{self, Recorded};
use host::machine;
use record::{Environment, Question, Run, Trial};
use spec::plan::PlannedTrial;
use stats::Power;
use std::path::Path;
use store::Store;

/// What an earlier run predicts.
pub(crate) struct Predicted {
    /// The run's name.
    pub from: String,
    pub power: Power,
}

/// Says what the run will see, or why that is unknown. None with one block, which has no verdict.
pub(crate) fn sentence(request: &Request, trials: &[PlannedTrial], work: &Path) -> Option<String> {
    let blocks = request.experiment.protocol.blocks;
    if blocks <= 1 {
        return None;
    }
    let workload = request.workload_note(trials).ok()?;
    let question = spec::question(&request.experiment, trials.len() as u64, workload);
    let here = machine::environment(work);
    let how = How {
        is_unlimited: trials.iter().any(|trial| !trial.lifted.names().is_empty()),
        is_sliced: request.experiment.protocol.slices.is_some(),
    };
    Some(match predicted(&request.results, &question, &here, how) {
        Some(Predicted { from, power }) => {
            format!("{}, by the noise of {from}", power.sentence())
        }
        None => format!(
            "the smallest effect that {blocks} blocks see is unknown before they are measured: the folder {} has no comparable run of {} on this machine",
            request.results.display(),
            question.name
        ),
    })
}

/// What the noise of a run depends on, beside the machine and the experiment.
#[derive(Clone, Copy, PartialEq)]
struct How {
    /// Whether it runs without its limits.
    is_unlimited: bool,
    is_sliced: bool,
}

/// The prediction of the newest run that was measured in the same way and allows one.
fn predicted(
    results: &Path,
    question: &Question,
    here: &Environment,
    how: How,
) -> Option<Predicted> {
    let is_comparable = |run: &Run| {
        let there = &run.environment;
        run.question.name == question.name
            && run.question.workload.summary == question.workload.summary
            && (&there.machine, &there.cpu, there.cores) == (&here.machine, &here.cpu, here.cores)
    };
    let comparable = |one: Recorded| {
        let run = one.run.ok().filter(is_comparable)?;
        Some((run.id, one.record))
    };
    let newest_first = folder::runs(results).into_iter().rev();
    newest_first
        .filter_map(comparable)
        .find_map(|(from, record)| {
            let trials = Store::open(&record).ok()?.trials().ok()?;
            let then = How {
                is_unlimited: trials.iter().any(Trial::is_unlimited),
                is_sliced: trials.iter().any(|trial| trial.slices().is_some()),
            };
            if then != how {
                return None;
            }
            let power = stats::power(question, &trials, question.blocks)?;
            Some(Predicted { power, from })
        })
}
