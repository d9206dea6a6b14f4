//! How long trials are expected to take, before any of them was measured.
//!
//! Purpose: the figures of `prony check`, and of the remaining time until the run has its own. Outside this module: adding them up
//! (`spec::plan::estimate`, `remaining`).

use super::request::Request;
use super::workloads::query_names;
use crate::run::RunError;
use crate::run::machine::limits;
use spec::plan::PlannedTrial;
use spec::{Plans, RoundKind, SliceSpec, Unit};
use stats::snia;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use workload::{Estimate, Files, Workload};

/// Time to copy a snapshot and start a server, measured on two cores at scale 0.1 to 1.
const RESTART_S: f64 = 3.0;
/// At which files are made: a common disk of a cloud machine.
const FILES_BYTES_PER_S: f64 = 200e6;

/// The estimates of the workloads, each made once, and what a trial does with them.
pub(crate) struct Expected<'r> {
    request: &'r Request,
    /// By the workload's section.
    needs: BTreeMap<String, Needs>,
    queries: Queries,
    cores: f64,
}

impl<'r> Expected<'r> {
    /// # Errors
    /// A workload that cannot be opened.
    pub(crate) fn of(
        request: &'r Request,
        trials: &[PlannedTrial],
    ) -> Result<Expected<'r>, RunError> {
        let mut needs: BTreeMap<String, Needs> = BTreeMap::new();
        for trial in trials {
            let section = trial.workload.to_string();
            if let Entry::Vacant(unknown) = needs.entry(section) {
                unknown.insert(Needs::of(request.workload(trial)?.as_ref()));
            }
        }
        Ok(Expected {
            request,
            needs,
            queries: queries_of_a_round(request, trials)?,
            cores: std::thread::available_parallelism().map_or(1, usize::from) as f64,
        })
    }

    /// Of the trial's dataset; it must be one of the trials that were given.
    pub(crate) fn dataset(&self, trial: &PlannedTrial) -> &Estimate {
        &self.needs(trial).dataset
    }

    /// The space of the files that the trial makes.
    pub(crate) fn files_bytes(&self, trial: &PlannedTrial) -> u64 {
        self.needs(trial).files_bytes
    }

    fn needs(&self, trial: &PlannedTrial) -> &Needs {
        &self.needs[&trial.workload.to_string()]
    }

    /// The seconds of a trial, with its start.
    pub(crate) fn trial_s(&self, trial: &PlannedTrial) -> f64 {
        let protocol = &self.request.experiment.protocol;
        let needs = self.needs(trial);
        let estimate = &needs.dataset;
        let restarts = match protocol.unit {
            Unit::Round => 1.0,
            Unit::Query => self.queries.issued as f64,
        };
        let share = self.queries.share();
        // Clients in excess of the cores wait for one.
        let turns = (f64::from(trial.load.clients()) / self.cores).max(1.0) * share;
        let round_s = |kind: &RoundKind| match kind {
            RoundKind::Cold => estimate.round_cold_s * turns + RESTART_S * restarts,
            RoundKind::Hot => estimate.round_hot_s * turns,
        };
        // Only the first trial of a series starts a server, or makes the files.
        let begins = !protocol.series || !trial.continues;
        let start_s = if begins {
            RESTART_S + needs.files_s
        } else {
            0.0
        };
        let ready_s = start_s + needs.steady_s;
        // Servers that take turns read the data before a first hot round, in a pass that does not count.
        let is_in_turns = protocol.slices == Some(SliceSpec::Query);
        let first_s = match trial.rounds.first() {
            Some(RoundKind::Hot) if is_in_turns => estimate.round_cold_s * turns,
            _ => 0.0,
        };
        let rounds_s = first_s + trial.rounds.iter().map(round_s).sum::<f64>();
        let disk_s =
            limits::cold_reading_s(trial, estimate.data_bytes) * cold_rounds(trial) * share;
        // EXPLAIN ANALYZE executes every query once more.
        let analysis_s = match trial.observe.plans {
            Plans::Analyze if !protocol.is_timed() => estimate.round_hot_s * share,
            _ => 0.0,
        };
        ready_s + protocol.driven().as_secs_f64() + rounds_s.max(disk_s) + analysis_s
    }
}

/// What a workload needs before its operations.
struct Needs {
    dataset: Estimate,
    files_bytes: u64,
    /// The time to make the files.
    files_s: f64,
    /// The rounds that bring the disk below the files to its steady state, if the first ones find it.
    steady_s: f64,
}

impl Needs {
    fn of(workload: &dyn Workload) -> Needs {
        let files = workload.files();
        let files_bytes = files.map_or(0, Files::bytes);
        let written = files.filter(|files| files.are_written());
        let rule = files.and_then(Files::precondition);
        let passes = rule.map_or(1, |rule| rule.passes);
        Needs {
            dataset: workload
                .data()
                .map(|data| data.estimate())
                .unwrap_or_default(),
            files_bytes,
            files_s: written.map_or(0, Files::bytes) as f64 * f64::from(passes) / FILES_BYTES_PER_S,
            steady_s: rule.map_or(0.0, |rule| {
                rule.round.as_secs_f64() * snia::WINDOW_ROUNDS as f64
            }),
        }
    }
}

fn cold_rounds(trial: &PlannedTrial) -> f64 {
    let cold = trial.rounds.iter().filter(|kind| **kind == RoundKind::Cold);
    cold.count() as f64
}

/// How many queries a round issues, out of all queries of the workload.
struct Queries {
    issued: usize,
    all: usize,
}

impl Queries {
    fn share(&self) -> f64 {
        self.issued as f64 / self.all.max(1) as f64
    }
}

fn queries_of_a_round(request: &Request, trials: &[PlannedTrial]) -> Result<Queries, RunError> {
    let all = match trials.first() {
        Some(first) => query_names(request.workload(first)?.as_ref()).len(),
        None => 0,
    };
    let issued = match request.experiment.protocol.queries.len() {
        0 => all,
        chosen => chosen,
    };
    Ok(Queries { issued, all })
}
