//! One pass over the queries: each timed, checked, and with what it moved.
//!
//! Goal: nothing but the statement itself inside the timed span. Non-goals: restarts and coldness (`trial`), several clients at once
//! (`clients`).

use super::hints;
use super::plans::{self, Known};
use super::watch::Watch;
use host::interrupt;
use observe::{Observer, Reading, ServerProcess, counters, process, profile};
use record::{Answer, Counters, Flag, FlagKind, PlanForm, Query, QueryError};
use server::{Reply, ServerError, Session};
use spec::{Observe, Protocol};
use std::collections::BTreeMap;
use workload::answers::Canonical;
use workload::{Dialect, Operation, Queries};

/// Key 'x' doesn't exist in table 't', in every language that a server speaks.
const NO_SUCH_KEY: u16 = 1176;

/// The connections of a server that is being measured.
pub struct Live {
    /// The connection that the queries run on: the first client's.
    pub session: Session,
    pub watch: Watch,
    /// The other clients, where a round has several.
    pub others: Vec<Client>,
    /// None where the server has no counters.
    pub observer: Option<Observer>,
    /// None where the server is no process of prony's.
    pub process: Option<ServerProcess>,
}

/// A further connection that queries run on.
pub struct Client {
    pub session: Session,
    pub watch: Watch,
}

/// What a pass is about.
pub struct Pass<'a> {
    pub queries: &'a dyn Queries,
    pub operations: &'a [Operation],
    pub protocol: &'a Protocol,
    pub observe: &'a Observe,
    /// Plans whose finer form is not asked for again.
    pub known: Known,
}

#[derive(Default)]
pub struct Passed {
    pub queries: Vec<Query>,
    /// See `record::Round`.
    pub elapsed_s: f64,
    pub counters: Counters,
    pub plans: BTreeMap<String, String>,
    pub forms: Vec<PlanForm>,
    pub flags: Vec<Flag>,
}

/// Who asks, and of how many.
pub struct Asking<'l> {
    pub session: &'l mut Session,
    pub watch: &'l Watch,
    /// From 1.
    pub client: u32,
    pub clients: u32,
}

/// A query that came back; nobody has looked at its answer yet.
pub struct Asked {
    query: Query,
    called: String,
    /// None where it failed.
    answer: Option<Reply>,
}

impl Asking<'_> {
    /// `Q1.1`, or `Q1.1 of client 3` where there are several.
    fn called(&self, operation: &Operation) -> String {
        match self.clients {
            1 => operation.name.clone(),
            _ => format!("{} of client {}", operation.name, self.client),
        }
    }
}

impl Pass<'_> {
    /// Every client runs every query once. An error means that the server or a connection is gone.
    pub fn run(&self, live: &mut Live) -> Result<Passed, ServerError> {
        match live.others.is_empty() {
            true => self.by_one(live),
            false => self.by_several(live),
        }
    }

    /// What the server says of the queries, once they are all answered: their plans, and hints that it left out.
    pub fn look(&self, live: &mut Live, passed: &mut Passed) -> Result<(), ServerError> {
        plans::look(self, live, passed)?;
        hints::look(self, live, passed)
    }

    /// In order, each query with its own counters.
    fn by_one(&self, live: &mut Live) -> Result<Passed, ServerError> {
        let mut passed = Passed::default();
        let mut before = read(&mut live.observer)?;
        for operation in self.operations {
            // Nearest to the statement: reading the status costs the server more than the statement may.
            let used_before = process::read(&live.process);
            let asked = self.ask(first(live), operation)?;
            let used = process::since(&used_before, &process::read(&live.process));
            if interrupt::asked() {
                return Err(ServerError::Lost("interrupted".into()));
            }
            let after = read(&mut live.observer)?;
            let (mut query, flag) = self.judge(operation, asked);
            query.counters = difference(&live.observer, &before, &after);
            query.counters.extend(used);
            before = after;
            passed.flags.extend(flag);
            passed.queries.push(query);
        }
        let seconds = passed.queries.iter().map(|one| one.elapsed_ns as f64 / 1e9);
        passed.elapsed_s = seconds.sum();
        passed.counters = counters::sum(passed.queries.iter().map(|one| &one.counters));
        Ok(passed)
    }

    /// One query of one client, timed.
    pub(super) fn ask(&self, asking: Asking, operation: &Operation) -> Result<Asked, ServerError> {
        let called = asking.called(operation);
        let Asking { session, watch, .. } = asking;
        let profiled = asking.clients == 1
            && self.observe.profile.contains(&operation.name)
            && profile::begin(session);
        let timeout = self.protocol.query_timeout;
        let sql = operation.sql(Dialect::of(session));
        let (reply, timed_out) = watch.ask(session, timeout, |session| session.query(sql));
        let mut query = blank(&operation.name, asking.client);
        let mut answer = None;
        match reply {
            // Some statements end early and say nothing when they are stopped; their time means nothing all the same.
            _ if timed_out => {
                let limit_s = timeout.unwrap_or_default().as_secs_f64();
                query.elapsed_ns = (limit_s * 1e9) as u64;
                query.error = Some(QueryError::TimedOut { limit_s });
            }
            Ok(reply) => {
                query.elapsed_ns = reply.elapsed.as_nanos() as u64;
                query.rows = reply.rows.len() as u64;
                answer = Some(reply);
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
        Ok(Asked {
            query,
            called,
            answer,
        })
    }

    /// What is wrong with a query, and whether its answer is right.
    pub(super) fn judge(&self, operation: &Operation, asked: Asked) -> (Query, Option<Flag>) {
        let Asked {
            mut query,
            called,
            answer,
        } = asked;
        let wrong = match (&query.error, answer) {
            (Some(error), _) => Some(failure(error)),
            (None, reply) => self
                .difference(operation, &reply.unwrap_or_default(), &mut query)
                .map(|text| (FlagKind::WrongAnswer, text)),
        };
        let flag = wrong.map(|(kind, text)| Flag {
            kind,
            text: format!("{called}: {text}"),
        });
        (query, flag)
    }

    /// What differs from the reference, where there is one.
    fn difference(
        &self,
        operation: &Operation,
        reply: &Reply,
        query: &mut Query,
    ) -> Option<String> {
        let answer = Canonical::of(operation, reply);
        query.answer_hash = answer.hash();
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

fn first(live: &mut Live) -> Asking<'_> {
    Asking {
        session: &mut live.session,
        watch: &live.watch,
        client: 1,
        clients: 1,
    }
}

/// The flag of a query without an answer, with the way out where prony knows it.
fn failure(error: &QueryError) -> (FlagKind, String) {
    let mut text = error.to_string();
    let code = match error {
        // Its time is a bound, and nothing else is spoilt.
        QueryError::TimedOut { .. } => return (FlagKind::QueryTimedOut, text),
        QueryError::Failed { code, .. } => *code,
    };
    if code == Some(NO_SUCH_KEY) {
        text.push_str("; the query forces an index that its table lacks: let the workload make it (extra_index, secondary_index, setup), or leave the force out (force_index = false)");
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

pub(super) fn read(observer: &mut Option<Observer>) -> Result<Reading, ServerError> {
    observer.as_mut().map_or(Ok(Reading::new()), Observer::read)
}

pub(super) fn difference(
    observer: &Option<Observer>,
    before: &Reading,
    after: &Reading,
) -> Counters {
    observer
        .as_ref()
        .map(|observer| observer.difference(before, after))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
