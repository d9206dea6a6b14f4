//! One trial: a clone of the snapshot, a server with the trial's settings, its rounds.
//!
//! Goal: every trial starts from the same data and the same state, and what is not as it was asked for is flagged.
//! Non-goals: the order of trials (`plan`), provisioning (`dataset`, `servers`).

use super::cold::{self, Before};
use super::dataset::{Ready, remove_redo_log};
use super::event::Events;
use super::neighbours::Neighbours;
use super::round::{Live, Pass, Passed};
use super::servers::Provided;
use super::watch::{Watch, stopper};
use super::{Progress, RunError, in_place, settings};
use crate::host::{Home, Leases, clone, interrupt};
use crate::observe::{Observer, counters, variables};
use crate::plan::PlannedTrial;
use crate::server::{Server, ServerError, StartRequest};
use crate::spec::{Observe, Pairs, Protocol, RoundKind, Setting, Unit};
use crate::workload::{Dataset, Operation};
use record::{Flag, Round, Trial, TrialState};
use std::path::{Path, PathBuf};

/// What all trials share.
pub struct Bench<'a> {
    pub home: &'a Home,
    pub leases: &'a Leases,
    pub progress: &'a Progress,
    pub protocol: &'a Protocol,
    pub observe: &'a Observe,
    pub neighbours: &'a Neighbours,
    /// Where servers' logs are kept.
    pub logs: &'a Path,
}

/// Nanoseconds since the Unix epoch.
pub fn now_ns() -> i64 {
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

impl Bench<'_> {
    /// Measures one trial. What goes wrong in it is written into it; only an interruption is an error.
    pub fn measure(
        &self,
        planned: &PlannedTrial,
        server: &Provided,
        ready: &Ready,
        dataset: &dyn Dataset,
    ) -> Result<Trial, RunError> {
        let mut trial = blank(planned, ready);
        let stay = self.neighbours.stay();
        let folder = self
            .home
            .work()
            .join(format!("trial-{}-{}", std::process::id(), now_ns()));
        let lease = self.leases.folder(&folder)?;
        let mut bed = Bed::new(self, planned, server, ready, dataset, folder);
        let outcome = bed.rounds(&mut trial);
        if let Err(error) = outcome {
            trial.state = TrialState::Failed;
            trial.flags.push(Flag {
                kind: "trial_failed".into(),
                text: bed.explain(&error),
            });
        }
        add_up(&mut trial);
        bed.keep_log(&trial);
        let _ = bed.instance.stop();
        drop(bed);
        drop(lease);
        trial.flags.extend(stay.flag());
        trial.ended_ns = now_ns();
        if interrupt::asked() {
            Err(RunError::Interrupted)
        } else {
            Ok(trial)
        }
    }
}

/// The server of one trial with its folder and connections.
struct Bed<'a> {
    bench: &'a Bench<'a>,
    planned: &'a PlannedTrial,
    ready: &'a Ready,
    dataset: &'a dyn Dataset,
    operations: Vec<Operation>,
    server: &'a Provided,
    folder: PathBuf,
    instance: Box<dyn Server>,
    live: Option<Live>,
}

impl<'a> Bed<'a> {
    fn new(
        bench: &'a Bench<'a>,
        planned: &'a PlannedTrial,
        server: &'a Provided,
        ready: &'a Ready,
        dataset: &'a dyn Dataset,
        folder: PathBuf,
    ) -> Bed<'a> {
        let instance = server.instance(&folder.join("instance"));
        let operations = chosen(dataset.operations(), &bench.protocol.queries);
        Bed {
            bench,
            planned,
            ready,
            dataset,
            operations,
            server,
            folder,
            instance,
            live: None,
        }
    }

    fn rounds(&mut self, trial: &mut Trial) -> Result<(), ServerError> {
        self.place_data()?;
        trial.flags.extend(self.not_available());
        for (index, operations) in self.passes() {
            let kind = self.bench.protocol.rounds[index];
            self.say_now(trial, index);
            self.one_pass(trial, index, kind, &operations)?;
            if interrupt::asked() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// (index of the round, the operations of the pass) in the order of execution.
    fn passes(&self) -> Vec<(usize, Vec<Operation>)> {
        let rounds = 0..self.bench.protocol.rounds.len();
        match self.bench.protocol.unit {
            Unit::Round => rounds
                .map(|round| (round, self.operations.clone()))
                .collect(),
            Unit::Query => self
                .operations
                .iter()
                .flat_map(|operation| {
                    rounds
                        .clone()
                        .map(move |round| (round, vec![operation.clone()]))
                })
                .collect(),
        }
    }

    fn one_pass(
        &mut self,
        trial: &mut Trial,
        index: usize,
        kind: RoundKind,
        operations: &[Operation],
    ) -> Result<(), ServerError> {
        let before = match kind {
            RoundKind::Cold => Some(self.go_cold(trial)?),
            RoundKind::Hot => {
                if self.live.is_none() {
                    self.start(trial)?;
                }
                None
            }
        };
        let started_ns = now_ns();
        let events = self.begin_events()?;
        let pass = Pass {
            dataset: self.dataset,
            operations,
            protocol: self.bench.protocol,
            observe: self.bench.observe,
        };
        let live = self
            .live
            .as_mut()
            .ok_or_else(|| ServerError::Lost("the server was not started".into()))?;
        let passed = pass.run(live);
        trial.events.extend(events.stop());
        let passed = passed?;
        let coldness = before
            .map(|before| before.after(self.instance.data_folder(), self.ready.note.data_bytes));
        self.enter(trial, index, kind, passed, coldness, started_ns);
        Ok(())
    }

    /// Adds what was measured to the trial's round of this index.
    fn enter(
        &self,
        trial: &mut Trial,
        index: usize,
        kind: RoundKind,
        passed: Passed,
        coldness: Option<record::Coldness>,
        started_ns: i64,
    ) {
        if trial.rounds.len() <= index {
            let n = self.bench.protocol.rounds[..index]
                .iter()
                .filter(|earlier| **earlier == kind)
                .count();
            trial
                .rounds
                .push(blank_round(kind, n as u32 + 1, started_ns));
        }
        if !passed.flags.is_empty() {
            trial.state = TrialState::Invalid;
        }
        let round = &mut trial.rounds[index];
        if let Some(coldness) = coldness {
            if !coldness.proved && round.name == "cold" {
                round.name = "lukewarm".into();
                let reason = coldness.reason.clone().unwrap_or_default();
                trial.flags.push(Flag {
                    kind: "lukewarm".into(),
                    text: format!("cold {} is lukewarm: {reason}", round.index),
                });
            }
            round.coldness = Some(match round.coldness.take() {
                Some(earlier) => cold::join(earlier, coldness),
                None => coldness,
            });
        }
        round.ended_ns = now_ns();
        round.queries.extend(passed.queries);
        trial.plans.extend(passed.plans);
        trial.flags.extend(passed.flags);
    }

    /// A clone of the snapshot, where the server has one.
    fn place_data(&mut self) -> Result<(), ServerError> {
        let Some(snapshot) = &self.ready.data_folder else {
            return Ok(());
        };
        self.bench.progress.now("copying the snapshot");
        let data = self.data();
        std::fs::create_dir_all(&self.folder).map_err(|error| {
            ServerError::Unusable(format!("cannot write {}: {error}", self.folder.display()))
        })?;
        clone::folder(snapshot, &data)
            .map_err(|error| ServerError::Unusable(format!("cannot copy the snapshot: {error}")))?;
        if self.server.keeps_redo_log_size() && settings::reshapes_redo_log(&self.settings()) {
            remove_redo_log(&data).map_err(|error| {
                ServerError::Unusable(format!("cannot change the redo log: {error}"))
            })?;
        }
        Ok(())
    }

    /// Stop, empty the caches, start, and look whether it is cold.
    fn go_cold(&mut self, trial: &mut Trial) -> Result<Before, ServerError> {
        let restart = self.instance.abilities().restart;
        if restart {
            self.live = None;
            self.instance.stop()?;
            cold::evict(&self.data());
        }
        if self.live.is_none() {
            self.start(trial)?;
        }
        // Once more: the start itself has read parts of the files.
        let eviction = if restart {
            cold::evict(&self.data())
        } else {
            "none".into()
        };
        let live = self
            .live
            .as_mut()
            .ok_or_else(|| ServerError::Lost("the server was not started".into()))?;
        Ok(Before::look(
            restart,
            eviction,
            self.instance.data_folder(),
            live.observer.as_mut(),
        ))
    }

    fn start(&mut self, trial: &mut Trial) -> Result<(), ServerError> {
        let request = StartRequest {
            data_folder: self.data(),
            settings: self.settings(),
        };
        let started = self.instance.start(&request)?;
        trial.start_s.push(started.elapsed_s);
        let mut session = self.instance.connect()?;
        self.dataset.enter(&mut session)?;
        let abilities = self.instance.abilities();
        if !abilities.snapshots {
            in_place::still_holds(self.dataset, &mut session)?;
        }
        if abilities.mysql {
            for statement in
                settings::session_statements(&self.planned.session, self.ready.note.data_bytes)
            {
                session.execute(&statement)?;
            }
        }
        if trial.settings.is_empty() {
            trial.settings = variables::effective(&mut session)?;
            let adjusted = self.instance.adjusted(&mut session)?;
            trial.flags.extend(adjusted.into_iter().map(|one| Flag {
                kind: "setting_adjusted".into(),
                text: format!(
                    "{}: asked for {}, the server runs with {}",
                    one.name, one.asked, one.runs
                ),
            }));
        }
        let observer = if abilities.mysql {
            Some(Observer::new(self.instance.connect()?, abilities.settings)?)
        } else {
            None
        };
        let watch = Watch::new(stopper(&session, self.instance.as_ref())?);
        self.live = Some(Live {
            session,
            observer,
            watch,
        });
        Ok(())
    }

    fn settings(&self) -> Vec<(String, String)> {
        if !self.instance.abilities().settings {
            return Vec::new();
        }
        let mut settings = settings::resolve(&self.planned.settings, self.ready.note.data_bytes);
        let given = |name: &str| {
            settings
                .iter()
                .any(|(given, _)| settings::plain(given) == name)
        };
        let baseline: Vec<_> = self
            .server
            .baseline
            .iter()
            .filter(|(name, _)| !given(name))
            .cloned()
            .collect();
        settings.extend(baseline);
        settings
    }

    fn begin_events(&self) -> Result<Events, ServerError> {
        let events = &self.planned.events;
        let sessions = events.iter().map(|_| {
            let mut session = self.instance.connect()?;
            self.dataset.enter(&mut session)?;
            Ok(session)
        });
        Ok(Events::begin(
            events,
            sessions.collect::<Result<_, ServerError>>()?,
        ))
    }

    /// What was asked for and cannot be had on this kind of server: said, not faked.
    fn not_available(&self) -> Vec<Flag> {
        let abilities = self.instance.abilities();
        let mut missing = Vec::new();
        let names = |pairs: &Pairs<Setting>| {
            pairs
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
                .join(", ")
        };
        if !abilities.settings && !self.planned.settings.is_empty() {
            missing.push(format!(
                "settings {}: not available here, since prony does not configure this server",
                names(&self.planned.settings)
            ));
        }
        if !abilities.mysql && !self.planned.session.is_empty() {
            missing.push(format!(
                "session {}: not available here",
                names(&self.planned.session)
            ));
        }
        missing
            .into_iter()
            .map(|text| Flag {
                kind: "not_available".into(),
                text,
            })
            .collect()
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn say_now(&self, trial: &Trial, index: usize) {
        let levels: Vec<&str> = trial
            .key
            .levels
            .iter()
            .map(|(_, level)| level.as_str())
            .collect();
        let rounds = &self.bench.protocol.rounds;
        self.bench.progress.now(&format!(
            "{} {}: round {} of {}",
            trial.key.server,
            levels.join(", "),
            index + 1,
            rounds.len()
        ));
    }

    /// Why a trial failed, with the server's own last words where it is gone.
    fn explain(&mut self, error: &ServerError) -> String {
        match (error, self.instance.exit_reason()) {
            (ServerError::Lost(_), Some(reason)) => format!("the server ended: {reason}"),
            _ => error.to_string(),
        }
    }

    fn keep_log(&self, trial: &Trial) {
        let lines = self.instance.log_tail(usize::MAX);
        if lines.is_empty() {
            return;
        }
        let levels: Vec<&str> = trial
            .key
            .levels
            .iter()
            .map(|(_, level)| level.as_str())
            .collect();
        let name = format!(
            "{}-{}-block{}.log",
            trial.key.server,
            levels.join("-"),
            trial.key.block + 1
        );
        let name: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || ".-".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        if let Err(error) = std::fs::write(self.bench.logs.join(&name), lines.join("\n")) {
            self.bench.progress.say(&format!(
                "warning: the server's log could not be kept as {name}: {error}"
            ));
        }
    }
}

fn add_up(trial: &mut Trial) {
    for round in &mut trial.rounds {
        round.elapsed_s = round
            .queries
            .iter()
            .map(|query| query.elapsed_ns as f64 / 1e9)
            .sum();
        round.counters = counters::sum(round.queries.iter().map(|query| &query.counters));
    }
}

fn chosen(all: Vec<Operation>, names: &[String]) -> Vec<Operation> {
    all.into_iter()
        .filter(|operation| names.is_empty() || names.contains(&operation.name))
        .collect()
}

fn blank(planned: &PlannedTrial, ready: &Ready) -> Trial {
    Trial {
        key: planned.key.clone(),
        state: TrialState::Done,
        flags: Vec::new(),
        started_ns: now_ns(),
        ended_ns: 0,
        start_s: Vec::new(),
        rounds: Vec::new(),
        settings: Default::default(),
        plans: Default::default(),
        events: Vec::new(),
        data_bytes: ready.note.data_bytes,
    }
}

fn blank_round(kind: RoundKind, index: u32, started_ns: i64) -> Round {
    let name = match kind {
        RoundKind::Cold => "cold",
        RoundKind::Hot => "hot",
    };
    Round {
        name: name.into(),
        index,
        started_ns,
        ended_ns: started_ns,
        elapsed_s: 0.0,
        coldness: None,
        queries: Vec::new(),
        counters: Default::default(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use record::{Answer, Query, TrialKey};

    /// A trial with one query; an answer a round.
    pub fn trial_with_answers(server: &str, hashes: &[&str]) -> Trial {
        let round = |(index, hash): (usize, &&str)| {
            let mut round = blank_round(RoundKind::Hot, index as u32 + 1, 0);
            round.queries.push(Query {
                name: "Q1.1".into(),
                elapsed_ns: 1,
                rows: 1,
                answer: Answer::Unchecked,
                answer_hash: hash.to_string(),
                plan_hash: None,
                counters: Default::default(),
                profile: Vec::new(),
                error: None,
            });
            round
        };
        Trial {
            key: TrialKey {
                block: 0,
                server: server.into(),
                levels: Vec::new(),
            },
            state: TrialState::Done,
            flags: Vec::new(),
            started_ns: 0,
            ended_ns: 0,
            start_s: Vec::new(),
            rounds: hashes.iter().enumerate().map(round).collect(),
            settings: Default::default(),
            plans: Default::default(),
            events: Vec::new(),
            data_bytes: 0,
        }
    }
}
