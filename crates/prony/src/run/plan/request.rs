//! What a run is requested to do, and the resources that it gets.
//!
//! Purpose: the trials and the workloads of a request, for every step of the protocol. Outside this module: the steps.

use super::workloads::query_names;
use crate::run::{Progress, RunError, Workloads};
use host::{Home, Leases};
use record::WorkloadNote;
use server::{Provider, ServerError};
use spec::plan::{MatrixPart, Plan, PlannedTrial};
use spec::{BuildSpec, Experiment, Shard};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use workload::{AllowDrop, Workload};

/// A run to execute. Everything in it is checked.
#[derive(Clone)]
pub struct Request {
    pub experiment: Experiment,
    /// Command line overrides as arguments, without passwords, for the record.
    pub overrides: Vec<String>,
    pub seed: u64,
    /// The part of the trials to measure; None: all.
    pub part: Option<MatrixPart>,
    /// Which share of the load of every trial this process runs; None: the whole load.
    pub shard: Option<Shards>,
    pub results: PathBuf,
    /// A run to resume, by folder or name.
    pub resume: Option<String>,
    /// The tables on external servers that may be dropped.
    pub allow_drop: AllowDrop,
    /// Whether the statements of a workload may leave prony's schema on external servers.
    pub allow_setup: bool,
    /// Whether the block devices that the experiment names may be overwritten.
    pub allow_device_write: bool,
    /// How much slower a further server may be than the first one: 0.05 is 5 %.
    pub tolerance: f64,
    /// The sentence about what the run will see, if it was found with the run's budget.
    pub sees: Option<String>,
    pub workloads: Workloads,
}

impl Request {
    /// A whole run, which may drop and overwrite nothing that is the user's.
    pub fn new(experiment: Experiment, seed: u64, results: PathBuf) -> Request {
        Request {
            experiment,
            overrides: Vec::new(),
            seed,
            part: None,
            shard: None,
            results,
            resume: None,
            allow_drop: AllowDrop::No,
            allow_setup: false,
            allow_device_write: false,
            tolerance: stats::TOLERANCE,
            sees: None,
            workloads: Workloads::default(),
        }
    }

    /// Plans the trials of this run, or of its part, in the order of execution.
    pub(crate) fn plan(&self) -> Result<Plan<'_>, RunError> {
        Plan::of_part(&self.experiment, self.seed, self.part)
            .map_err(|error| RunError::Usage(error.to_string()))
    }

    /// The workload of a trial, opened once per distinct section.
    pub(crate) fn workload(&self, trial: &PlannedTrial) -> Result<Arc<dyn Workload>, RunError> {
        self.workloads.of(&self.experiment, trial)
    }

    /// The workload as the record describes it.
    ///
    /// # Errors
    /// An experiment without trials, or a workload that cannot be opened.
    pub(crate) fn workload_note(&self, trials: &[PlannedTrial]) -> Result<WorkloadNote, RunError> {
        let Some(first) = trials.first() else {
            return Err(RunError::Usage("the experiment has no trials".into()));
        };
        let chosen = &self.experiment.protocol.queries;
        let operations = query_names(self.workload(first)?.as_ref())
            .into_iter()
            .filter(|name| chosen.is_empty() || chosen.contains(name));
        let summaries: Result<BTreeSet<String>, RunError> = trials
            .iter()
            .map(|trial| Ok(self.workload(trial)?.summary()))
            .collect();
        Ok(WorkloadNote {
            name: self.experiment.workload.clone(),
            summary: shared(&summaries?),
            operations: operations.collect(),
        })
    }
}

/// What the command line says about shards.
#[derive(Clone, Copy, Debug)]
pub struct Shards {
    pub shard: Shard,
    pub meet_within: Duration,
}

/// Gets the server that a build or a DSN names.
pub type Provide<'a> = dyn Fn(&BuildSpec) -> Result<Box<dyn Provider>, ServerError> + 'a;

/// The resources of a run.
pub struct Means<'a> {
    pub home: &'a Home,
    pub leases: &'a Leases,
    pub progress: &'a Progress,
    pub provide: &'a Provide<'a>,
}

/// The common parts of the trials' summaries. What a factor varies is in the table's rows.
fn shared(summaries: &BTreeSet<String>) -> String {
    let Some(first) = summaries.first() else {
        return String::new();
    };
    let in_all = |part: &&str| {
        summaries
            .iter()
            .all(|summary| summary.split(", ").any(|other| other == *part))
    };
    first
        .split(", ")
        .filter(in_all)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_run_leaves_out_what_a_factor_varies() {
        let summary = |joins: &str| format!("Star Schema Benchmark, scale 1, InnoDB, {joins}");
        let one = BTreeSet::from([summary("ANSI joins")]);
        assert_eq!(shared(&one), summary("ANSI joins"));
        let two = BTreeSet::from([summary("fact table first"), summary("dimension first")]);
        assert_eq!(shared(&two), "Star Schema Benchmark, scale 1, InnoDB");
    }
}
