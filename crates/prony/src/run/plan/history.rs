//! Earlier runs of an experiment on this machine, from which the detection limit of the next one is predicted, and its budget planned.
//!
//! Purpose: the newest runs in the results folder whose trials are comparable. Outside this module: the formula (`stats`).

use super::request::Request;
use super::sharing;
use crate::run::RunError;
use crate::run::results::folder::{self, Recorded};
use host::machine;
use record::{Environment, Mode, Question, Run, Trial};
use spec::SliceSpec;
use spec::plan::PlannedTrial;
use stats::{Power, SliceFigures};
use std::path::Path;
use store::Store;

/// What an earlier run predicts.
pub(crate) struct Predicted {
    /// The run's name.
    pub from: String,
    pub power: Power,
}

/// Says what a run without slices will see, or why that is unknown. None with one block, which has no verdict. `own` is the run itself.
pub(super) fn sentence(
    request: &Request,
    trials: &[PlannedTrial],
    work: &Path,
    own: Option<&str>,
) -> Option<String> {
    let blocks = request.experiment.protocol.blocks;
    if blocks <= 1 {
        return None;
    }
    let workload = request.workload_note(trials).ok()?;
    let question = spec::question(&request.experiment, trials.len() as u64, workload);
    let here = machine::environment(work);
    let how = How {
        is_unlimited: trials.iter().any(|trial| !trial.lifted.names().is_empty()),
        is_in_turns: request.experiment.protocol.slices.is_some(),
    };
    let mut earlier = comparable(request, &question, &here, own);
    Some(match predicted(&mut earlier, &question, how) {
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
    is_in_turns: bool,
}

/// The prediction of the newest run that was measured in the same way and allows one.
fn predicted(
    earlier: &mut dyn Iterator<Item = Earlier>,
    question: &Question,
    how: How,
) -> Option<Predicted> {
    let mut of_it = earlier.filter(|run| run.name == question.name);
    of_it.find_map(|run| {
        let trials = run.store.trials().ok()?;
        let then = How {
            is_unlimited: trials.iter().any(Trial::is_unlimited),
            is_in_turns: trials.iter().any(Trial::took_turns),
        };
        if then != how {
            return None;
        }
        let power = stats::power(question, &trials, question.blocks)?;
        Some(Predicted {
            power,
            from: run.id,
        })
    })
}

/// An earlier run on this machine with the same workload.
struct Earlier {
    id: String,
    /// Of its experiment.
    name: String,
    store: Store,
}

/// The newest first. A run that is resumed is no earlier one: `own` is its name.
fn comparable(
    request: &Request,
    question: &Question,
    here: &Environment,
    own: Option<&str>,
) -> impl Iterator<Item = Earlier> {
    let is_comparable = move |run: &Run| {
        let there = &run.environment;
        own != Some(run.id.as_str())
            && run.question.workload.summary == question.workload.summary
            && (&there.machine, &there.cpu, there.cores) == (&here.machine, &here.cpu, here.cores)
            && have_one_workload(&run.experiment_toml, &request.experiment.source)
    };
    let earlier = move |one: Recorded| {
        let run = one.run.ok().filter(is_comparable)?;
        Some(Earlier {
            id: run.id,
            name: run.question.name,
            store: Store::open(&one.record).ok()?,
        })
    };
    let runs = folder::runs(&request.results);
    runs.into_iter().rev().filter_map(earlier)
}

/// Whether two experiment files say the same of the workload, down to the text of the user's own statements.
fn have_one_workload(one: &str, other: &str) -> bool {
    let differing = spec::differing_keys(&[one, other]);
    let is_of_workload = |key: &str| key.split('.').any(|part| part == "workload");
    !differing.iter().any(|(key, _)| is_of_workload(key))
}

/// What earlier runs in slices of the same length, or of any for `"auto"`, with the same load, show.
#[derive(Default)]
pub(super) struct Shown {
    pub figures: Option<SliceFigures>,
    runs: Vec<String>,
}

impl Shown {
    /// `bench-20261126-090000 and 2 more runs`.
    pub(super) fn names(&self) -> String {
        let newest = self.runs.first().map_or("", String::as_str);
        match self.runs.len() {
            0 | 1 => newest.to_string(),
            2 => format!("{newest} and 1 more run"),
            more => format!("{newest} and {} more runs", more - 1),
        }
    }
}

/// More degrees of freedom do not make a plan better.
const FREEDOM_ENOUGH: f64 = 20.0;

/// The newest runs in slices, until they show enough. `block` has the trials of one block.
pub(super) fn in_slices(
    request: &Request,
    block: &[PlannedTrial],
    work: &Path,
    own: Option<&str>,
) -> Result<Shown, RunError> {
    let Some(length) = request.experiment.protocol.slice_length() else {
        return Ok(Shown::default());
    };
    let workload = request.workload_note(block)?;
    let question = spec::question(&request.experiment, block.len() as u64, workload);
    let here = machine::environment(work);
    let modes: Vec<Mode> = block.iter().map(|planned| planned.load.mode()).collect();
    let least_s = length.as_secs_f64();
    let is_length = |length_s: f64| match request.experiment.protocol.slices {
        Some(SliceSpec::Auto) => length_s >= least_s,
        _ => length_s == least_s,
    };
    let is_alike = |trial: &Trial| {
        let slices = trial.slices();
        let load = trial.load.as_ref();
        slices.is_some_and(|slices| is_length(slices.length_s))
            && load.is_some_and(|load| modes.contains(&load.mode))
    };
    // One start for all cells has less noise than a start for each.
    let is_shared = sharing::is_any_shared(request)?;
    let of_run = |run: &Earlier| {
        let trials = run.store.trials().ok()?;
        if !trials.iter().any(is_alike) || trials.iter().any(Trial::shares_server) != is_shared {
            return None;
        }
        let mut trials = run.store.trials_whole().ok()?;
        trials.extend(run.store.controls_whole().ok()?);
        SliceFigures::of(trials.iter().filter(|trial| is_alike(trial)))
    };
    let (mut all, mut runs, mut freedom) = (Vec::new(), Vec::new(), 0.0);
    for run in comparable(request, &question, &here, own) {
        if let Some(figures) = of_run(&run) {
            freedom += figures.freedom;
            all.push(figures);
            runs.push(run.id);
        }
        if freedom >= FREEDOM_ENOUGH {
            break;
        }
    }
    Ok(Shown {
        figures: SliceFigures::pooled(&all),
        runs,
    })
}
