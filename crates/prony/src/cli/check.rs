//! `prony check FILE`

use super::Results;
use super::experiment::{self, Overrides};
use super::failure::{Failure, Status, print};
use crate::run::{
    Progress, Request, RunError, Workloads, history, limits, preflight, prepare, servers::Provided,
    volume,
};
use host::{Home, Leases, machine};
use server::Cache;
use spec::known::Known;
use spec::plan::estimate::{self, DatasetCost};
use spec::plan::{Plan, PlannedTrial, Shard};
use spec::{self, BuildSpec, Plans, RoundKind, Unit};
use std::collections::BTreeMap;
use workload::Estimate;

/// Time to copy a snapshot and start a server, measured on two cores at scale 0.1 to 1.
const RESTART_S: f64 = 3.0;

#[derive(clap::Args)]
pub(super) struct Args {
    /// An experiment file, or a name that `prony list` shows
    #[arg(value_name = "FILE|NAME")]
    experiment: String,
    #[command(flatten)]
    overrides: Overrides,
    /// Only this part of the trials
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    results: Results,
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let experiment = experiment::load(&args.experiment, &args.overrides)?;
    let request = Request {
        experiment,
        overrides: Vec::new(),
        seed: 1,
        shard: args.shard,
        results: args.results.results,
        resume: None,
        allow_drop: false,
        workloads: Workloads::default(),
    };
    let plan = prepare::plan(&request)?;
    let trials: Vec<PlannedTrial> = plan.trials().collect();
    prepare::check_workload(&request, &trials)?;
    prepare::check_in_place(&request, &trials)?;
    for sentence in spec::advice(&request.experiment) {
        Progress::stderr().say(&format!("note: {sentence}"));
    }
    print(&expected(&request, &plan, &trials)?);
    let home = Home::from_environment().map_err(Failure::usage)?;
    if let Some(sees) = history::sentence(&request, &trials, &home.work()) {
        print(&sees);
    }
    limits(&trials, &home)?;
    volume::check(&trials)?;
    known_settings(&request, &trials, &home)
}

/// The expected disk space and time. Many trials share a dataset, so each dataset is estimated once.
fn expected(request: &Request, plan: &Plan, trials: &[PlannedTrial]) -> Result<String, Failure> {
    let mut estimates: BTreeMap<String, Estimate> = BTreeMap::new();
    let mut costs: BTreeMap<(String, String), DatasetCost> = BTreeMap::new();
    for trial in trials {
        let section = trial.workload.to_string();
        if !estimates.contains_key(&section) {
            let workload = prepare::workload(request, trial)?;
            let estimate = workload.data().map(|data| data.estimate());
            estimates.insert(section.clone(), estimate.unwrap_or_default());
        }
        let estimate = &estimates[&section];
        let server = trial.server_name().to_string();
        costs
            .entry((server.clone(), section))
            .or_insert(DatasetCost {
                server,
                new_bytes: estimate.data_bytes,
                copy_bytes: estimate.data_bytes,
                load_s: estimate.load_s,
            });
    }
    let costs: Vec<DatasetCost> = costs.into_values().collect();
    let protocol = &request.experiment.protocol;
    let queries = queries_of_a_round(request, trials)?;
    let restarts = match protocol.unit {
        Unit::Round => 1.0,
        Unit::Query => queries.issued as f64,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let trial_s = |trial: &PlannedTrial| {
        let estimate = &estimates[&trial.workload.to_string()];
        // Clients in excess of the cores wait for one.
        let turns = (f64::from(trial.load.clients()) / cores).max(1.0) * queries.share();
        let round_s = |kind: &RoundKind| match kind {
            RoundKind::Cold => estimate.round_cold_s * turns + RESTART_S * restarts,
            RoundKind::Hot => estimate.round_hot_s * turns,
        };
        // Only the first trial of a series starts a server.
        let begins = !protocol.series || !trial.continues;
        let start_s = if begins { RESTART_S } else { 0.0 };
        let rounds_s = trial.rounds.iter().map(round_s).sum::<f64>();
        let disk_s = limits::cold_reading_s(trial, estimate.data_bytes)
            * cold_rounds(trial)
            * queries.share();
        // EXPLAIN ANALYZE executes every query once more.
        let analysis_s = match trial.observe.plans {
            Plans::Analyze if !protocol.is_timed() => estimate.round_hot_s * queries.share(),
            _ => 0.0,
        };
        start_s + protocol.driven().as_secs_f64() + rounds_s.max(disk_s) + analysis_s
    };
    Ok(estimate::text(
        &request.experiment,
        &estimate::expect(plan, &costs, &trial_s),
    ))
}

/// Checks that this machine can set the planned limits.
fn limits(trials: &[PlannedTrial], home: &Home) -> Result<(), Failure> {
    let leases = Leases::open(home).map_err(Failure::failed)?;
    Ok(limits::check(trials, home, &leases)?)
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

fn queries_of_a_round(request: &Request, trials: &[PlannedTrial]) -> Result<Queries, Failure> {
    let all = match trials.first() {
        Some(first) => prepare::query_names(prepare::workload(request, first)?.as_ref()).len(),
        None => 0,
    };
    let issued = match request.experiment.protocol.queries.len() {
        0 => all,
        chosen => chosen,
    };
    Ok(Queries { issued, all })
}

/// Checks the settings against the servers in the cache, and names the servers that are not in it.
fn known_settings(
    request: &Request,
    trials: &[PlannedTrial],
    home: &Home,
) -> Result<Status, Failure> {
    let cache = Cache::new(home);
    let memory_bytes = machine::environment(&home.work()).memory_bytes;
    let mut known = Vec::new();
    for spec in &spec::plan::servers(&request.experiment, trials) {
        let held = matches!(spec.build, BuildSpec::Path(_))
            || cache
                .held()
                .iter()
                .any(|held| held.name == spec.build.to_string());
        if held {
            let leases = Leases::open(home).map_err(Failure::failed)?;
            let provided = Provided::get(spec, &|build| {
                server::provider(build, home, &leases, &|_| ())
            })?;
            let largest = prepare::largest_estimate(request, trials, &spec.name);
            known.push(preflight::known_settings(&provided)?);
            preflight::fits(&request.experiment, &provided, largest, memory_bytes)?;
        } else if !matches!(spec.build, BuildSpec::External(_) | BuildSpec::Sqlite) {
            print(&format!(
                "server {}: {} is not in the cache; prony checks its settings after the download",
                spec.name, spec.build
            ));
        }
    }
    spec::settings::unknown(&request.experiment, &known).map_err(RunError::from)?;
    empty_cells(trials, &known);
    Ok(Status::Done)
}

/// Prints the trials that will not be measured, once for all blocks.
fn empty_cells(trials: &[PlannedTrial], known: &[Known]) {
    for trial in trials
        .iter()
        .filter(|trial| trial.key.block == 0 && !trial.key.is_control())
    {
        if let Some(why) = preflight::lacking(trial, known) {
            print(&format!("{}: not available, {why}", trial.key.label()));
        }
    }
}
