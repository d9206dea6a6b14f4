//! From the data model into rows. The caller holds the transaction.

use super::value::{json, nodes, word};
use super::{audit, column, counters, load, plans};
use crate::PlanSteps;
use record::{Query, Question, Round, Run, Trial, TrialKey, TrialState};
use rusqlite::{Connection, OptionalExtension, Result, params};

/// The levels as an object, so that SQL reads `levels_json ->> 'variant'`.
fn levels_json(key: &TrialKey) -> String {
    let levels = key
        .levels
        .iter()
        .map(|(factor, level)| (factor.clone(), level.clone().into()));
    json(&levels.collect::<serde_json::Map<_, _>>())
}

pub(crate) fn run(at: &Connection, run: &Run) -> Result<()> {
    at.execute(
        "insert into run (id, experiment_toml, overrides_json, question_json, seed, shard, started_ns, environment_json, sharing_json)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            run.id,
            run.experiment_toml,
            json(&run.overrides),
            json(&run.question),
            run.seed.to_string(),
            run.part,
            run.started_ns,
            json(&run.environment),
            run.sharing.as_ref().map(json),
        ],
    )?;
    Ok(())
}

pub(crate) fn question(at: &Connection, question: &Question) -> Result<()> {
    at.execute("update run set question_json = ?1", [json(question)])?;
    Ok(())
}

/// The row of the trial with this key and its state.
pub(crate) fn recorded(at: &Connection, key: &TrialKey) -> Result<Option<(i64, TrialState)>> {
    at.query_row(
        "select id, state from trial where block = ?1 and server is ?2 and levels_json = ?3 and role = ?4",
        params![key.block, key.server, levels_json(key), word(key.role)],
        |row| Ok((row.get(0)?, column::word(row, 1)?)),
    )
    .optional()
}

/// Deletes a trial and all rows that refer to it.
pub(crate) fn remove(at: &Connection, trial: i64) -> Result<()> {
    at.execute("delete from trial where id = ?1", [trial])?;
    Ok(())
}

pub(crate) fn trial(at: &Connection, trial: &Trial, steps: PlanSteps) -> Result<()> {
    let mut statement = at.prepare_cached(
        "insert into trial (run, block, server, levels_json, state, flags_json, started_ns, ended_ns, start_s_json, data_bytes, plans_json, dataset_json, role)
         values ((select id from run), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    let id = statement.insert(params![
        trial.key.block,
        trial.key.server,
        levels_json(&trial.key),
        word(trial.state),
        json(&trial.flags),
        trial.started_ns,
        trial.ended_ns,
        json(&trial.start_s),
        trial.data_bytes as i64,
        json(&trial.plans.keys().collect::<Vec<_>>()),
        trial.dataset.as_ref().map(json),
        word(trial.key.role),
    ])?;
    for (n, each) in trial.rounds.iter().enumerate() {
        round(at, id, n, each)?;
    }
    if let Some(load) = &trial.load {
        load::save(at, id, load)?;
    }
    if let Some(note) = &trial.audit {
        audit::save(at, id, note)?;
    }
    plans::save(at, id, trial, steps)?;
    events(at, id, trial)?;
    limits(at, id, trial)?;
    settings(at, id, trial)
}

fn round(at: &Connection, trial: i64, n: usize, round: &Round) -> Result<()> {
    let (names, moved) = counters::pack(at, &round.counters)?.unzip();
    let mut statement = at.prepare_cached(
        "insert into round (trial, n, name, idx, started_ns, ended_ns, elapsed_s, proof_json, names, moved_json)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let id = statement.insert(params![
        trial,
        n as i64,
        round.name,
        round.index,
        round.started_ns,
        round.ended_ns,
        round.elapsed_s,
        round.coldness.as_ref().map(json),
        names,
        moved,
    ])?;
    for (n, each) in round.queries.iter().enumerate() {
        query(at, id, n as i64, each)?;
    }
    Ok(())
}

fn query(at: &Connection, round: i64, n: i64, query: &Query) -> Result<()> {
    at.prepare_cached("insert into query values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?
        .execute(params![
            round,
            n,
            query.name,
            query.elapsed_ns as i64,
            query.rows as i64,
            word(query.answer),
            query.answer_hash,
            query.plan_hash,
            (!query.profile.is_empty()).then(|| json(&query.profile)),
            query.error.as_ref().map(ToString::to_string),
            query.client,
        ])?;
    if let Some((names, moved)) = counters::pack(at, &query.counters)? {
        at.prepare_cached("insert into query_counter values (?1, ?2, ?3, ?4)")?
            .execute(params![round, n, names, moved])?;
    }
    Ok(())
}

fn events(at: &Connection, id: i64, trial: &Trial) -> Result<()> {
    let mut statement =
        at.prepare_cached("insert into event values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for (n, event) in trial.events.iter().enumerate() {
        statement.execute(params![
            id,
            n as i64,
            event.at_ns,
            event.kind,
            event.text,
            event.ended_ns,
            event.node,
            (!event.numbers.is_empty()).then(|| json(&event.numbers)),
        ])?;
    }
    Ok(())
}

fn limits(at: &Connection, id: i64, trial: &Trial) -> Result<()> {
    let mut statement = at.prepare_cached("insert into trial_limit values (?1, ?2, ?3, ?4, ?5)")?;
    for (n, limit) in trial.limits.iter().enumerate() {
        let (name, asked, measured) = (&limit.name, limit.asked, limit.measured);
        statement.execute(params![id, n as i64, name, asked, measured])?;
    }
    Ok(())
}

fn settings(at: &Connection, id: i64, trial: &Trial) -> Result<()> {
    let mut statement = at.prepare_cached("insert into setting values (?1, ?2, ?3, ?4)")?;
    for (node, settings) in nodes(&trial.settings, &trial.node_settings) {
        for (name, value) in settings {
            statement.execute(params![id, node, name, value])?;
        }
    }
    Ok(())
}
