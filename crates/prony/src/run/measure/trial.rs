//! Measures one trial in phases: prepare, then rounds or a timed load, then the audit.
//!
//! Purpose: record every failure in the trial, so that only an interruption ends the run. Outside this module: the order of trials
//! (`spec::plan`), datasets (`provision`), the target (`place`).

use super::bench::Bench;
use super::requests;
use super::rounds::Rounds;
use super::seat::Seat;
use super::timed::{EachSecond, Timed};
use crate::lock;
use crate::run::RunError;
use crate::run::audit::{self, pool};
use crate::run::event::kinds::has_outage;
use crate::run::machine::neighbours::Stay;
use crate::run::place::sessions;
use crate::run::place::{AnyPlace, ServerPlace, Source};
use crate::run::results::folder::log_name;
use crate::run::results::recording::Recording;
use crate::run::shards::Meeting;
use host::{Pace, clock_step_s, clock_stepped, interrupt, now_ns};
use record::{Flag, FlagKind, Trial, TrialState};
use server::ServerError;
use spec::plan::PlannedTrial;
use std::sync::{Arc, Mutex};
use workload::Workload;

/// Events of the user's statements run only where the experiment has set the scheduler on.
fn name_events(trial: &mut Trial) {
    let events = trial
        .dataset
        .as_ref()
        .map(|dataset| dataset.events.join(", "));
    let is_on = trial
        .settings
        .get("event_scheduler")
        .is_some_and(|value| value == "ON");
    if let Some(events) = events.filter(|events| !events.is_empty() && !is_on) {
        let text = format!("events of the tables were not run: {events} (event_scheduler is OFF)");
        trial.flag(FlagKind::EventsOff, text);
    }
}

impl Bench<'_> {
    /// Measures one trial on a new place, or on the place of its series in `held`.
    ///
    /// # Errors
    /// An interruption, or a place that cannot be leased. Failures of the trial itself are recorded in it.
    pub(crate) fn measure<'s>(
        &self,
        planned: &PlannedTrial,
        source: Source<'s>,
        workload: &Arc<dyn Workload>,
        held: &mut Option<Box<AnyPlace<'s>>>,
        live: EachSecond,
    ) -> Result<Trial, RunError> {
        let mut trial = Trial {
            data_bytes: source.data_bytes(),
            dataset: source.dataset(),
            ..Trial::unmeasured(planned.key.clone(), now_ns())
        };
        let stay = self.neighbours.stay();
        let (pace, clock_s) = (Pace::now(), clock_step_s());
        let mut place = match self.place(planned, source, workload, held)? {
            Ok(place) => place,
            Err(error) => {
                trial.fail(error.to_string());
                trial.ended_ns = now_ns();
                return Ok(trial);
            }
        };
        if let Some(meeting) = self.meeting {
            lock(meeting).begin_trial();
        }
        let outcome = self.phases(planned, place.as_mut(), workload.as_ref(), &mut trial, live);
        if let Some(meeting) = self.meeting {
            let failed = outcome.as_ref().err().map(ToString::to_string);
            lock(meeting).end_trial(failed.as_deref());
        }
        if let Err(error) = outcome {
            trial.fail(place.explain(&error));
        }
        trial.flags.extend(place.changed_settings());
        if let Some(lost) = place
            .lost_limit()
            .filter(|_| trial.state == TrialState::Done)
        {
            trial.invalidate(lost.kind, lost.text);
        }
        pool::check(&planned.settings, &mut trial);
        let set = [&planned.session, &planned.settings];
        sessions::check_cache(set, &mut trial);
        sessions::check_charset(set, &mut trial);
        name_events(&mut trial);
        self.keep_log(&mut trial, &place.log());
        self.keep_recording(&mut trial, place.as_ref());
        self.keep_disturbances(&mut trial, stay, &pace);
        trial.flags.extend(clock_stepped(clock_s, clock_step_s()));
        trial.ended_ns = now_ns();
        if self.protocol.series
            && leaves_the_target_as_it_was(&trial)
            && !has_outage(&planned.events)
        {
            *held = Some(place);
        }
        if interrupt::asked() {
            Err(RunError::Interrupted)
        } else {
            Ok(trial)
        }
    }

    /// The place of the previous trial if this one continues its series, otherwise a new one, or why there is none.
    fn place<'s>(
        &self,
        planned: &PlannedTrial,
        source: Source<'s>,
        workload: &Arc<dyn Workload>,
        held: &mut Option<Box<AnyPlace<'s>>>,
    ) -> Result<Result<Box<AnyPlace<'s>>, ServerError>, RunError> {
        // Taking `held` stops the previous server before another one starts.
        if let (Some(mut place), true) = (held.take(), planned.continues) {
            place.continue_with(planned.clone());
            return Ok(Ok(place));
        }
        let name = |name: &str| {
            let tagged = self.leases.tagged(name);
            tagged.map_err(|error| RunError::Failed(format!("no random numbers: {error}")))
        };
        let folder = match planned.host.directory() {
            Some(directory) => directory.join(name("prony-trial")?),
            None => self.home.work().join(name("trial")?),
        };
        let lease = self.leases.folder(&folder)?;
        let (workload, leases) = (workload.clone(), self.leases.clone());
        let shared = self.seat.map(Seat::shared);
        Ok(source.place(planned.clone(), workload, leases, lease, shared))
    }

    fn phases(
        &self,
        planned: &PlannedTrial,
        place: &mut AnyPlace,
        workload: &dyn Workload,
        trial: &mut Trial,
        live: EachSecond,
    ) -> Result<(), ServerError> {
        self.progress.now("copying the snapshot");
        self.prepare(place, trial)?;
        if self.protocol.is_timed() {
            let timed = Timed {
                bench: self,
                workload,
                planned,
                seed: requests::seed(self.seed, planned),
            };
            match timed.measure(place, trial, live)? {
                Some(pending) => audit::after(place, pending, trial),
                None => Ok(()),
            }
        } else {
            let queries = workload.queries().ok_or_else(|| {
                ServerError::Unusable("the workload has no queries for rounds".into())
            })?;
            let data_bytes = trial.data_bytes;
            self.look_for_typos(planned, place.server()?, workload, trial)?;
            Rounds::new(self, planned, queries, data_bytes).all(place.server()?, trial)
        }
    }

    /// Says what is wrong in the user's own queries before the first round of them, unless that is known from the load.
    fn look_for_typos(
        &self,
        planned: &PlannedTrial,
        place: &mut ServerPlace,
        workload: &dyn Workload,
        trial: &mut Trial,
    ) -> Result<(), ServerError> {
        let server = planned.server_name();
        if !self.typos.has_seen(server, workload) {
            place.live(trial)?;
            let mut session = place.query_session()?.for_control();
            self.typos.look_once(server, &mut session, workload);
        }
        Ok(())
    }

    /// Prepares the place. The first shard loads changed tables anew, and the others find them as loaded.
    fn prepare(&self, place: &mut AnyPlace, trial: &mut Trial) -> Result<(), ServerError> {
        let come = |meeting: &Mutex<Meeting>| {
            let come = lock(meeting).after_first();
            come.map_err(|error| ServerError::Unusable(error.to_string()))
        };
        let is_first = |meeting: &Mutex<Meeting>| lock(meeting).shard().is_first();
        match self.meeting {
            None => place.prepare(trial, self.progress),
            Some(meeting) if is_first(meeting) => {
                place.prepare(trial, self.progress)?;
                come(meeting)
            }
            Some(meeting) => {
                come(meeting)?;
                place.prepare(trial, self.progress)
            }
        }
    }

    /// Flags what changed the machine's speed during the trial. What an experiment can avoid makes the trial invalid.
    fn keep_disturbances(&self, trial: &mut Trial, stay: Stay, began: &Pace) {
        let ended = Pace::now();
        trial.flags.extend(ended.changes_since(began));
        if let Some(flag) = ended.another_nice(self.nice) {
            trial.invalidate(flag.kind, flag.text);
        }
        if let Some(flag) = stay.flag() {
            let way_out = match self.protocol.shared_machine {
                true => "",
                false => {
                    "; run them one after another, or allow it with shared_machine = true in [protocol]"
                }
            };
            self.shared_machine(trial, flag.text + way_out);
        }
    }

    /// `text` says how to avoid or allow it.
    fn shared_machine(&self, trial: &mut Trial, text: String) {
        match self.protocol.shared_machine {
            true => trial.flag(FlagKind::SharedMachine, text),
            false => trial.invalidate(FlagKind::SharedMachine, text),
        }
    }

    /// What disturbed one trial of a group disturbed all: they share their time.
    pub(super) fn share_disturbances(&self, trials: &mut [Trial]) {
        let found = trials
            .iter()
            .find_map(|trial| trial.flagged(FlagKind::SharedMachine));
        let Some(Flag { text, .. }) = found.cloned() else {
            return;
        };
        let others = trials
            .iter_mut()
            .filter(|trial| trial.flagged(FlagKind::SharedMachine).is_none());
        for trial in others.filter(|trial| trial.state != TrialState::Failed) {
            self.shared_machine(trial, text.clone());
        }
    }

    /// Keeps the recording of the trial's disk with the run, for `prony crash replay`.
    fn keep_recording(&self, trial: &mut Trial, place: &AnyPlace) {
        let Some(made) = place.recording() else {
            return;
        };
        let kept = Recording::of(self.logs, &trial.key).keep(&made);
        if let Err(error) = kept {
            let text = format!("the recording of the disk cannot be kept: {error}");
            trial.invalidate(FlagKind::TrialFailed, text);
        }
    }

    fn keep_log(&self, trial: &mut Trial, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let name = log_name(&trial.key);
        let mut flags = trial.flags.iter_mut();
        if let Some(failure) = flags.find(|flag| flag.kind == FlagKind::TrialFailed) {
            failure
                .text
                .push_str(&format!("; the server's log is in logs/{name}"));
        }
        if let Err(error) = std::fs::write(self.logs.join(&name), lines.join("\n")) {
            self.progress.say(&format!(
                "warning: cannot write the server's log to {name}: {error}"
            ));
        }
    }
}

/// Whether the next trial of a series can run on this trial's target.
fn leaves_the_target_as_it_was(trial: &Trial) -> bool {
    let mut flags = trial.flags.iter();
    trial.state != TrialState::Failed && flags.all(|flag| flag.kind != FlagKind::EventLeft)
}

/// A trial that is not measured because its server lacks a feature. It is recorded with the reason, and is not a failure.
pub(crate) fn not_available(planned: &PlannedTrial, why: String) -> Trial {
    let mut trial = Trial::unmeasured(planned.key.clone(), now_ns());
    trial.flag(FlagKind::NotAvailable, why);
    trial
}

/// A trial that could not begin.
pub(crate) fn failed(planned: &PlannedTrial, why: String) -> Trial {
    let mut trial = Trial::unmeasured(planned.key.clone(), now_ns());
    trial.fail(why);
    trial
}

/// A trial without server, levels and measurements, for tests.
#[cfg(test)]
pub(crate) fn blank() -> Trial {
    let key = record::TrialKey {
        block: 0,
        server: None,
        levels: Vec::new(),
        role: record::Role::Measured,
    };
    Trial::unmeasured(key, 0)
}
