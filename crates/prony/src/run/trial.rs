//! One trial: its rounds on a bed of its own, and what they add up to.
//!
//! Goal: what is not as it was asked for is flagged. Non-goals: the order of trials (`plan`), provisioning (`dataset`,
//! `servers`), the server below (`bed`).

use super::bed::Bed;
use super::dataset::Ready;
use super::event::Happened;
use super::neighbours::Neighbours;
use super::plans;
use super::round::{Pass, Passed};
use super::servers::Provided;
use super::timed::{EachSecond, Timed};
use super::{Progress, RunError, cold};
use host::{Home, Leases, interrupt};
use observe::counters;
use record::{Coldness, Flag, FlagKind, Round, Trial, TrialKey, TrialState};
use server::ServerError;
use spec::plan::PlannedTrial;
use spec::{Observe, Plans, Protocol, RoundKind, Unit};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use workload::{Operation, Queries, Workload};

/// What all trials share.
pub struct Bench<'a> {
    pub home: &'a Home,
    pub leases: &'a Leases,
    pub progress: &'a Progress,
    pub protocol: &'a Protocol,
    pub neighbours: &'a Neighbours,
    /// The run's: every point of a block is asked the same operations.
    pub seed: u64,
    /// Where servers' logs are kept.
    pub logs: &'a Path,
}

/// Nanoseconds since the Unix epoch.
pub fn now_ns() -> i64 {
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

impl Bench<'_> {
    /// Measures one trial on a bed of its own. What goes wrong in it is written into it; only an interruption is an error.
    pub fn measure<'s>(
        &self,
        planned: &PlannedTrial,
        server: &'s Provided,
        ready: &'s Ready,
        workload: &Arc<dyn Workload>,
        held: &mut Option<Bed<'s>>,
        live: EachSecond,
    ) -> Result<Trial, RunError> {
        let mut trial = blank(planned, ready);
        let stay = self.neighbours.stay();
        let mut bed = self.bed(planned, server, ready, workload, held)?;
        if let Err(error) = self.on_bed(planned, &mut bed, workload.as_ref(), &mut trial, live) {
            trial.state = TrialState::Failed;
            flag(&mut trial, FlagKind::TrialFailed, bed.explain(&error));
        }
        if let Some(lost) = bed.lost_limit().filter(|_| trial.state == TrialState::Done) {
            trial.state = TrialState::Invalid;
            trial.flags.push(lost);
        }
        self.keep_log(&mut trial, &bed.log());
        trial.flags.extend(stay.flag());
        trial.ended_ns = now_ns();
        if self.protocol.series && leaves_the_server_as_it_was(&trial) {
            *held = Some(bed);
        }
        if interrupt::asked() {
            Err(RunError::Interrupted)
        } else {
            Ok(trial)
        }
    }

    /// The bed that the trial before left, where this one continues its series; else a new one.
    fn bed<'s>(
        &self,
        planned: &PlannedTrial,
        server: &'s Provided,
        ready: &'s Ready,
        workload: &Arc<dyn Workload>,
        held: &mut Option<Bed<'s>>,
    ) -> Result<Bed<'s>, RunError> {
        // An earlier server ends before another one starts.
        if let (Some(mut bed), true) = (held.take(), planned.continues) {
            bed.continue_with(planned.clone());
            return Ok(bed);
        }
        let folder = self
            .home
            .work()
            .join(format!("trial-{}-{}", std::process::id(), now_ns()));
        let lease = self.leases.folder(&folder)?;
        Ok(Bed::new(
            planned.clone(),
            server,
            ready,
            workload.clone(),
            self.leases.clone(),
            lease,
        ))
    }

    fn on_bed(
        &self,
        planned: &PlannedTrial,
        bed: &mut Bed,
        workload: &dyn Workload,
        trial: &mut Trial,
        live: EachSecond,
    ) -> Result<(), ServerError> {
        if !bed.is_started() {
            self.progress.now("copying the snapshot");
            bed.place_data()?;
        }
        trial.flags.extend(bed.not_available());
        if self.protocol.is_timed() {
            let timed = Timed {
                bench: self,
                workload,
                planned,
                seed: self.seed.wrapping_add(u64::from(planned.key.block)),
            };
            return timed.measure(bed, trial, live);
        }
        let queries = workload.queries().ok_or_else(|| {
            ServerError::Unusable("the workload has no queries for rounds".into())
        })?;
        let rounds = Rounds {
            bench: self,
            queries,
            operations: chosen(queries.operations(), &self.protocol.queries),
            clients: planned.load.clients(),
            observe: &planned.observe,
            rounds: &planned.rounds,
            data_bytes: trial.data_bytes,
        };
        rounds.all(bed, trial)
    }

    fn keep_log(&self, trial: &mut Trial, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let name = log_name(&trial.key);
        if let Some(failure) = trial
            .flags
            .iter_mut()
            .find(|flag| flag.kind == FlagKind::TrialFailed)
        {
            failure
                .text
                .push_str(&format!("; the server's log is logs/{name}"));
        }
        if let Err(error) = std::fs::write(self.logs.join(&name), lines.join("\n")) {
            self.progress.say(&format!(
                "warning: the server's log could not be kept as {name}: {error}"
            ));
        }
    }
}

/// `5.6 small pool, 8`: the trial's place in the matrix but for its block, for one line.
pub fn label(key: &TrialKey) -> String {
    let levels: Vec<&str> = key.levels.iter().map(|(_, level)| level.as_str()).collect();
    format!("{} {}", key.server_name(), levels.join(", "))
        .trim()
        .to_string()
}

fn log_name(key: &TrialKey) -> String {
    let whole = format!("{}-block{}.log", label(key), key.block + 1);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    whole
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect()
}

/// The rounds of one trial, as the protocol wants them.
struct Rounds<'a> {
    bench: &'a Bench<'a>,
    queries: &'a dyn Queries,
    operations: Vec<Operation>,
    clients: u32,
    observe: &'a Observe,
    rounds: &'a [RoundKind],
    data_bytes: u64,
}

impl Rounds<'_> {
    fn all(&self, bed: &mut Bed, trial: &mut Trial) -> Result<(), ServerError> {
        for (index, operations) in self.passes() {
            self.bench.progress.now(&format!(
                "{}: round {} of {}",
                label(&trial.key),
                index + 1,
                self.rounds.len()
            ));
            self.one_pass(bed, trial, index, &operations)?;
            if interrupt::asked() {
                return Ok(());
            }
        }
        if self.observe.plans == Plans::Analyze {
            self.bench
                .progress
                .now(&format!("{}: analysing plans", label(&trial.key)));
            let timeout = self.bench.protocol.query_timeout;
            plans::analyse(&self.operations, timeout, bed.live(trial)?, trial);
        }
        Ok(())
    }

    /// (index of the round, the operations of the pass) in the order of execution.
    fn passes(&self) -> Vec<(usize, Vec<Operation>)> {
        let rounds = 0..self.rounds.len();
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
        &self,
        bed: &mut Bed,
        trial: &mut Trial,
        index: usize,
        operations: &[Operation],
    ) -> Result<(), ServerError> {
        let before = match self.rounds[index] {
            RoundKind::Cold => Some(bed.go_cold(trial, self.clients)?),
            RoundKind::Hot => None,
        };
        bed.live(trial)?;
        bed.have_clients(self.clients)?;
        let started_ns = now_ns();
        let events = bed.prepare_events()?.begin(Instant::now());
        let pass = Pass {
            queries: self.queries,
            operations,
            protocol: self.bench.protocol,
            observe: self.observe,
            known: plans::known(trial),
        };
        let passed = pass.run(bed.live(trial)?);
        happened(trial, events.stop());
        let mut passed = passed?;
        if trial.rounds.len() <= index {
            let round = blank_round(self.rounds, index, started_ns);
            trial.rounds.push(round);
        }
        trial.rounds[index].ended_ns = now_ns();
        // What plans cost is in neither the round's span nor its proof.
        let coldness =
            before.map(|before| before.after(bed.data_folder().as_deref(), self.data_bytes));
        pass.look(bed.live(trial)?, &mut passed)?;
        enter(trial, index, passed);
        plans::check(&self.observe.checks, trial, index);
        if let Some(coldness) = coldness {
            prove(trial, index, coldness);
        }
        Ok(())
    }
}

/// Adds what was measured to the trial's round of this index. A query that failed or answered wrong makes it invalid; one
/// that ran into the limit took longer, which is a result.
fn enter(trial: &mut Trial, index: usize, passed: Passed) {
    let sparing = [
        FlagKind::QueryTimedOut,
        FlagKind::HintIgnored,
        FlagKind::NoPlan,
    ];
    let spoils = |flag: &Flag| !sparing.contains(&flag.kind);
    if passed.flags.iter().any(spoils) {
        trial.state = TrialState::Invalid;
    }
    let round = &mut trial.rounds[index];
    round.elapsed_s += passed.elapsed_s;
    round.counters = counters::sum([&round.counters, &passed.counters].into_iter());
    round.queries.extend(passed.queries);
    trial.plans.extend(passed.plans);
    trial.plan_forms.extend(passed.forms);
    for Flag { kind, text } in passed.flags {
        flag(trial, kind, text);
    }
}

/// Adds the evidence of one pass to its round, which is lukewarm from the first pass on that was not cold.
fn prove(trial: &mut Trial, index: usize, coldness: Coldness) {
    let round = &mut trial.rounds[index];
    let joined = match round.coldness.take() {
        Some(earlier) => cold::join(earlier, coldness),
        None => coldness,
    };
    let reason = joined.reason.clone().unwrap_or_default();
    let turns_lukewarm = !joined.proved && round.name == "cold";
    round.coldness = Some(joined);
    if turns_lukewarm {
        round.name = "lukewarm".into();
        let text = format!("cold {} is lukewarm: {reason}", round.index);
        flag(trial, FlagKind::Lukewarm, text);
    }
}

/// An event that failed did not do what the trial is named after; one that never came may be only late.
pub fn happened(trial: &mut Trial, happened: Happened) {
    trial.events.extend(happened.notes);
    if !happened.failed.is_empty() {
        trial.state = TrialState::Invalid;
    }
    for text in happened.failed {
        flag(trial, FlagKind::EventFailed, text);
    }
    for text in happened.missed {
        flag(trial, FlagKind::EventMissed, text);
    }
    for text in happened.left {
        flag(trial, FlagKind::EventLeft, text);
    }
}

/// Whether the next trial of a series may go on there.
fn leaves_the_server_as_it_was(trial: &Trial) -> bool {
    trial.state != TrialState::Failed
        && trial
            .flags
            .iter()
            .all(|flag| flag.kind != FlagKind::EventLeft)
}

/// The same thing in several rounds is said once.
pub fn flag(trial: &mut Trial, kind: FlagKind, text: String) {
    let flag = Flag { kind, text };
    if !trial.flags.contains(&flag) {
        trial.flags.push(flag);
    }
}

fn chosen(all: Vec<Operation>, names: &[String]) -> Vec<Operation> {
    all.into_iter()
        .filter(|operation| names.is_empty() || names.contains(&operation.name))
        .collect()
}

/// A trial that is not measured, since its server lacks what makes it: an empty cell with its reason, and no failure.
pub fn not_available(planned: &PlannedTrial, why: String) -> Trial {
    let mut trial = unmeasured(planned, 0);
    trial.ended_ns = trial.started_ns;
    flag(&mut trial, FlagKind::NotAvailable, why);
    trial
}

fn blank(planned: &PlannedTrial, ready: &Ready) -> Trial {
    Trial {
        dataset: Some(ready.note.clone()),
        ..unmeasured(planned, ready.note.data_bytes)
    }
}

fn unmeasured(planned: &PlannedTrial, data_bytes: u64) -> Trial {
    Trial {
        load: None,
        key: planned.key.clone(),
        state: TrialState::Done,
        flags: Vec::new(),
        started_ns: now_ns(),
        ended_ns: 0,
        start_s: Vec::new(),
        rounds: Vec::new(),
        settings: Default::default(),
        node_settings: Default::default(),
        plans: Default::default(),
        plan_forms: Vec::new(),
        events: Vec::new(),
        limits: Vec::new(),
        data_bytes,
        dataset: None,
    }
}

/// The round of this index, which counts from 1 within its kind.
fn blank_round(rounds: &[RoundKind], index: usize, started_ns: i64) -> Round {
    let kind = rounds[index];
    let earlier = rounds[..index].iter().filter(|round| **round == kind);
    let name = match kind {
        RoundKind::Cold => "cold",
        RoundKind::Hot => "hot",
    };
    Round {
        name: name.into(),
        index: earlier.count() as u32 + 1,
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
            let mut round = blank_round(&vec![RoundKind::Hot; index + 1], index, 0);
            round.queries.push(Query {
                name: "Q1.1".into(),
                client: 1,
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
            load: None,
            key: TrialKey {
                block: 0,
                server: Some(server.into()),
                levels: Vec::new(),
            },
            state: TrialState::Done,
            flags: Vec::new(),
            started_ns: 0,
            ended_ns: 0,
            start_s: Vec::new(),
            rounds: hashes.iter().enumerate().map(round).collect(),
            settings: Default::default(),
            node_settings: Default::default(),
            plans: Default::default(),
            plan_forms: Vec::new(),
            events: Vec::new(),
            limits: Vec::new(),
            data_bytes: 0,
            dataset: None,
        }
    }

    fn coldness(reason: Option<&str>) -> Coldness {
        Coldness {
            proved: reason.is_none(),
            eviction: "drop_caches".into(),
            server_restarted: true,
            pool_pages: None,
            resident_bytes: Some(0),
            file_bytes: Some(1),
            device_read_bytes: Some(1),
            reason: reason.map(String::from),
        }
    }

    #[test]
    fn a_round_of_single_queries_is_lukewarm_from_the_first_that_was_not_cold() {
        let mut trial = trial_with_answers("5.6", &["a"]);
        trial.rounds[0] = blank_round(&[RoundKind::Cold], 0, 0);
        prove(&mut trial, 0, coldness(None));
        assert_eq!(trial.rounds[0].name, "cold");
        prove(&mut trial, 0, coldness(Some("the pool held 9 pages")));
        prove(&mut trial, 0, coldness(None));
        assert_eq!(trial.rounds[0].name, "lukewarm");
        assert!(!trial.rounds[0].coldness.as_ref().unwrap().proved);
        assert_eq!(
            trial.flags[0].text,
            "cold 1 is lukewarm: the pool held 9 pages"
        );
        assert_eq!(trial.flags.len(), 1);
    }

    #[test]
    fn a_query_that_fails_in_every_round_is_flagged_once() {
        let mut trial = trial_with_answers("5.6", &["a", "a"]);
        for index in 0..2 {
            let flags = vec![Flag {
                kind: FlagKind::QueryFailed,
                text: "Q1.1: > 60 s".into(),
            }];
            let passed = Passed {
                flags,
                ..Passed::default()
            };
            enter(&mut trial, index, passed);
        }
        assert_eq!((trial.flags.len(), trial.state), (1, TrialState::Invalid));
    }

    #[test]
    fn a_query_over_the_limit_and_an_ignored_hint_leave_the_trial_valid() {
        for (kind, state) in [
            (FlagKind::QueryTimedOut, TrialState::Done),
            (FlagKind::HintIgnored, TrialState::Done),
            (FlagKind::WrongAnswer, TrialState::Invalid),
        ] {
            let mut trial = trial_with_answers("5.6", &["a"]);
            let flags = vec![Flag {
                kind: kind.clone(),
                text: "Q1.1".into(),
            }];
            let passed = Passed {
                flags,
                ..Passed::default()
            };
            enter(&mut trial, 0, passed);
            assert_eq!((trial.flags.len(), trial.state), (1, state), "{kind}");
        }
    }

    #[test]
    fn a_log_is_named_after_its_trial() {
        let key = TrialKey {
            block: 0,
            server: Some("5.6".into()),
            levels: vec![("variant".into(), "pool/8".into())],
        };
        assert_eq!(log_name(&key), "5.6_pool_8-block1.log");
    }
}
