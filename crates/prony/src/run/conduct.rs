//! A run from its beginning to its end, or from where it was left.
//!
//! Goal: the order of things: servers, preflight, datasets, trials, each saved at once. Non-goal: how each is done.

use super::answers::Answers;
use super::connections;
use super::dataset::Datasets;
use super::folder::RunFolder;
use super::known;
use super::limits;
use super::neighbours::Neighbours;
use super::preflight;
use super::provision::{Provisioned, provision};
use super::servers::{Provide, Provided};
use super::trial::{Bench, label, not_available, now_ns};
use super::{Progress, RunError, Workloads, in_place};
use host::{Home, Leases, interrupt, machine};
use record::{
    Environment, Flag, FlagKind, Kind, LiveSample, Percentile, Run, Store, Trial, TrialKey,
    TrialState, WorkloadNote, stats,
};
use report::{Detail, Document};
use spec::known::Known;
use spec::plan::{Finished, Plan, PlannedTrial, Shard};
use spec::{Experiment, events, queries, question, settings, timed};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::Workload;

/// What is to be run. Everything in it is checked.
pub struct Request {
    pub experiment: Experiment,
    /// Command line overrides as arguments, without passwords, for the record.
    pub overrides: Vec<String>,
    pub seed: u64,
    pub shard: Option<Shard>,
    pub results: PathBuf,
    /// A run to go on with, by folder or name.
    pub resume: Option<String>,
    pub allow_drop: bool,
    pub workloads: Workloads,
}

/// A run that came to its end.
pub struct Conducted {
    pub folder: PathBuf,
    pub run: Run,
    pub trials: Vec<Trial>,
}

impl Conducted {
    /// Whether every trial was measured whole and answered right.
    pub fn valid(&self) -> bool {
        self.trials
            .iter()
            .all(|trial| trial.state == TrialState::Done)
    }
}

/// What a run works with, whatever it measures.
pub struct Means<'a> {
    pub home: &'a Home,
    pub leases: &'a Leases,
    pub progress: &'a Progress,
    pub provide: &'a Provide<'a>,
}

/// Executes an experiment, or resumes a run, with the servers that its builds and DSNs name.
///
/// # Errors
/// A request that cannot be carried out, a failure outside a trial, an interruption. Finished trials are saved.
pub fn conduct(
    request: &Request,
    home: &Home,
    leases: &Leases,
    progress: &Progress,
) -> Result<Conducted, RunError> {
    let say = |line: &str| progress.say(line);
    let means = Means {
        home,
        leases,
        progress,
        provide: &|build| server::provider(build, home, leases, &say),
    };
    conduct_with(request, &means)
}

/// The same with servers from elsewhere: tests hand in fakes, or keep a hand on a real one.
pub fn conduct_with(request: &Request, means: &Means) -> Result<Conducted, RunError> {
    interrupt::install()
        .map_err(|error| RunError::Failed(format!("cannot listen for signals: {error}")))?;
    // Whatever fails after a Ctrl-C (a server that was starting, a load that broke off) fails for it.
    from_beginning_to_end(request, means).map_err(|error| {
        if interrupt::asked() {
            RunError::Interrupted
        } else {
            error
        }
    })
}

fn from_beginning_to_end(request: &Request, means: &Means) -> Result<Conducted, RunError> {
    let Means {
        home,
        leases,
        progress,
        ..
    } = *means;
    let plan = plan(request)?;
    let trials: Vec<PlannedTrial> = plan.trials().collect();
    let machine = machine::environment(&home.work());
    check_workload(request, &trials)?;
    check_in_place(request, &trials)?;
    limits::check(&trials, &request.experiment.servers, home, leases)?;
    let servers = servers(request, &trials, means)?;
    let has_several = |trial: &PlannedTrial| trial.load.clients() > 1;
    if request.experiment.protocol.is_timed() || trials.iter().any(has_several) {
        let enough = |server: &Provided| connections::check(&trials, server);
        servers.values().try_for_each(enough)?;
    }
    let environment = Environment {
        servers: servers
            .iter()
            .map(|(name, server)| (name.clone(), server.identity().clone()))
            .collect(),
        ..machine
    };
    // Before anything is loaded: another environment's run is refused, and another prony's is left to it.
    let begun = match &request.resume {
        Some(run) => Some(resume(&request.results, run, &environment)?),
        None => {
            RunFolder::prepare(&request.results)?;
            None
        }
    };
    let asked = servers.values().map(preflight::ask);
    let known = asked.collect::<Result<Vec<Known>, RunError>>()?;
    settings::unknown(&request.experiment, &known)?;
    let fits = |data_bytes: &dyn Fn(&str) -> u64| {
        servers.values().try_for_each(|server| {
            let largest = data_bytes(&server.spec.name);
            let memory_bytes = environment.memory_bytes;
            preflight::fits(&request.experiment, server, largest, memory_bytes)
        })
    };
    fits(&|server| largest_estimate(request, &trials, server))?;

    let neighbours = Neighbours::join(home, leases)?;
    let datasets = Datasets {
        home,
        leases,
        progress,
        allow_drop: request.allow_drop,
    };
    let measured: Vec<PlannedTrial> = trials
        .iter()
        .filter(|trial| preflight::lacking(trial, &known).is_none())
        .cloned()
        .collect();
    let ready = provision(request, &measured, &servers, &datasets)?;
    fits(&|server| ready.largest(request, &trials, server))?;
    measured.iter().try_for_each(|trial| {
        let ready = ready
            .of(request, trial)
            .and_then(|ready| ready.as_ref().ok());
        ready.map_or(Ok(()), |ready| limits::fits(trial, ready.note.data_bytes))
    })?;

    let (folder, mut store) = match begun {
        Some(begun) => begun,
        None => begin(request, &trials, environment)?,
    };
    progress.say(&format!(
        "run {}: {} trials",
        folder.path.display(),
        trials.len()
    ));
    let logs = folder.path.join("logs");
    let bench = Bench {
        home,
        leases,
        progress,
        protocol: &request.experiment.protocol,
        neighbours: &neighbours,
        seed: request.seed,
        logs: &logs,
    };
    let have = Have {
        servers: &servers,
        known: &known,
        ready: &ready,
    };
    let outcome = measure(request, &plan, &have, &bench, &mut store);
    progress.end();
    let (run, trials) = (
        store.run().map_err(stored)?,
        store.trials_whole().map_err(stored)?,
    );
    let page = report::html(&Document::of(&run, &trials, Detail::Full));
    std::fs::write(folder.report(), page).map_err(|error| {
        RunError::Failed(format!(
            "cannot write {}: {error}",
            folder.report().display()
        ))
    })?;
    outcome.inspect_err(|_| {
        progress.say(&format!(
            "what is finished is kept; go on with: prony run --resume {}",
            folder.path.display()
        ))
    })?;
    Ok(Conducted {
        folder: folder.path.clone(),
        run,
        trials,
    })
}

/// The trials of this run (of this shard), in the order of execution.
pub fn plan(request: &Request) -> Result<Plan<'_>, RunError> {
    Plan::of_shard(&request.experiment, request.seed, request.shard)
        .map_err(|error| RunError::Asked(error.to_string()))
}

/// Queries that the file names and that its workload does not have, a load that it cannot be driven by.
pub fn check_workload(request: &Request, trials: &[PlannedTrial]) -> Result<(), RunError> {
    let Some(first) = trials.first() else {
        return Err(RunError::Asked("this shard of the matrix is empty".into()));
    };
    let workload = workload(request, first)?;
    let names = query_names(workload.as_ref());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    queries::check(&request.experiment, &names)?;
    let split = |sql: &str| {
        let statements = workload::script::statements(sql);
        statements.map(drop).map_err(|wrong| wrong.to_string())
    };
    events::check(&request.experiment, &split)?;
    // A workload has queries for rounds, or operations for a timed load.
    Ok(timed::check(
        &request.experiment,
        workload.queries().is_none(),
    )?)
}

/// What the experiment asks of servers that are not prony's.
pub fn check_in_place(request: &Request, trials: &[PlannedTrial]) -> Result<(), RunError> {
    let on_theirs = |trial: &&PlannedTrial| {
        let servers = &mut request.experiment.servers.iter();
        servers.any(|spec| spec.name == trial.key.server_name() && spec.build.is_external())
    };
    let wanted = trials.iter().filter(on_theirs).map(|trial| {
        let workload = workload(request, trial)?;
        let server = trial.key.server_name().to_string();
        Ok((server, fingerprint(workload.as_ref()), workload.summary()))
    });
    let wanted = wanted.collect::<Result<Vec<_>, RunError>>()?;
    in_place::check(&request.experiment.servers, &wanted)
}

fn servers(
    request: &Request,
    trials: &[PlannedTrial],
    means: &Means,
) -> Result<BTreeMap<String, Provided>, RunError> {
    let mut servers = BTreeMap::new();
    for spec in &request.experiment.servers {
        let used = trials
            .iter()
            .any(|trial| trial.key.server_name() == spec.name);
        let lends = request
            .experiment
            .servers
            .iter()
            .any(|other| other.dataset_from.as_deref() == Some(&spec.name));
        if used || lends {
            means.progress.now(&format!("getting {}", spec.build));
            servers.insert(spec.name.clone(), Provided::get(spec, means.provide)?);
            stop_if_interrupted()?;
        }
    }
    Ok(servers)
}

/// Bytes of the largest dataset that a server's trials need, before it is loaded.
pub fn largest_estimate(request: &Request, trials: &[PlannedTrial], server: &str) -> u64 {
    let own = trials
        .iter()
        .filter(|trial| trial.key.server_name() == server);
    own.filter_map(|trial| Some(workload(request, trial).ok()?.data()?.estimate().data_bytes))
        .max()
        .unwrap_or(0)
}

/// What trials are measured with.
struct Have<'h> {
    servers: &'h BTreeMap<String, Provided>,
    known: &'h [Known],
    ready: &'h Provisioned,
}

fn measure(
    request: &Request,
    plan: &Plan,
    have: &Have,
    bench: &Bench,
    store: &mut Store,
) -> Result<(), RunError> {
    let before = store.trials().map_err(stored)?;
    let mut finished = earlier(store, plan, &before)?;
    let mut answers = recalled(request, plan, before)?;
    let mut held = None;
    while let Some(planned) = plan.next(&finished) {
        stop_if_interrupted()?;
        if let Some(why) = preflight::lacking(&planned, have.known) {
            let trial = not_available(&planned, why);
            finished.push(Finished::without_figures(trial.key.clone(), false));
            save(&trial, &finished, plan, bench, store)?;
            continue;
        }
        let workload = workload(request, &planned)?;
        let data = have
            .ready
            .of(request, &planned)
            .ok_or_else(|| RunError::Failed("a trial without a dataset".into()))?;
        let mut live = |second: u32, sample: LiveSample| {
            // Only for those who watch: a second that cannot be shown costs no trial.
            let _ = store.live(&planned.key, second, &sample);
        };
        let server = &have.servers[planned.key.server_name()];
        let mut trial = match data {
            Ok(data) => bench.measure(&planned, server, data, &workload, &mut held, &mut live)?,
            Err(why) => not_available(&planned, why.to_string()),
        };
        judge_answers(&mut answers, &fingerprint(workload.as_ref()), &mut trial);
        let key = trial.key.clone();
        let is_usable = trial.state == TrialState::Done && data.is_ok();
        finished.push(match &trial.load {
            Some(load) => known::timed(key, load, is_usable, held.is_some()),
            None => Finished::without_figures(key, is_usable),
        });
        if let Some(text) = plan.answer(&trial.key, &finished) {
            let kind = FlagKind::Search;
            trial.flags.push(Flag { kind, text });
        }
        save(&trial, &finished, plan, bench, store)?;
    }
    for key in plan.lost(&finished) {
        bench.progress.say(&format!(
            "warning: {key} was not measured, since the maximum that its rate refers to was not"
        ));
    }
    stop_if_interrupted()
}

fn save(
    trial: &Trial,
    finished: &[Finished],
    plan: &Plan,
    bench: &Bench,
    store: &mut Store,
) -> Result<(), RunError> {
    store.save(trial).map_err(stored)?;
    bench.progress.say(&line(trial, finished.len(), plan.len()));
    Ok(())
}

/// What an earlier process has measured of this run; what failed is measured once more. Loads are read, histograms and
/// all, only where a trial hangs on their figures.
fn earlier(store: &Store, plan: &Plan, before: &[Trial]) -> Result<Vec<Finished>, RunError> {
    let needs_figures = plan.needs_figures();
    let load = |key: &TrialKey| match needs_figures {
        true => store.load(key).map_err(stored),
        false => Ok(None),
    };
    let one = |trial: &Trial| {
        let is_usable = trial.state == TrialState::Done && !trial.is_not_available();
        let key = trial.key.clone();
        Ok(match load(&trial.key)? {
            Some(load) => known::timed(key, &load, is_usable, false),
            None => Finished::without_figures(key, is_usable),
        })
    };
    let kept = before
        .iter()
        .filter(|trial| trial.state != TrialState::Failed);
    kept.map(one).collect()
}

/// A resumed run compares with the answers of its earlier part.
fn recalled(request: &Request, plan: &Plan, before: Vec<Trial>) -> Result<Answers, RunError> {
    let mut answers = Answers::default();
    for mut trial in before {
        let Some(planned) = plan.trials().find(|planned| planned.key == trial.key) else {
            continue;
        };
        let workload = workload(request, &planned)?;
        answers.check(&fingerprint(workload.as_ref()), &mut trial);
    }
    Ok(answers)
}

fn judge_answers(answers: &mut Answers, fingerprint: &str, trial: &mut Trial) {
    let flags = answers.check(fingerprint, trial);
    if !flags.is_empty() && trial.state == TrialState::Done {
        trial.state = TrialState::Invalid;
    }
    trial.flags.extend(flags);
}

/// `[3/12] block 1: 5.6 small pool: cold 12.3 s, hot 4.5 s`
fn line(trial: &Trial, place: usize, trials: usize) -> String {
    let mut line = format!(
        "[{place}/{trials}] block {}: {}: {}",
        trial.key.block + 1,
        label(&trial.key),
        figures(trial)
    );
    for flag in &trial.flags {
        line.push_str(&format!(
            "\n    {}: {}",
            flag.kind,
            flag.text.replace('\n', "\n      ")
        ));
    }
    line
}

/// `cold 12.3 s, hot 4.5 s` or `12345.6 operations/s, p99 3.21 ms`
fn figures(trial: &Trial) -> String {
    let Some(load) = &trial.load else {
        let rounds = trial.rounds.iter();
        let mark = |round: &record::Round| if round.timed_out() { "> " } else { "" };
        let rounds =
            rounds.map(|round| format!("{} {}{:.2} s", round.name, mark(round), round.elapsed_s));
        return rounds.collect::<Vec<_>>().join(", ");
    };
    let summary = stats::summary(load);
    let unstable = summary.offered.as_ref();
    let unstable = unstable.and_then(|offered| offered.unstable.clone());
    let response = summary.latency.of(Kind::Response);
    let service = summary.latency.of(Kind::Service);
    let p99 = response.or(service).and_then(|one| one.at(Percentile::P99));
    let parts = [
        summary
            .throughput
            .map(|rate| format!("{rate:.1} operations/s")),
        p99.map(|p99_ms| format!("p99 {p99_ms:.2} ms")),
        (summary.errors > 0).then(|| format!("{} errors", summary.errors)),
        unstable,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn begin(
    request: &Request,
    trials: &[PlannedTrial],
    environment: Environment,
) -> Result<(RunFolder, Store), RunError> {
    let folder = RunFolder::create(&request.results, &request.experiment.name)?;
    let run = Run {
        id: folder.id(),
        experiment_toml: request.experiment.source.clone(),
        overrides: request.overrides.clone(),
        question: question(
            &request.experiment,
            trials.len() as u64,
            workload_note(request, trials)?,
        ),
        seed: request.seed,
        shard: request.shard.as_ref().map(ToString::to_string),
        started_ns: now_ns(),
        environment,
    };
    let store = Store::create(&folder.store(), &run).map_err(stored)?;
    let store = store.with_plan_steps(explain::plan::steps_json);
    Ok((folder, store))
}

/// Results of different environments are never mixed: a resume elsewhere is refused.
fn resume(
    results: &Path,
    run: &str,
    environment: &Environment,
) -> Result<(RunFolder, Store), RunError> {
    let folder = RunFolder::open(results, run)?;
    let store = Store::resume(&folder.store()).map_err(stored)?;
    let store = store.with_plan_steps(explain::plan::steps_json);
    let differences = store
        .run()
        .map_err(stored)?
        .environment
        .differences(environment);
    if differences.is_empty() {
        return Ok((folder, store));
    }
    let lines: Vec<String> = differences
        .iter()
        .map(|(what, then, now)| format!("  {what}: {then} then, {now} now"))
        .collect();
    Err(RunError::Asked(format!(
        "{run} cannot go on here, since its trials would come from two environments:\n{}\nbegin a new run here",
        lines.join("\n")
    )))
}

fn workload_note(request: &Request, trials: &[PlannedTrial]) -> Result<WorkloadNote, RunError> {
    let Some(first) = trials.first() else {
        return Err(RunError::Asked("the matrix is empty".into()));
    };
    let chosen = &request.experiment.protocol.queries;
    let operations = query_names(workload(request, first)?.as_ref())
        .into_iter()
        .filter(|name| chosen.is_empty() || chosen.contains(name));
    let summaries: Result<BTreeSet<String>, RunError> = trials
        .iter()
        .map(|trial| Ok(workload(request, trial)?.summary()))
        .collect();
    Ok(WorkloadNote {
        name: request.experiment.workload.clone(),
        summary: shared(&summaries?),
        operations: operations.collect(),
    })
}

/// What the summaries of several trials have in common: what a factor varies stands in the table's rows.
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

/// The workload of a trial, opened once per distinct section.
pub fn workload(request: &Request, trial: &PlannedTrial) -> Result<Arc<dyn Workload>, RunError> {
    request.workloads.of(&request.experiment, trial)
}

/// The names of a workload's queries; empty if it has none.
pub fn query_names(workload: &dyn Workload) -> Vec<String> {
    let queries = workload.queries();
    let operations = queries.map(|queries| queries.operations());
    let operations = operations.unwrap_or_default().into_iter();
    operations.map(|operation| operation.name).collect()
}

/// Identifies the data that answers depend on; empty if the workload has none.
fn fingerprint(workload: &dyn Workload) -> String {
    let data = workload.data();
    data.map(|data| data.fingerprint()).unwrap_or_default()
}

/// The keys of trials that are finished in a run, for those who watch one from outside.
pub fn finished(store: &Path) -> Result<Vec<TrialKey>, RunError> {
    Store::open(store)
        .and_then(|store| store.finished())
        .map_err(stored)
}

pub(super) fn stop_if_interrupted() -> Result<(), RunError> {
    if interrupt::asked() {
        Err(RunError::Interrupted)
    } else {
        Ok(())
    }
}

fn stored(error: record::StoreError) -> RunError {
    RunError::Failed(error.to_string())
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
