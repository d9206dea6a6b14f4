//! `prony check FILE`

use super::Results;
use super::experiment::{self, Overrides};
use super::failure::{Failure, Status};
use crate::run::machine::{limits, volume};
use crate::run::plan::budget;
use crate::run::prepare::servers::Provided;
use crate::run::prepare::{self, preflight, space, unapplied};
use crate::run::shards::common_seed;
use crate::run::{Expected, Progress, Request, RunError};
use crate::screen;
use host::{Home, Leases, machine};
use server::Cache;
use spec::known::Known;
use spec::plan::estimate::{self, DatasetCost};
use spec::plan::{MatrixPart, Plan, PlannedTrial};
use spec::{self, BuildSpec, ServerSpec};
use std::collections::BTreeMap;

#[derive(clap::Args)]
pub(super) struct Args {
    /// An experiment file, or a name that `prony list` shows
    #[arg(value_name = "FILE|NAME")]
    experiment: String,
    #[command(flatten)]
    overrides: Overrides,
    /// Only this part of the trials
    #[arg(long, value_name = "K/N")]
    part: Option<MatrixPart>,
    #[command(flatten)]
    results: Results,
}

/// What `run` is requested to do with the same arguments.
fn requested(args: Args) -> Result<Request, Failure> {
    let experiment = experiment::load(&args.experiment, &args.overrides)?;
    let mut request = Request {
        overrides: args.overrides.arguments(),
        part: args.part,
        ..Request::new(experiment, 1, args.results.results)
    };
    // The trials of a part depend on the order in which they are dealt.
    if request.part.is_some() {
        request.seed = common_seed(&request);
    }
    Ok(request)
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let mut request = requested(args)?;
    super::run::plan(&mut request)?;
    let plan = request.plan()?;
    let trials: Vec<PlannedTrial> = plan.trials().collect();
    prepare::check_workload(&request, &trials)?;
    prepare::check_in_place(&request, &trials)?;
    for sentence in spec::advice(&request.experiment) {
        Progress::stderr().say(&format!("note: {sentence}"));
    }
    screen::show(&expected(&request, &plan, &trials)?);
    let home = Home::from_environment().map_err(Failure::usage)?;
    if let Some(sees) = budget::sees(&request, &trials, &home.work(), None) {
        screen::show(&sees);
    }
    prepare::check_memory_limits(&request, &trials)?;
    limits(&request, &trials, &home)?;
    // Nothing is written, so the device may be named.
    volume::check(&request.experiment, &trials, true)?;
    known_settings(&request, &trials, &home)
}

/// The expected disk space and time.
fn expected(request: &Request, plan: &Plan, trials: &[PlannedTrial]) -> Result<String, Failure> {
    let expected = Expected::of(request, trials)?;
    // Many trials share a dataset.
    let mut costs: BTreeMap<(String, String), DatasetCost> = BTreeMap::new();
    let at_once = plan.servers_at_once();
    for trial in trials {
        let estimate = expected.dataset(trial);
        let bytes = snapshot_bytes(trial, estimate.data_bytes);
        let cluster = trial.server.as_ref().and_then(|server| server.cluster);
        let nodes = cluster.map_or(1, |cluster| cluster.nodes);
        let copies = u64::from(nodes.max(at_once));
        let server = trial.server_name().to_string();
        let key = (server.clone(), trial.workload.to_string());
        costs.entry(key).or_insert(DatasetCost {
            server,
            new_bytes: bytes,
            copy_bytes: bytes * copies + expected.files_bytes(trial),
            load_s: estimate.load_s,
        });
    }
    let costs: Vec<DatasetCost> = costs.into_values().collect();
    Ok(estimate::text(
        &request.experiment,
        &estimate::expect(plan, &costs, &|trial| expected.trial_s(trial)),
    ))
}

/// A snapshot of a server that prony starts has more than the data.
fn snapshot_bytes(trial: &PlannedTrial, data_bytes: u64) -> u64 {
    let server = trial.server.as_ref();
    match server.is_some_and(|server| server.build.is_managed()) {
        true => {
            let redo_log_bytes = space::redo_log_bytes(&trial.settings, data_bytes);
            space::snapshot_bytes(data_bytes, redo_log_bytes)
        }
        false => data_bytes,
    }
}

/// Checks that this machine can set the planned limits.
fn limits(request: &Request, trials: &[PlannedTrial], home: &Home) -> Result<(), Failure> {
    let leases = super::leases(home)?;
    let experiment = &request.experiment;
    Ok(limits::check(experiment, trials, home, &leases)?)
}

/// Checks the settings against the servers in the cache and those that run, and names the servers that are neither.
fn known_settings(
    request: &Request,
    trials: &[PlannedTrial],
    home: &Home,
) -> Result<Status, Failure> {
    let cache = Cache::new(home);
    let memory_bytes = machine::environment(&home.work()).memory_bytes;
    let leases = Leases::open(home).map_err(Failure::failed)?;
    let get = |spec: &ServerSpec| {
        Provided::get(spec, &|build| {
            server::provider(build, home, &leases, &|_| ())
        })
    };
    let mut known = Vec::new();
    for spec in &spec::plan::servers(&request.experiment, trials) {
        match &spec.build {
            BuildSpec::External(_) => match get(spec) {
                Ok(provided) => known.push(preflight::known_settings(&provided)?),
                Err(error) => screen::show(&format!(
                    "server {}: its settings are not checked, because it does not answer: {error}",
                    spec.name
                )),
            },
            build if cache.has(build) => {
                let provided = get(spec)?;
                let largest = prepare::largest_estimate(request, trials, &spec.name);
                known.push(preflight::known_settings(&provided)?);
                preflight::fits(&request.experiment, &provided, largest, memory_bytes)?;
            }
            BuildSpec::Sqlite => {}
            build => screen::show(&format!(
                "server {}: {build} is not in the cache; prony checks its settings after the download",
                spec.name
            )),
        }
    }
    spec::settings::unknown(&request.experiment, &known).map_err(RunError::from)?;
    empty_cells(trials, &known);
    let estimated = |trial: &PlannedTrial| prepare::estimate(request, trial);
    for line in unapplied::warnings(trials, &known, &estimated) {
        Progress::stderr().say(&line);
    }
    Ok(Status::Done)
}

/// Prints the trials that will not be measured, once for all blocks.
fn empty_cells(trials: &[PlannedTrial], known: &[Known]) {
    for trial in trials
        .iter()
        .filter(|trial| trial.key.block == 0 && !trial.key.is_control())
    {
        if let Some(why) = preflight::lacking(trial, known) {
            let line = format!("{}: not available, {why}", trial.key.label());
            screen::show(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Verb};
    use super::*;
    use clap::Parser;

    fn seed(arguments: &str) -> u64 {
        let line = format!("prony check quickstart {arguments}");
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        let Verb::Check(args) = cli.verb else {
            panic!("{line}");
        };
        requested(args).unwrap().seed
    }

    #[test]
    fn a_part_has_the_seed_of_the_runs_that_measure_the_parts() {
        assert_eq!(seed("--part 1/2"), seed("--part 2/2"));
        assert_ne!(seed("--part 1/2"), seed(""));
        assert_ne!(seed("--part 1/2"), seed("--part 1/2 --blocks 5"));
    }
}
