//! A run from its beginning to its end, or from where an earlier process left it.
//!
//! Purpose: the order of things: prepare, measure trial after trial, write the report. Outside this module: how each is done.

use super::folder::RunFolder;
use super::measure::Measuring;
use super::prepare::{plan, prepare};
use super::servers::Provide;
use super::trial::Bench;
use super::{Progress, RunError, Workloads, stored};
use ::report::{Detail, Document};
use host::{Home, Leases, interrupt};
use record::{Run, Store, Trial, TrialState};
use spec::Experiment;
use spec::plan::{PlannedTrial, Shard};
use std::path::PathBuf;

/// What is to be run. Everything in it is checked.
pub struct Request {
    pub experiment: Experiment,
    /// Command line overrides as arguments, without passwords, for the record.
    pub overrides: Vec<String>,
    pub seed: u64,
    pub shard: Option<Shard>,
    pub results: PathBuf,
    /// A run to resume, by folder or name.
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
    steps(request, means).map_err(|error| {
        if interrupt::asked() {
            RunError::Interrupted
        } else {
            error
        }
    })
}

fn steps(request: &Request, means: &Means) -> Result<Conducted, RunError> {
    let plan = plan(request)?;
    let trials: Vec<PlannedTrial> = plan.trials().collect();
    let (prepared, folder, mut store) = prepare(request, &trials, means)?;
    let (path, count) = (folder.path.display(), trials.len());
    means.progress.say(&format!("run {path}: {count} trials"));
    let measuring = Measuring {
        request,
        plan: &plan,
        prepared: &prepared,
        bench: Bench {
            home: means.home,
            leases: means.leases,
            progress: means.progress,
            protocol: &request.experiment.protocol,
            neighbours: &prepared.neighbours,
            actions: &prepared.actions,
            seed: request.seed,
            logs: &folder.path.join("logs"),
        },
    };
    let outcome = measuring.all(&mut store);
    means.progress.end();
    let conducted = report(&folder, &store)?;
    outcome.inspect_err(|_| {
        means.progress.say(&format!(
            "finished trials are kept; resume with: prony run --resume {path}"
        ))
    })?;
    Ok(conducted)
}

/// Writes the report of what is finished.
fn report(folder: &RunFolder, store: &Store) -> Result<Conducted, RunError> {
    let run = store.run().map_err(stored)?;
    let trials = store.trials_whole().map_err(stored)?;
    let page = folder.report();
    let document = Document::of(&run, &trials, Detail::Full);
    std::fs::write(&page, ::report::html(&document))
        .map_err(|error| RunError::Failed(format!("cannot write {}: {error}", page.display())))?;
    Ok(Conducted {
        folder: folder.path.clone(),
        run,
        trials,
    })
}
