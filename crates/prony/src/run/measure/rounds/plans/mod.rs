//! Reads the plans of queries and checks them against the experiment.
//!
//! Purpose: run EXPLAIN outside of timed spans, and only after the queries whose pages it would read. Outside this module: the EXPLAIN
//! statements of each server (`observe::plans`), comparing plans (`explain`).

use super::pass::{Known, Pass, Passed, set_up};
use crate::run::place::live::Live;
use host::interrupt;
use observe::Explainer;
use record::{Flag, FlagKind, FormKind, PlanForm, Query, Trial};
use server::{ServerError, Session};
use spec::{Expected, PlanCheck, Plans};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use workload::{Dialect, Operation};

/// The known plans of the trial so far.
pub(crate) fn known(trial: &Trial) -> Known {
    let forms = trial.plan_forms.iter();
    forms
        .map(|form| (form.query.clone(), form.plan.clone()))
        .collect()
}

/// Reads the plans after the queries of a pass: EXPLAIN reads index pages, which a cold query should read itself. Uses the session of
/// the queries, since its settings decide the plan.
pub(crate) fn look(pass: &Pass, live: &mut Live, passed: &mut Passed) -> Result<(), ServerError> {
    if pass.observe.plans == Plans::Off {
        return Ok(());
    }
    let explainer = Explainer::of(&mut live.session)?;
    let dialect = Dialect::of(&live.session);
    let timeout = pass.protocol.query_timeout;
    for operation in pass.operations {
        let (name, sql) = (&operation.name, operation.sql(dialect));
        let planned = watched(timeout, live, |session| {
            set_up(session, operation)?;
            explainer.plan(session, sql)
        });
        let plan = match planned? {
            Ok(plan) => plan,
            Err(why) => {
                passed.flags.push(Flag {
                    kind: FlagKind::NoPlan,
                    text: format!("{name}: {why}"),
                });
                continue;
            }
        };
        if !pass.known.contains(&(name.clone(), plan.hash.clone())) {
            let json = watched(timeout, live, |session| explainer.json(session, sql))?;
            // A server without EXPLAIN FORMAT=JSON has no further form.
            passed
                .forms
                .extend(json.ok().flatten().map(|text| PlanForm {
                    query: name.clone(),
                    plan: plan.hash.clone(),
                    kind: FormKind::Json,
                    text,
                }));
        }
        // The sessions of all clients have the same settings.
        let queries = passed.queries.iter_mut();
        queries
            .filter(|query| query.name == operation.name)
            .for_each(|query| query.plan_hash = Some(plan.hash.clone()));
        passed.plans.entry(plan.hash).or_insert(plan.text);
    }
    Ok(())
}

/// Runs a statement with a timeout, since EXPLAIN may execute subqueries (MySQL 5.5 does). The inner error is the reason if there is no
/// answer.
pub(crate) fn watched<T>(
    timeout: Option<Duration>,
    live: &mut Live,
    ask: impl FnOnce(&mut Session) -> Result<T, ServerError>,
) -> Result<Result<T, String>, ServerError> {
    let (answer, timed_out) = live.watch.ask(&mut live.session, timeout, ask);
    match answer {
        _ if timed_out => {
            let limit_s = timeout.unwrap_or_default().as_secs_f64();
            Ok(Err(format!("> {limit_s} s")))
        }
        Ok(answer) => Ok(Ok(answer)),
        Err(ServerError::Refused { code, message }) => Ok(Err(format!("{code} {message}"))),
        Err(lost) => Err(lost),
    }
}

/// Flags each plan of a round that does not meet the experiment's checks. Such a trial measures something else, so it is invalid.
pub(crate) fn check(checks: &[PlanCheck], trial: &mut Trial, round: usize) {
    let queries = &trial.rounds[round].queries;
    let unmet: Vec<String> = queries
        .iter()
        .flat_map(|query| {
            let its = checks
                .iter()
                .filter(|check| check.query.as_ref().is_none_or(|name| *name == query.name));
            its.filter_map(|check| unmet(&check.expected, trial, query))
        })
        .collect();
    for text in unmet {
        trial.invalidate(FlagKind::PlanUnmet, text);
    }
}

fn unmet(expected: &Expected, trial: &Trial, query: &Query) -> Option<String> {
    let (text, wanted, says) = match expected {
        Expected::Holds(text) => (text, true, "does not contain"),
        Expected::Lacks(text) => (text, false, "contains"),
    };
    let name = &query.name;
    let held = query
        .plan_hash
        .as_ref()
        .and_then(|hash| explain::plan_holds(trial, name, hash, text));
    match held {
        None => Some(format!(
            "{name}: plan not available, cannot check for \"{text}\""
        )),
        Some(held) if held == wanted => None,
        Some(_) => Some(format!(
            "{name}: its plan {says} \"{text}\": {}",
            steps(trial, query)
        )),
    }
}

/// Server, levels, query.
type RowQuery = (Option<String>, Vec<(String, String)>, String);

/// The last plan of each query of each row of the matrix.
#[derive(Debug, Default)]
pub(crate) struct LastPlans(HashMap<RowQuery, Last>);

#[derive(Debug)]
struct Last {
    hash: String,
    steps: String,
    place: String,
}

impl LastPlans {
    /// Flags the first change of each query's plan within its row, and remembers the last plans: a mean over rounds or blocks is then one
    /// over two plans.
    pub(crate) fn compare(&mut self, trial: &mut Trial) {
        let mut changes: BTreeMap<String, String> = BTreeMap::new();
        for round in &trial.rounds {
            for query in &round.queries {
                let Some(hash) = &query.plan_hash else {
                    continue;
                };
                let now = Last {
                    hash: hash.clone(),
                    steps: steps(trial, query),
                    place: format!(
                        "block {}, {} {}",
                        trial.key.block + 1,
                        round.name,
                        round.index
                    ),
                };
                let row = (
                    trial.key.server.clone(),
                    trial.key.levels.clone(),
                    query.name.clone(),
                );
                let before = self.0.get(&row);
                if let Some(before) = before.filter(|before| before.hash != now.hash) {
                    changes.entry(query.name.clone()).or_insert_with(|| {
                        format!(
                            "{}: its plan changed from \"{}\" ({}) to \"{}\" ({}), so a mean over both is of no plan",
                            query.name, before.steps, before.place, now.steps, now.place
                        )
                    });
                }
                self.0.insert(row, now);
            }
        }
        trial.flag_each(FlagKind::PlanChanged, changes.into_values());
    }
}

/// The plan on one line. Without estimates, so that equal plans give equal flags.
fn steps(trial: &Trial, query: &Query) -> String {
    let hash = query.plan_hash.as_deref().unwrap_or_default();
    let text = trial
        .plans
        .get(hash)
        .map(String::as_str)
        .unwrap_or_default();
    let steps = explain::plan::steps(text).unwrap_or_default();
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    match steps.is_empty() {
        true => text.replace('\n', "; "),
        false => steps.join("; "),
    }
}

/// Runs EXPLAIN ANALYZE for every query, after all measurements of the trial. A failure is flagged and leaves the trial valid.
pub(crate) fn analyse(
    operations: &[Operation],
    timeout: Option<Duration>,
    live: &mut Live,
    trial: &mut Trial,
) {
    let dialect = Dialect::of(&live.session);
    let note = |trial: &mut Trial, text| trial.flag(FlagKind::NotAnalyzed, text);
    let explainer = match Explainer::of(&mut live.session) {
        Ok(explainer) => explainer,
        Err(error) => return note(trial, error.to_string()),
    };
    for operation in operations {
        let Some(plan) = last_plan(trial, &operation.name) else {
            continue;
        };
        let sql = operation.sql(dialect);
        let analysed = watched(timeout, live, |session| {
            set_up(session, operation)?;
            explainer.analysis(session, sql)
        });
        if interrupt::asked() {
            return;
        }
        match analysed {
            Ok(Ok(text)) => trial.plan_forms.push(PlanForm {
                query: operation.name.clone(),
                plan,
                kind: FormKind::Analyze,
                text,
            }),
            Ok(Err(why)) => note(trial, format!("{}: {why}", operation.name)),
            // The server cannot analyse any query, or it is gone.
            Err(error) => return note(trial, error.to_string()),
        }
    }
}

/// The hash of the query's most recent plan.
fn last_plan(trial: &Trial, query: &str) -> Option<String> {
    let queries = trial.rounds.iter().flat_map(|round| &round.queries);
    let mut issued = queries.filter(|issued| issued.name == query);
    issued.next_back()?.plan_hash.clone()
}

#[cfg(test)]
mod tests;
