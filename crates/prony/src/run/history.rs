//! Earlier runs of an experiment on this machine, from which the detection limit of the next one is predicted.
//!
//! Purpose: the newest run in the results folder whose trials are comparable. Outside this module: the formula (`record::stats`).

use super::conduct::Request;
use super::prepare::workload_note;
use host::machine;
use record::stats::{self, Power};
use record::{Environment, Question, Run, Store};
use spec::plan::PlannedTrial;
use std::path::Path;

/// What an earlier run predicts.
pub(crate) struct Predicted {
    /// The run's name.
    pub from: String,
    pub power: Power,
}

/// Says what the run will see, or why that is unknown. None with one block, which has no verdict.
pub(crate) fn sentence(request: &Request, trials: &[PlannedTrial], work: &Path) -> Option<String> {
    let blocks = request.experiment.protocol.blocks;
    let workload = workload_note(request, trials).ok()?;
    let question = spec::question(&request.experiment, trials.len() as u64, workload);
    let here = machine::environment(work);
    (blocks > 1).then(|| match predicted(&request.results, &question, &here) {
        Some(Predicted { from, power }) => {
            format!("{}, by the noise of {from}", power.sentence())
        }
        None => format!(
            "the smallest effect that {blocks} blocks see is unknown before they are measured: {} has no comparable run of {} on this machine",
            request.results.display(),
            question.name
        ),
    })
}

/// The prediction of the newest run that allows one.
fn predicted(results: &Path, question: &Question, here: &Environment) -> Option<Predicted> {
    let folders = std::fs::read_dir(results).into_iter().flatten().flatten();
    let open = |path: &Path| -> Option<(Run, Store)> {
        let store = Store::open(&path.join("run.sqlite")).ok()?;
        Some((store.run().ok()?, store))
    };
    let is_comparable = |run: &Run| {
        let there = &run.environment;
        run.question.name == question.name
            && run.question.workload.summary == question.workload.summary
            && (&there.machine, &there.cpu, there.cores) == (&here.machine, &here.cpu, here.cores)
    };
    let mut runs: Vec<(Run, Store)> = folders
        .filter_map(|entry| open(&entry.path()))
        .filter(|(run, _)| is_comparable(run))
        .collect();
    runs.sort_by_key(|(run, _)| std::cmp::Reverse(run.started_ns));
    runs.into_iter().find_map(|(run, store)| {
        let trials = store.trials().ok()?;
        Some(Predicted {
            power: stats::power(question, &trials, question.blocks)?,
            from: run.id,
        })
    })
}
