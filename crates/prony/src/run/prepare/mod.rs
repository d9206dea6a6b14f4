//! Prepares a run: servers, the settings that they know, datasets and the run's folder.
//!
//! Purpose: refuse here whatever can be refused, before the trials take hours. Outside this module: one dataset (`dataset`), one
//! trial (`trial`).

pub(crate) mod connections;
pub(crate) mod crash_cause;
pub(crate) mod dataset;
pub(crate) mod in_place;
pub(crate) mod layout;
mod overridden;
pub(crate) mod preflight;
mod provision;
pub(crate) mod servers;
pub(crate) mod space;
pub(crate) mod typos;
pub(crate) mod unapplied;

use super::event::{Action, kinds::KINDS};
use super::machine::neighbours::Neighbours;
use super::machine::{limits, volume};
use super::plan::looks;
use super::plan::query_names;
use super::plan::sharing;
use super::plan::{Means, Request};
use super::results::folder::RunFolder;
use super::shards::Meeting;
use super::{RunError, stop_if_interrupted, stored};
use crate::lock;
use dataset::Datasets;
use host::{machine, now_ns};
use provision::{Provisioned, provision};
use record::{Environment, Run, Sharing};
use servers::Provided;
use spec::known::Known;
use spec::plan::{self, Plan, PlannedTrial};
use spec::{events, memory, queries, question, settings, slices, timed};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use store::Store;
use typos::Typos;
use workload::AfterLoad;

/// What all trials of a run are measured with.
pub(crate) struct Prepared<'a> {
    pub servers: BTreeMap<String, Provided>,
    pub known: Vec<Known>,
    pub ready: Provisioned,
    pub typos: Typos<'a>,
    pub neighbours: Neighbours,
    /// What each event of the file does.
    pub actions: Vec<Action>,
}

/// Checks the request, gets the servers, loads the datasets and opens the record.
///
/// # Errors
/// The run cannot start. Datasets that were loaded are kept.
pub(crate) fn prepare<'a>(
    request: &Request,
    trials: &[PlannedTrial],
    means: &Means<'a>,
    meeting: Option<&Mutex<Meeting>>,
) -> Result<(Prepared<'a>, RunFolder, Store), RunError> {
    let actions = check_workload(request, trials)?;
    check_in_place(request, trials)?;
    let experiment = &request.experiment;
    check_memory_limits(request, trials)?;
    limits::check(experiment, trials, means.home, means.leases)?;
    volume::check(experiment, trials, request.allow_device_write)?;
    let servers = servers(request, trials, means)?;
    check_connections(request, trials, &servers)?;
    let environment = environment(means, &servers);
    // Before any data is loaded: refuses to resume a run from another environment, or one that another process writes.
    let begun = begun(request, &environment)?;
    let known = known(request, &servers)?;
    let estimated = |trial: &PlannedTrial| estimate(request, trial);
    for line in unapplied::warnings(trials, &known, &estimated) {
        means.progress.say(&line);
    }
    let check_memory = |largest: &dyn Fn(&str) -> u64| {
        servers.iter().try_for_each(|(name, server)| {
            preflight::fits(experiment, server, largest(name), environment.memory_bytes)
        })
    };
    check_memory(&|server| largest_estimate(request, trials, server))?;
    let party = meeting.map(|meeting| lock(meeting).party().to_string());
    let neighbours = Neighbours::join(means.home, means.leases, party.as_deref())?;
    let typos = Typos::new(means.progress, is_alone(request, trials)?);
    let ready = load(request, trials, means, (&servers, meeting), &known, &typos)?;
    check_memory(&|server| ready.largest(request, trials, server))?;
    let (folder, store) = match begun {
        Some((folder, mut store)) => {
            looks::keep_further(request, measured(trials), &mut store)?;
            (folder, store)
        }
        None => {
            let loaded = |trial: &PlannedTrial| ready.data_bytes(request, trial).unwrap_or(0);
            let environment = Environment {
                unconfigured: unapplied::servers(trials, &servers, &known, &loaded),
                ..environment
            };
            begin(request, trials, environment, meeting)?
        }
    };
    let store = store.with_plan_steps(explain::plan::steps_json);
    let prepared = Prepared {
        servers,
        known,
        ready,
        typos,
        neighbours,
        actions,
    };
    Ok((prepared, folder, store))
}

/// Checks the queries, the load and the events of the file against its workload. Returns what each event does.
///
/// # Errors
/// Everything that the workload does not have, each at its place.
pub(crate) fn check_workload(
    request: &Request,
    trials: &[PlannedTrial],
) -> Result<Vec<Action>, RunError> {
    let Some(first) = trials.first() else {
        return Err(RunError::Usage(
            "this part has no trials; choose a part K/N with a smaller N".into(),
        ));
    };
    let workload = request.workload(first)?;
    let names = query_names(workload.as_ref());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    queries::check(&request.experiment, &names)?;
    // A workload has queries for rounds or operations for a timed load.
    timed::check(&request.experiment, workload.queries().is_none())?;
    check_slices(request)?;
    let mut rows = BTreeSet::new();
    for trial in trials {
        // Every block has the same statements and levels.
        if rows.insert(stats::row_key(&trial.key)) {
            let workload = request.workload(trial)?;
            preflight::can_pause(workload.as_ref(), &request.experiment.load)?;
            overridden::check(&request.experiment, trial, &workload.written())?;
        }
    }
    Ok(events::read(&request.experiment, &KINDS)?)
}

/// Checks that what is measured in slices can be, and that the servers of each group fit into the memory of this machine.
fn check_slices(request: &Request) -> Result<(), RunError> {
    if request.experiment.protocol.slices.is_none() {
        return Ok(());
    }
    if request.shard.is_some() {
        return Err(RunError::Usage(
            "--shard divides a load between processes, which cannot take turns in slices; remove --shard, or write slices = \"off\" in [protocol]".into(),
        ));
    }
    let plan = Plan::new(&request.experiment, request.seed);
    let groups = plan
        .map_err(|error| RunError::Usage(error.to_string()))?
        .groups();
    slices::check(&request.experiment, &groups)?;
    let owners = sharing::owners(request, groups);
    let sized = owners.iter().map(|group| {
        let trials = group.iter();
        let sized = trials.map(|trial| (trial, estimate(request, trial)));
        sized.collect()
    });
    let sized: Vec<Vec<(&PlannedTrial, u64)>> = sized.collect();
    Ok(memory::fit_together(
        &request.experiment,
        &sized,
        machine::memory_bytes(),
    )?)
}

/// Checks what the experiment requests of external servers.
pub(crate) fn check_in_place(request: &Request, trials: &[PlannedTrial]) -> Result<(), RunError> {
    let on_theirs = |trial: &&PlannedTrial| {
        let server = trial.server.as_ref();
        server.is_some_and(|server| server.build.is_external())
    };
    let wanted = trials.iter().filter(on_theirs).map(|trial| {
        let workload = request.workload(trial)?;
        let server = trial.server_name().to_string();
        let fingerprint = workload.data().map(|data| data.fingerprint());
        Ok((server, fingerprint.unwrap_or_default(), workload.summary()))
    });
    let wanted = wanted.collect::<Result<Vec<_>, RunError>>()?;
    let servers = plan::servers(&request.experiment, trials);
    in_place::check(&servers, &wanted)?;
    for trial in trials {
        let workload = request.workload(trial)?;
        if workload.data().is_some_and(|data| data.is_theirs()) && !on_theirs(&trial) {
            return Err(in_place::not_theirs(
                trial.server_name(),
                &workload.summary(),
            ));
        }
    }
    let mut changing = Vec::new();
    for trial in trials.iter().filter(on_theirs) {
        let workload = request.workload(trial)?;
        if let (Some(server), Some(data)) = (&trial.server, workload.data()) {
            in_place::check_tables(&server.name, &server.build, data)?;
        }
        let after_load = workload.data().map(|data| data.after_load());
        if after_load == Some(AfterLoad::Refuse) {
            changing.push(trial.server_name().to_string());
        }
    }
    in_place::check_changes(&servers, &changing)
}

fn servers(
    request: &Request,
    trials: &[PlannedTrial],
    means: &Means,
) -> Result<BTreeMap<String, Provided>, RunError> {
    let mut servers = BTreeMap::new();
    for spec in plan::servers(&request.experiment, trials) {
        means.progress.now(&format!("getting {}", spec.build));
        servers.insert(spec.name.clone(), Provided::get(&spec, means.provide)?);
        stop_if_interrupted()?;
    }
    Ok(servers)
}

/// Checks that servers allow enough connections for the clients.
fn check_connections(
    request: &Request,
    trials: &[PlannedTrial],
    servers: &BTreeMap<String, Provided>,
) -> Result<(), RunError> {
    let has_several = |trial: &PlannedTrial| trial.load.clients() > 1;
    if request.experiment.protocol.is_timed() || trials.iter().any(has_several) {
        let enough = |server: &Provided| connections::check(trials, server);
        servers.values().try_for_each(enough)?;
    }
    Ok(())
}

fn environment(means: &Means, servers: &BTreeMap<String, Provided>) -> Environment {
    let identity = |(name, server): (&String, &Provided)| (name.clone(), server.identity().clone());
    Environment {
        servers: servers.iter().map(identity).collect(),
        ..machine::environment(&means.home.work())
    }
}

/// Opens the run to resume. For a new run, creates the results folder and returns None.
fn begun(
    request: &Request,
    environment: &Environment,
) -> Result<Option<(RunFolder, Store)>, RunError> {
    match &request.resume {
        Some(run) => resume(&request.results, run, environment).map(Some),
        None => RunFolder::prepare(&request.results).map(|()| None),
    }
}

/// The settings that each server knows. A setting that no server knows is a mistake in the file.
fn known(request: &Request, servers: &BTreeMap<String, Provided>) -> Result<Vec<Known>, RunError> {
    let known = servers.values().map(preflight::known_settings);
    let known = known.collect::<Result<Vec<Known>, RunError>>()?;
    settings::unknown(&request.experiment, &known)?;
    Ok(known)
}

/// Whether all trials run the same statements on one server.
fn is_alone(request: &Request, trials: &[PlannedTrial]) -> Result<bool, RunError> {
    let Some(first) = trials.first() else {
        return Ok(false);
    };
    let of_first = typos::of_trials(request, std::iter::once(first))?;
    let all = typos::of_trials(request, trials.iter())?;
    let name = first.server_name();
    Ok(of_first == all && trials.iter().all(|trial| trial.server_name() == name))
}

/// Loads the datasets of all trials that can run, and checks buffer pools against the memory limits.
fn load(
    request: &Request,
    trials: &[PlannedTrial],
    means: &Means,
    (servers, meeting): (&BTreeMap<String, Provided>, Option<&Mutex<Meeting>>),
    known: &[Known],
    typos: &Typos,
) -> Result<Provisioned, RunError> {
    let datasets = Datasets {
        home: means.home,
        leases: means.leases,
        progress: means.progress,
        allow_drop: &request.allow_drop,
        allow_setup: request.allow_setup,
        typos,
        meeting,
    };
    let can_run = |trial: &&PlannedTrial| preflight::lacking(trial, known).is_none();
    let measured: Vec<PlannedTrial> = trials.iter().filter(can_run).cloned().collect();
    let ready = provision(request, &measured, servers, &datasets)?;
    let sized = measured
        .iter()
        .filter_map(|trial| Some((trial, ready.data_bytes(request, trial)?)));
    memory::fits(&request.experiment, sized)?;
    Ok(ready)
}

/// Checks the memory limits of all trials, with the estimated sizes of their data.
pub(crate) fn check_memory_limits(
    request: &Request,
    trials: &[PlannedTrial],
) -> Result<(), RunError> {
    let limited = trials.iter().filter(|trial| trial.limits.memory.is_some());
    let sized = limited.map(|trial| (trial, estimate(request, trial)));
    Ok(memory::fits(&request.experiment, sized)?)
}

/// Estimated bytes of the largest dataset of a server's trials.
pub(crate) fn largest_estimate(request: &Request, trials: &[PlannedTrial], server: &str) -> u64 {
    let own = trials.iter().filter(|trial| trial.server_name() == server);
    let sizes = own.map(|trial| estimate(request, trial));
    sizes.max().unwrap_or(0)
}

/// Estimated bytes of a trial's dataset; 0 without one.
pub(crate) fn estimate(request: &Request, trial: &PlannedTrial) -> u64 {
    let workload = request.workload(trial).ok();
    let estimate = workload.and_then(|workload| Some(workload.data()?.estimate()));
    estimate.unwrap_or_default().data_bytes
}

fn begin(
    request: &Request,
    trials: &[PlannedTrial],
    environment: Environment,
    meeting: Option<&Mutex<Meeting>>,
) -> Result<(RunFolder, Store), RunError> {
    let folder = RunFolder::create(&request.results, &request.experiment.name)?;
    let sharing = meeting.map(|meeting| Sharing::Shard(lock(meeting).note(&folder.id())));
    let run = Run {
        id: folder.id(),
        experiment_toml: request.experiment.source.clone(),
        overrides: request.overrides.clone(),
        question: question(
            &request.experiment,
            measured(trials),
            request.workload_note(trials)?,
        ),
        seed: request.seed,
        part: request.part.as_ref().map(ToString::to_string),
        slim: None,
        sharing,
        started_ns: now_ns(),
        environment,
    };
    let store = Store::create(&folder.store(), &run).map_err(stored)?;
    Ok((folder, store))
}

/// The size of the matrix, without the control.
fn measured(trials: &[PlannedTrial]) -> u64 {
    let counted = trials.iter().filter(|trial| !trial.key.is_control());
    counted.count() as u64
}

/// Opens a run to resume. Refused in another environment, since a run must not mix environments.
fn resume(
    results: &Path,
    run: &str,
    environment: &Environment,
) -> Result<(RunFolder, Store), RunError> {
    let folder = RunFolder::open(results, run)?;
    let store = Store::resume(&folder.store()).map_err(stored)?;
    let then = store.run().map_err(stored)?.environment;
    let differences = then.differences(environment);
    if differences.is_empty() {
        return Ok((folder, store));
    }
    let way_out = way_out(&then, environment);
    let lines: Vec<String> = differences
        .iter()
        .map(|(what, then, now)| format!("  {what}: was {then}, is {now}"))
        .collect();
    Err(RunError::Usage(format!(
        "cannot resume {run}: the environment has changed since the run started:\n{}\n{way_out}",
        lines.join("\n")
    )))
}

/// How to have the results in spite of the differences.
fn way_out(then: &Environment, now: &Environment) -> &'static str {
    let of_conditions = then.conditions.differences(&now.conditions);
    let are_settings = then.differences(now).len() == of_conditions.len();
    match then.has_other_servers(now) {
        true => {
            "start a new run, or install the earlier build again and resume; a build with a version (mariadb@11.4.5) does not change"
        }
        false if are_settings => {
            "start a new run, or give the machine its earlier settings and resume"
        }
        false => "start a new run",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_at_another_pace_can_be_set_back() {
        let at = |kernel: &str, governor: &str| -> Environment {
            let environment = serde_json::json!({
                "prony_version": "", "machine": "", "cpu": "", "cores": 2, "memory_bytes": 1, "kernel": kernel, "system": "",
                "file_system": "", "governor": governor, "servers": {}
            });
            serde_json::from_value(environment).unwrap()
        };
        let then = at("6.1", "performance");
        let says = way_out(&then, &at("6.1", "powersave"));
        assert!(says.contains("its earlier settings"), "{says}");
        assert_eq!(way_out(&then, &at("6.2", "powersave")), "start a new run");
    }
}
