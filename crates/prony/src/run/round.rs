//! One pass over the queries: each timed, checked, and with what it moved.
//!
//! Goal: nothing but the statement itself inside the timed span. Non-goals: restarts and coldness (`trial`).

use super::hints;
use super::watch::Watch;
use crate::host::interrupt;
use crate::observe::{Observer, Reading, explain, profile};
use crate::server::{Reply, ServerError, Session};
use crate::spec::{Observe, Protocol};
use crate::workload::answers::Canonical;
use crate::workload::{Dataset, Dialect, Operation};
use record::{Answer, Counters, Flag, Query};
use std::collections::BTreeMap;

/// The flag of a query that ran into the protocol's limit: its time is a bound, and nothing else is spoilt.
pub const TIMED_OUT: &str = "query_timed_out";
/// Key 'x' doesn't exist in table 't', in every language that a server speaks.
const NO_SUCH_KEY: &str = "1176 ";

/// The connections of a server that is being measured.
pub struct Live {
    /// The connection that the queries run on.
    pub session: Session,
    /// None where the server has no counters.
    pub observer: Option<Observer>,
    pub watch: Watch,
}

/// What a pass is about.
pub struct Pass<'a> {
    pub dataset: &'a dyn Dataset,
    pub operations: &'a [Operation],
    pub protocol: &'a Protocol,
    pub observe: &'a Observe,
}

#[derive(Default)]
pub struct Passed {
    pub queries: Vec<Query>,
    pub plans: BTreeMap<String, String>,
    pub flags: Vec<Flag>,
}

impl Pass<'_> {
    /// Runs every query once, in order. An error means that the server or the connection is gone.
    pub fn run(&self, live: &mut Live) -> Result<Passed, ServerError> {
        let mut passed = Passed::default();
        let mut before = read(&mut live.observer)?;
        for operation in self.operations {
            let (mut query, flags) = self.query(live, operation)?;
            if interrupt::asked() {
                return Err(ServerError::Lost("interrupted".into()));
            }
            let after = read(&mut live.observer)?;
            query.counters = difference(&live.observer, &before, &after);
            before = after;
            passed.flags.extend(flags);
            passed.queries.push(query);
        }
        self.explain(live, &mut passed);
        let dialect = Dialect::of(&live.session);
        for operation in self.operations {
            let sql = operation.sql(dialect);
            let unheeded = hints::unheeded(&mut live.session, &operation.name, sql);
            passed.flags.extend(unheeded);
        }
        Ok(passed)
    }

    fn query(
        &self,
        live: &mut Live,
        operation: &Operation,
    ) -> Result<(Query, Vec<Flag>), ServerError> {
        let profiled =
            self.observe.profile.contains(&operation.name) && profile::begin(&mut live.session);
        let timeout = self.protocol.query_timeout;
        let sql = operation.sql(Dialect::of(&live.session));
        let session = &mut live.session;
        let (reply, timed_out) = live.watch.over(timeout, || session.query(sql));
        let mut query = blank(&operation.name);
        let mut flags = Vec::new();
        match reply {
            // Some statements end early and say nothing when they are stopped; their time means nothing all the same.
            _ if timed_out => {
                let limit_s = timeout.unwrap_or_default().as_secs_f64();
                query.elapsed_ns = (limit_s * 1e9) as u64;
                query.error = Some(format!("> {limit_s} s"));
            }
            Ok(reply) => flags.extend(self.answer(operation, &reply, &mut query)),
            Err(ServerError::Refused { code, message }) => {
                query.error = Some(format!("{code} {message}"))
            }
            Err(lost) => return Err(lost),
        }
        if let Some(error) = &query.error {
            let (kind, text) = match timed_out {
                true => (TIMED_OUT, format!("{}: {error}", operation.name)),
                false => ("query_failed", failure(&operation.name, error)),
            };
            flags.push(Flag {
                kind: kind.into(),
                text,
            });
        }
        if profiled {
            query.profile = profile::end(&mut live.session);
        }
        Ok((query, flags))
    }

    fn answer(&self, operation: &Operation, reply: &Reply, query: &mut Query) -> Option<Flag> {
        query.elapsed_ns = reply.elapsed.as_nanos() as u64;
        query.rows = reply.rows.len() as u64;
        let answer = Canonical::of(operation, reply);
        query.answer_hash = answer.hash();
        let reference = self.dataset.reference(&operation.name)?;
        let differs = answer.difference(&reference);
        query.answer = if differs.is_some() {
            Answer::Wrong
        } else {
            Answer::Ok
        };
        differs.map(|text| Flag {
            kind: "wrong_answer".into(),
            text: format!("{}: {text}", operation.name),
        })
    }

    /// After the queries, since EXPLAIN reads index pages that a cold query should have read itself.
    fn explain(&self, live: &mut Live, passed: &mut Passed) {
        if !self.observe.plans {
            return;
        }
        let dialect = Dialect::of(&live.session);
        for (operation, query) in self.operations.iter().zip(&mut passed.queries) {
            if let Ok(plan) = explain(&mut live.session, operation.sql(dialect)) {
                query.plan_hash = Some(plan.hash.clone());
                passed.plans.entry(plan.hash).or_insert(plan.text);
            }
        }
    }
}

/// With the way out, where prony knows it.
fn failure(name: &str, error: &str) -> String {
    let mut text = format!("{name}: {error}");
    if error.starts_with(NO_SUCH_KEY) {
        text.push_str("; the query forces an index that its table lacks: let the workload make it (extra_index, secondary_index, setup), or leave the force out (force_index = false)");
    }
    text
}

fn blank(name: &str) -> Query {
    Query {
        name: name.into(),
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

fn read(observer: &mut Option<Observer>) -> Result<Reading, ServerError> {
    observer.as_mut().map_or(Ok(Reading::new()), Observer::read)
}

fn difference(observer: &Option<Observer>, before: &Reading, after: &Reading) -> Counters {
    observer
        .as_ref()
        .map(|observer| observer.difference(before, after))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
