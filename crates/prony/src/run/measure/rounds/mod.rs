//! The rounds of one trial: the order of the queries, and the results per round.
//!
//! Purpose: run all rounds of a trial, and flag what is not as requested. Outside this module: one pass over the queries (`round`), the
//! server (`place`), what makes a round cold (`coldness`).

mod clients;
mod hints;
mod pass;
pub(crate) mod plans;

use super::bench::Bench;
use crate::run::audit::pool;
use crate::run::place::coldness;
use crate::run::place::{Place, Process, ServerPlace};
use host::{interrupt, now_ns};
use observe::{counters, foreign};
use pass::{Pass, Passed, Turn};
use record::{Coldness, Flag, FlagKind, Query, Round, Trial};
use server::ServerError;
use spec::plan::PlannedTrial;
use spec::{Observe, Plans, RoundKind, Unit};
use std::collections::BTreeMap;
use std::time::Instant;
use workload::script::finds_rows;
use workload::{Operation, Queries};

/// What a round that reads its data into memory is not.
const WARMING: &str =
    "the data was not in memory: hot 1 is the second pass over it, and the first is not counted";

/// The server reads the pages that its buffer pool held at the last shutdown. prony turns it off unless the file sets it.
const RESTORES_POOL: &str = "innodb_buffer_pool_load_at_startup";

/// The rounds of one trial.
pub(crate) struct Rounds<'a> {
    bench: &'a Bench<'a>,
    queries: &'a dyn Queries,
    operations: Vec<Operation>,
    clients: u32,
    observe: &'a Observe,
    rounds: &'a [RoundKind],
    data_bytes: u64,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(
        bench: &'a Bench<'a>,
        planned: &'a PlannedTrial,
        queries: &'a dyn Queries,
        data_bytes: u64,
    ) -> Rounds<'a> {
        Rounds {
            bench,
            queries,
            operations: chosen(queries.operations(), &bench.protocol.queries),
            clients: planned.load.clients(),
            observe: &planned.observe,
            rounds: &planned.rounds,
            data_bytes,
        }
    }

    /// Runs every round, then EXPLAIN ANALYZE if the experiment requests it.
    ///
    /// # Errors
    /// The server or a connection is gone.
    pub(crate) fn all(
        &self,
        place: &mut ServerPlace,
        trial: &mut Trial,
    ) -> Result<(), ServerError> {
        let sent_before = server::statements_sent();
        for (index, operations) in self.passes() {
            // A cold round empties the page cache of all servers, so no other one has its turn between the rounds of a query.
            if self.bench.protocol.unit == Unit::Query && index == 0 {
                self.turn(place.process().ok())?;
            }
            self.bench
                .progress
                .now(&format!("round {} of {}", index + 1, self.rounds.len()));
            self.one_pass(place, trial, index, &operations)?;
            if interrupt::asked() {
                return Ok(());
            }
        }
        let own = server::statements_sent() - sent_before;
        if place.is_external()
            && let Some(text) = foreign_clients(trial, own)
        {
            trial.flag(FlagKind::ForeignClients, text);
        }
        has_figures(trial);
        name_empty(&self.operations, trial);
        if self.observe.plans == Plans::Analyze {
            self.turn(place.process().ok())?;
            self.bench.progress.now("analysing plans");
            let timeout = self.bench.protocol.query_timeout;
            plans::analyse(&self.operations, timeout, place.live(trial)?, trial);
        }
        Ok(())
    }

    /// Waits for the next turn of the server, if it takes turns with others.
    fn turn(&self, server: Option<Process>) -> Result<(), ServerError> {
        let seat = self.bench.seat;
        seat.map_or(Ok(()), |seat| seat.turn(server))
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
        place: &mut ServerPlace,
        trial: &mut Trial,
        index: usize,
        operations: &[Operation],
    ) -> Result<(), ServerError> {
        let before = match self.rounds[index] {
            RoundKind::Cold => Some(place.go_cold(trial, self.clients)?),
            RoundKind::Hot => None,
        };
        place.live(trial)?;
        place.have_clients(self.clients)?;
        let (server, takes_turns) = (place.process().ok(), self.bench.seat.is_some());
        let turn = || self.turn(server.clone());
        let is_within = takes_turns && self.bench.protocol.unit == Unit::Round;
        let pass = Pass {
            queries: self.queries,
            operations,
            protocol: self.bench.protocol,
            observe: self.observe,
            known: plans::known(trial),
            samples: self.bench.samples,
            turn: is_within.then_some(&turn as Turn),
        };
        let mut started_ns = now_ns();
        let mut passed = self.queries_and_events(&pass, place, trial)?;
        let has_filled = pool::was_filled_by(&passed.counters, self.data_bytes, &trial.settings);
        // Servers that take turns all have this pass, so that they stay in step.
        if self.is_first(index) && (has_filled || takes_turns) && !interrupt::asked() {
            if has_filled {
                trial.flag(FlagKind::Warming, WARMING);
            }
            started_ns = now_ns();
            passed = self.queries_and_events(&pass, place, trial)?;
        }
        if trial.rounds.len() <= index {
            let round = blank_round(self.rounds, index, started_ns);
            trial.rounds.push(round);
        }
        trial.rounds[index].ended_ns = now_ns();
        // Taken before the plans are read, so that EXPLAIN counts neither in the time nor in the proof.
        let coldness =
            before.map(|before| before.after(place.data_folder().as_deref(), self.data_bytes));
        let live = place.live(trial)?;
        plans::look(&pass, live, &mut passed)?;
        hints::look(&pass, live, &mut passed)?;
        enter(trial, index, passed);
        plans::check(&self.observe.checks, trial, index);
        if let Some(coldness) = coldness {
            let coldness = with_own_pool(&trial.settings, coldness);
            prove(trial, index, coldness);
        }
        Ok(())
    }

    /// Whether no round before this one can have read the data.
    fn is_first(&self, index: usize) -> bool {
        index == 0 && self.rounds[index] == RoundKind::Hot
    }

    /// One pass, with the planned events beside it.
    fn queries_and_events(
        &self,
        pass: &Pass,
        place: &mut ServerPlace,
        trial: &mut Trial,
    ) -> Result<Passed, ServerError> {
        let events = place
            .prepare_events(self.bench.actions)?
            .begin(Instant::now());
        let passed = pass.run(place.live(trial)?);
        events.stop().enter(trial);
        passed
    }
}

/// A sentence if other clients used the server of the trial, to which prony sent so many statements.
fn foreign_clients(trial: &Trial, own: u64) -> Option<String> {
    let rounds = trial.rounds.iter();
    let elapsed_s = rounds.clone().map(|round| round.elapsed_s).sum();
    foreign::in_rounds(rounds.map(|round| &round.counters), own as i64, elapsed_s)
}

/// Adds a pass to the trial's round of this index. A wrong answer makes the trial invalid. A failed query does not, for the figures of
/// the others are right: the round has no total then, and the run is not valid. Neither does a query that timed out: its time is known
/// to exceed the limit.
fn enter(trial: &mut Trial, index: usize, passed: Passed) {
    let harmless = [
        FlagKind::QueryFailed,
        FlagKind::QueryTimedOut,
        FlagKind::HintIgnored,
        FlagKind::NoPlan,
        FlagKind::SamplerAbsent,
    ];
    let round = &mut trial.rounds[index];
    round.elapsed_s += passed.elapsed_s;
    round.counters = match round.queries.is_empty() {
        true => passed.counters,
        false => counters::sum([&round.counters, &passed.counters].into_iter()),
    };
    round.queries.extend(passed.queries);
    trial.plans.extend(passed.plans);
    trial.plan_forms.extend(passed.forms);
    for Flag { kind, text } in passed.flags {
        match harmless.contains(&kind) {
            true => trial.flag(kind, text),
            false => trial.invalidate(kind, text),
        }
    }
}

/// A trial in which no query was answered has no figures, so it is invalid.
fn has_figures(trial: &mut Trial) {
    let mut queries = trial.rounds.iter().flat_map(|round| &round.queries);
    let failed = trial.flagged(FlagKind::QueryFailed);
    if let (Some(flag), true) = (failed.cloned(), queries.all(Query::has_failed)) {
        trial.invalidate(flag.kind, flag.text);
    }
}

/// Names the user's own queries that found no row in any round: that is fast, and often a mistake.
fn name_empty(operations: &[Operation], trial: &mut Trial) {
    let is_empty = |operation: &&Operation| {
        let queries = trial.rounds.iter().flat_map(|round| &round.queries);
        let answered =
            queries.filter(|query| query.name == operation.name && query.error.is_none());
        let rows = answered.map(|query| query.rows).max();
        rows == Some(0) && operation.place.is_some() && finds_rows(&operation.mysql)
    };
    let empty = operations.iter().filter(is_empty);
    let names: Vec<&str> = empty.map(|operation| operation.name.as_str()).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        let text = format!("found no row in any round: {names}; check the conditions and the data");
        trial.flag(FlagKind::NoEffect, text);
    }
}

/// A server that restores its buffer pool has read the data before the first query, and a small pool looks like that of a start.
fn with_own_pool(settings: &BTreeMap<String, String>, coldness: Coldness) -> Coldness {
    let restores = settings.get(RESTORES_POOL);
    let is_restored = restores.is_some_and(|value| value == "ON" || value == "1");
    match is_restored && coldness.proved {
        true => Coldness {
            proved: false,
            reason: Some(format!(
                "the server restores its buffer pool when it starts ({RESTORES_POOL} = ON)"
            )),
            ..coldness
        },
        false => coldness,
    }
}

/// Adds the evidence of one pass to its round. One pass that was not cold makes the round lukewarm.
fn prove(trial: &mut Trial, index: usize, coldness: Coldness) {
    let round = &mut trial.rounds[index];
    let joined = match round.coldness.take() {
        Some(earlier) => coldness::join(earlier, coldness),
        None => coldness,
    };
    let reason = joined.reason.clone().unwrap_or_default();
    let turns_lukewarm = !joined.proved && round.name == "cold";
    round.coldness = Some(joined);
    if turns_lukewarm {
        round.name = "lukewarm".into();
        let text = format!("cold {} is lukewarm: {reason}", round.index);
        trial.flag(FlagKind::Lukewarm, text);
    }
}

fn chosen(all: Vec<Operation>, names: &[String]) -> Vec<Operation> {
    all.into_iter()
        .filter(|operation| names.is_empty() || names.contains(&operation.name))
        .collect()
}

/// An empty round. Its number counts from 1 within its kind.
fn blank_round(rounds: &[RoundKind], index: usize, started_ns: i64) -> Round {
    let kind = rounds[index];
    let earlier = rounds[..index].iter().filter(|round| **round == kind);
    Round {
        name: kind.name().into(),
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
pub(crate) mod tests {
    use super::*;
    use record::{Answer, TrialKey, TrialState};

    /// A trial of one query, with one round per answer.
    pub(crate) fn trial_with_answers(server: &str, hashes: &[&str]) -> Trial {
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
        let key = TrialKey {
            block: 0,
            server: Some(server.into()),
            levels: Vec::new(),
            role: record::Role::Measured,
        };
        Trial {
            rounds: hashes.iter().enumerate().map(round).collect(),
            ..Trial::unmeasured(key, 0)
        }
    }

    fn flagged(kind: FlagKind, text: &str) -> Passed {
        let text = text.into();
        Passed {
            flags: vec![Flag { kind, text }],
            ..Passed::default()
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
            passes: Some(1),
            device_read_bytes: Some(1),
            reason: reason.map(String::from),
        }
    }

    #[test]
    fn one_query_that_was_not_cold_makes_the_round_lukewarm() {
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
    fn a_round_after_a_restored_buffer_pool_is_not_cold() {
        let with = |value: &str| {
            let settings = BTreeMap::from([(RESTORES_POOL.to_string(), value.to_string())]);
            with_own_pool(&settings, coldness(None)).reason
        };
        let expected = "the server restores its buffer pool when it starts (innodb_buffer_pool_load_at_startup = ON)";
        assert_eq!(with("ON").as_deref(), Some(expected));
        assert_eq!(with("OFF"), None);
        assert_eq!(with_own_pool(&BTreeMap::new(), coldness(None)).reason, None);
    }

    #[test]
    fn a_query_that_fails_in_every_round_is_flagged_once_and_the_others_keep_their_figures() {
        let mut trial = trial_with_answers("5.6", &["a", "a"]);
        for index in 0..2 {
            let passed = flagged(FlagKind::QueryFailed, "Q1.1: > 60 s");
            enter(&mut trial, index, passed);
        }
        assert_eq!((trial.flags.len(), trial.state), (1, TrialState::Done));
        has_figures(&mut trial);
        assert_eq!(trial.state, TrialState::Done);
        for round in &mut trial.rounds {
            round.queries[0].error = Some(record::QueryError::Failed {
                code: Some(1054),
                message: "no".into(),
            });
        }
        has_figures(&mut trial);
        assert_eq!((trial.flags.len(), trial.state), (1, TrialState::Invalid));
    }

    #[test]
    fn own_queries_that_find_no_row_in_any_round_are_named() {
        let flags = |place: Option<&str>, sql: &str, rows: [u64; 2]| {
            let mut trial = trial_with_answers("5.6", &["a", "a"]);
            for (round, rows) in trial.rounds.iter_mut().zip(rows) {
                round.queries[0].rows = rows;
            }
            let operation = Operation {
                place: place.map(String::from),
                ..Operation::new("Q1.1", sql)
            };
            name_empty(&[operation], &mut trial);
            let kinds = trial.flags.into_iter().map(|flag| flag.kind);
            kinds.collect::<Vec<_>>()
        };
        let (own, sql) = (Some("q.sql:1"), "select a from t");
        assert_eq!(flags(own, sql, [0, 0]), [FlagKind::NoEffect]);
        for (place, sql, rows) in [
            (own, sql, [0, 1]),
            (own, "select a from t into @a", [0, 0]),
            (None, sql, [0, 0]),
        ] {
            assert!(flags(place, sql, rows).is_empty(), "{sql} {rows:?}");
        }
    }

    #[test]
    fn a_timed_out_query_and_an_ignored_hint_leave_the_trial_valid() {
        for (kind, state) in [
            (FlagKind::QueryTimedOut, TrialState::Done),
            (FlagKind::HintIgnored, TrialState::Done),
            (FlagKind::WrongAnswer, TrialState::Invalid),
        ] {
            let mut trial = trial_with_answers("5.6", &["a"]);
            enter(&mut trial, 0, flagged(kind.clone(), "Q1.1"));
            assert_eq!((trial.flags.len(), trial.state), (1, state), "{kind}");
        }
    }
}
