//! One pass over the queries: times each, checks its answer and reads its counters.
//!
//! Purpose: the timed span contains only the statement. Outside this module: restarts and cold rounds (`rounds`), several clients
//! (`clients`).

use crate::run::audit::answers::Samples;
use crate::run::place::live::Live;
use crate::run::watch::{STOPS_WITHIN, Watch};
use host::interrupt;
use observe::{Observer, Reading, counters, process, profile};
use record::{Answer, Counters, Flag, FlagKind, PlanForm, Query, QueryError};
use server::{ServerError, Session};
use spec::{Observe, Protocol};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use workload::answers::Answer as Rows;
use workload::{Dialect, Operation, Queries};

/// The error code of: Key 'x' doesn't exist in table 't'. The message depends on the server's language.
const NO_SUCH_KEY: u16 = 1176;
/// The error code of: Unknown database 'x'.
const NO_SUCH_SCHEMA: u16 = 1049;

/// (query, plan) whose JSON form the trial already has.
pub(crate) type Known = BTreeSet<(String, String)>;

/// Waits for the next turn of the server.
pub(crate) type Turn<'a> = &'a (dyn Fn() -> Result<(), ServerError> + Sync);

/// The input of a pass.
pub(crate) struct Pass<'a> {
    pub queries: &'a dyn Queries,
    pub operations: &'a [Operation],
    pub protocol: &'a Protocol,
    pub observe: &'a Observe,
    /// Plans whose JSON form is already known.
    pub known: Known,
    pub samples: &'a Samples,
    /// Called before each query; None: the server takes no turns, or not within a pass.
    pub turn: Option<Turn<'a>>,
}

#[derive(Default)]
pub(crate) struct Passed {
    pub queries: Vec<Query>,
    /// See `record::Round`.
    pub elapsed_s: f64,
    pub counters: Counters,
    pub plans: BTreeMap<String, String>,
    pub forms: Vec<PlanForm>,
    pub flags: Vec<Flag>,
}

/// The client that issues a query.
pub(crate) struct Issuer<'l> {
    pub session: &'l mut Session,
    pub watch: &'l Watch,
    /// From 1.
    pub client: u32,
    pub clients: u32,
}

/// A query that ended, with an answer that is not checked yet.
pub(crate) struct Issued<'o> {
    query: Query,
    label: String,
    /// None where it failed.
    answer: Option<Rows<'o>>,
    /// How long prony itself did not run meanwhile.
    stood: Duration,
}

impl Issuer<'_> {
    /// `Q1.1`, or `Q1.1 of client 3` if there are several clients; with its place in the user's file.
    fn label(&self, operation: &Operation) -> String {
        let place = operation.place.as_ref();
        let place = place.map_or(String::new(), |place| format!(" ({place})"));
        match self.clients {
            1 => format!("{}{place}", operation.name),
            _ => format!("{}{place} of client {}", operation.name, self.client),
        }
    }
}

impl Pass<'_> {
    /// Every client runs every query once. An error means that the server or a connection is gone.
    pub(crate) fn run(&self, live: &mut Live) -> Result<Passed, ServerError> {
        match live.others.is_empty() {
            true => self.run_single(live),
            false => self.run_concurrent(live),
        }
    }

    /// In order, each query with its own counters.
    fn run_single(&self, live: &mut Live) -> Result<Passed, ServerError> {
        let mut passed = Passed::default();
        let mut before = read(&mut live.observer)?;
        for operation in self.operations {
            if let Some(turn) = self.turn {
                turn()?;
                // Without what the server did meanwhile.
                before = read(&mut live.observer)?;
            }
            // Closest to the statement, since reading the status can cost the server more than the statement.
            let used_before = process::read(&live.process);
            let issued = self.issue(first(live), operation)?;
            let used = process::since(&used_before, &process::read(&live.process));
            if interrupt::asked() {
                return Err(ServerError::Lost("interrupted".into()));
            }
            let after = read(&mut live.observer)?;
            let (mut query, flags) = self.judge(operation, issued);
            query.counters = difference(&live.observer, &before, &after);
            query.counters.extend(used);
            passed.flags.extend(flags);
            passed.flags.extend(counters::flushed(&before, &after));
            before = after;
            passed.queries.push(query);
        }
        let seconds = passed.queries.iter().map(|one| one.elapsed_ns as f64 / 1e9);
        passed.elapsed_s = seconds.sum();
        passed.counters = counters::sum(passed.queries.iter().map(|one| &one.counters));
        Ok(passed)
    }

    /// One query of one client, timed.
    pub(crate) fn issue<'o>(
        &self,
        issuer: Issuer,
        operation: &'o Operation,
    ) -> Result<Issued<'o>, ServerError> {
        let label = issuer.label(operation);
        let Issuer { session, watch, .. } = issuer;
        let profiled = issuer.clients == 1
            && self.observe.profile.contains(&operation.name)
            && profile::begin(session);
        let timeout = self.protocol.query_timeout;
        let sql = operation.sql(Dialect::of(session));
        let mut answer = Rows::new(operation);
        let (elapsed, timed_out) = watch.ask(session, timeout, |session| {
            set_up(session, operation)?;
            session.answer(sql, &mut answer)
        });
        if watch.is_cut() {
            return Err(hung(&label));
        }
        let mut query = blank(&operation.name, issuer.client);
        let mut answered = None;
        match elapsed {
            // A stopped statement may end without an error, but its time is meaningless.
            _ if timed_out => {
                let limit_s = timeout.unwrap_or_default().as_secs_f64();
                query.elapsed_ns = (limit_s * 1e9) as u64;
                query.error = Some(QueryError::TimedOut { limit_s });
            }
            Ok(elapsed) => {
                query.elapsed_ns = elapsed.as_nanos() as u64;
                query.rows = answer.rows;
                answered = Some(answer);
            }
            Err(ServerError::Refused { code, message }) => {
                query.error = Some(QueryError::Failed {
                    code: Some(code),
                    message,
                })
            }
            Err(lost) => return Err(lost),
        }
        if profiled {
            query.profile = profile::end(session);
        }
        Ok(Issued {
            query,
            label,
            answer: answered,
            stood: watch.stood(),
        })
    }

    /// Checks the answer of a query. Returns flags if the query failed, its answer is wrong, or its time is not the server's.
    pub(crate) fn judge(&self, operation: &Operation, issued: Issued) -> (Query, Vec<Flag>) {
        let Issued {
            mut query,
            label,
            answer,
            stood,
        } = issued;
        let wrong = match (&query.error, answer) {
            (Some(error), _) => Some(failure(error)),
            (None, answer) => answer
                .and_then(|answer| self.difference(operation, &answer, &mut query))
                .map(|text| (FlagKind::WrongAnswer, text)),
        };
        let stalled = own_stall(stood, Duration::from_nanos(query.elapsed_ns));
        let found = wrong.into_iter().chain(stalled);
        let flags = found.map(|(kind, text)| Flag {
            kind,
            text: format!("{label}: {text}"),
        });
        (query, flags.collect())
    }

    /// How the answer differs from the reference, if there is one.
    fn difference(
        &self,
        operation: &Operation,
        answer: &Rows,
        query: &mut Query,
    ) -> Option<String> {
        query.answer_hash = answer.hash();
        self.samples.keep(&query.answer_hash, answer);
        let reference = self.queries.reference(&operation.name)?;
        let differs = answer.difference(&reference);
        query.answer = if differs.is_some() {
            Answer::Wrong
        } else {
            Answer::Ok
        };
        differs
    }
}

/// A larger share of a query's time in which prony did not run is no figure of the server.
const OWN_SHARE: f64 = 0.1;

/// A flag where prony itself did not run for a part of a query that counts.
fn own_stall(stood: Duration, elapsed: Duration) -> Option<(FlagKind, String)> {
    let (stood_s, elapsed_s) = (stood.as_secs_f64(), elapsed.as_secs_f64());
    (stood_s > OWN_SHARE * elapsed_s).then(|| {
        let text = format!(
            "prony did not run for {stood_s:.2} s of {elapsed_s:.2} s (stopped, out of CPU time, or the machine was paused): run it again"
        );
        (FlagKind::GeneratorStalled, text)
    })
}

/// Runs what the user wrote before the query, such as a SET.
pub(crate) fn set_up(session: &mut Session, operation: &Operation) -> Result<(), ServerError> {
    for statement in &operation.before {
        session.execute(statement)?;
    }
    Ok(())
}

fn first(live: &mut Live) -> Issuer<'_> {
    Issuer {
        session: &mut live.session,
        watch: &live.watch,
        client: 1,
        clients: 1,
    }
}

/// The flag of a query that failed, with a fix if prony knows one.
fn failure(error: &QueryError) -> (FlagKind, String) {
    let mut text = error.to_string();
    let code = match error {
        // Its time is a lower bound, and the rest of the trial is valid.
        QueryError::TimedOut { .. } => return (FlagKind::QueryTimedOut, text),
        QueryError::Failed { code, .. } => *code,
    };
    if code == Some(NO_SUCH_KEY) {
        text.push_str("; the query forces an index that its table does not have: create it in the workload (extra_index, secondary_index, setup), or do not force it (force_index = false)");
    }
    if code == Some(NO_SUCH_SCHEMA) {
        text.push_str(
            "; name tables without a schema, or write USE with that schema above the queries",
        );
    }
    (FlagKind::QueryFailed, text)
}

fn blank(name: &str, client: u32) -> Query {
    Query {
        name: name.into(),
        client,
        elapsed_ns: 0,
        rows: 0,
        answer: Answer::Unchecked,
        answer_hash: String::new(),
        plan_hash: None,
        counters: Counters::new(),
        profile: Vec::new(),
        error: None,
    }
}

pub(crate) fn read(observer: &mut Option<Observer>) -> Result<Reading, ServerError> {
    observer.as_mut().map_or(Ok(Reading::new()), Observer::read)
}

pub(crate) fn difference(
    observer: &Option<Observer>,
    before: &Reading,
    after: &Reading,
) -> Counters {
    observer
        .as_ref()
        .map(|observer| observer.difference(before, after))
        .unwrap_or_default()
}

fn hung(label: &str) -> ServerError {
    ServerError::Lost(format!(
        "{label}: the server hangs: the query ran into its query_timeout and did not stop within {} s of KILL QUERY. Its connection was cut; the log of the trial shows where the server's threads wait",
        STOPS_WITHIN.as_secs()
    ))
}

#[cfg(test)]
mod tests;
