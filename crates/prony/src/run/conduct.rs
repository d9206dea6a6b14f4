//! Executes a run from start to end, or resumes it.
//!
//! Purpose: the order of the steps: prepare, measure each trial, write the report. Outside this module: the steps themselves.

use super::audit::answers::Samples;
use super::measure::Measuring;
use super::measure::bench::Bench;
use super::plan::budget;
use super::plan::{Means, Request};
use super::prepare::prepare;
use super::results::folder::{RunFolder, write_aside};
use super::shards::Meeting;
use super::{Progress, RunError, stored};
use crate::lock;
use ::report::{Detail, Document};
use host::{Home, Leases, interrupt};
use record::{Run, Trial, TrialState};
use spec::plan::PlannedTrial;
use std::path::PathBuf;
use std::sync::Mutex;
use store::Store;

/// A finished run.
pub struct Conducted {
    pub folder: PathBuf,
    pub run: Run,
    pub trials: Vec<Trial>,
    /// The trials of the A/A control.
    pub controls: Vec<Trial>,
}

impl Conducted {
    /// Reads a run that was recorded.
    pub(crate) fn read(folder: &RunFolder, store: &Store) -> Result<Conducted, RunError> {
        Ok(Conducted {
            folder: folder.path.clone(),
            run: store.run().map_err(stored)?,
            trials: store.trials_whole().map_err(stored)?,
            controls: store.controls_whole().map_err(stored)?,
        })
    }

    /// Whether every trial is complete and its answers are right.
    pub fn valid(&self) -> bool {
        let mut trials = self.trials.iter().chain(&self.controls);
        trials.all(|trial| trial.state == TrialState::Done && !trial.lacks_queries())
    }

    /// What its report shows.
    pub(crate) fn document(&self, detail: Detail, tolerance: f64) -> Document<'_> {
        let trials = (self.trials.as_slice(), self.controls.as_slice());
        Document::within(tolerance, &self.run, trials, detail)
    }
}

/// Executes an experiment or resumes a run, on the servers that the experiment names.
///
/// # Errors
/// An impossible request, a failure outside a trial, or an interruption. Finished trials are saved.
pub(crate) fn conduct(
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

/// Like [`conduct`], with servers from `means.provide`. Tests pass fakes, or keep a handle on a real server.
pub fn conduct_with(request: &Request, means: &Means) -> Result<Conducted, RunError> {
    interrupt::install()
        .map_err(|error| RunError::Failed(format!("cannot listen for signals: {error}")))?;
    // An error after Ctrl-C (in a server start or a load) is a result of the interruption.
    with_others(request, means).map_err(|error| {
        if interrupt::asked() {
            RunError::Interrupted
        } else {
            error
        }
    })
}

/// Brings this process together with the other shards of its run, if there are any.
fn with_others(request: &Request, means: &Means) -> Result<Conducted, RunError> {
    let Some(shards) = &request.shard else {
        return steps(request, means, None);
    };
    let meeting = Meeting::gather(request, shards, means)?;
    let seed = meeting.seed();
    let meeting = Mutex::new(meeting);
    let request = Request {
        seed,
        ..request.clone()
    };
    let conducted = steps(&request, means, Some(&meeting));
    lock(&meeting).leave(conducted.as_ref().map(|_| ()));
    conducted
}

fn steps(
    request: &Request,
    means: &Means,
    meeting: Option<&Mutex<Meeting>>,
) -> Result<Conducted, RunError> {
    let plan = request.plan()?;
    let trials: Vec<PlannedTrial> = plan.trials().collect();
    let (prepared, folder, mut store) = prepare(request, &trials, means, meeting)?;
    let (path, count) = (folder.path.display(), trials.len());
    let up_to = match request.experiment.protocol.looks {
        Some(_) => "up to ",
        None => "",
    };
    means
        .progress
        .say(&format!("run {path}: {up_to}{count} trials"));
    let own = folder.id();
    if let Some(sees) = budget::sees(request, &trials, &means.home.work(), Some(&own)) {
        means.progress.say(&sees);
    }
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
            nice: host::nice(),
            actions: &prepared.actions,
            seed: request.seed,
            meeting,
            typos: &prepared.typos,
            logs: &folder.path.join("logs"),
            samples: &Samples::default(),
            seat: None,
        },
    };
    let outcome = measuring.all(&mut store);
    means.progress.end();
    let conducted = report(&folder, &store, means.progress, request.tolerance)?;
    outcome.inspect_err(|_| {
        means.progress.say(&match meeting {
            None => format!("finished trials are kept; resume with: prony run --resume {path}"),
            Some(_) => format!("finished trials are kept in {path}; shards cannot be resumed"),
        })
    })?;
    Ok(conducted)
}

/// Writes the report of the finished trials. It can be written again from the record, so its failure is a warning.
fn report(
    folder: &RunFolder,
    store: &Store,
    progress: &Progress,
    tolerance: f64,
) -> Result<Conducted, RunError> {
    let conducted = Conducted::read(folder, store)?;
    let page = folder.report();
    let html = ::report::html(&conducted.document(Detail::Full, tolerance));
    if let Err(error) = write_aside(&page, &html) {
        progress.say(&format!(
            "warning: cannot write {}: {error}; the record is complete, and `prony report {}` writes the page later",
            page.display(),
            folder.path.display()
        ));
    }
    Ok(conducted)
}
