//! `prony check FILE`

use super::experiment::{self, Overrides};
use super::failure::{Failure, Status, print};
use crate::host::{Home, Leases, machine};
use crate::plan::{PlannedTrial, estimate, shard::Shard};
use crate::run::{Request, conduct, preflight, servers::Provided};
use crate::server::builds::Cache;
use crate::spec::Experiment;
use crate::workload;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(clap::Args)]
pub struct Args {
    /// An experiment file, or a name that `prony list` shows
    #[arg(value_name = "FILE|NAME")]
    experiment: String,
    #[command(flatten)]
    overrides: Overrides,
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// The seed of the order of trials
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(args: Args) -> Result<Status, Failure> {
    let experiment = experiment::load(&args.experiment, &args.overrides)?;
    let request = Request {
        experiment,
        overrides: Vec::new(),
        seed: args.seed,
        shard: args.shard,
        results: Default::default(),
        resume: None,
        allow_drop: false,
    };
    let trials = conduct::planned(&request)?;
    print(&estimate::text(&request.experiment, &trials, &|trial| cost(&request.experiment, trial)));
    known_settings(&request, &trials)
}

fn cost(experiment: &Experiment, trial: &PlannedTrial) -> estimate::Cost {
    let Ok(dataset) = workload::open(&experiment.workload, &trial.workload) else { return estimate::Cost::default() };
    let estimated = dataset.estimate();
    estimate::Cost {
        dataset: dataset.fingerprint(),
        data_bytes: estimated.data_bytes,
        load_s: estimated.load_s,
        cold_round_s: estimated.cold_round_s,
        hot_round_s: estimated.hot_round_s,
    }
}

/// Servers that are in the cache are asked whether they know the settings; the others are named.
fn known_settings(request: &Request, trials: &[PlannedTrial]) -> Result<Status, Failure> {
    let home = Home::from_environment().map_err(Failure::asked)?;
    let cache = Cache::new(&home);
    let mut servers = BTreeMap::new();
    for spec in &request.experiment.servers {
        if cache.holds(&spec.build) {
            let leases = Arc::new(Leases::open(&home).map_err(Failure::failed)?);
            let provided = Provided::get(spec, &home, &leases, &crate::run::Progress::silent())?;
            servers.insert(spec.name.clone(), (provided, leases));
        } else {
            print(&format!("server {}: {} is not in the cache yet; its settings are checked when the run gets it", spec.name, spec.build));
        }
    }
    let memory_bytes = machine::environment(&home.work()).memory_bytes;
    let estimated = |trial: &PlannedTrial| cost(&request.experiment, trial).data_bytes;
    let mut found = Vec::new();
    for (name, (provided, leases)) in servers {
        found.extend(preflight::check(trials, &BTreeMap::from([(name, provided)]), &leases, &estimated, memory_bytes)?);
    }
    if found.is_empty() {
        return Ok(Status::Done);
    }
    let lines: Vec<String> = found.iter().map(|one| format!("server {}: {}", one.server, one.says)).collect();
    Err(Failure::asked(lines.join("\n")))
}
