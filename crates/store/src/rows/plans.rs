//! Plans in the file: each text once for all trials with its steps, the finer forms with their trial.

use super::{column, value};
use crate::PlanSteps;
use record::{PlanForm, Trial};
use rusqlite::{Connection, Result, params};
use std::collections::HashMap;

/// A plan is identified by its hash; another trial may have saved it already.
pub(super) fn save(at: &Connection, id: i64, trial: &Trial, steps: PlanSteps) -> Result<()> {
    let mut statement = at.prepare_cached(
        "insert or ignore into plan (hash, text, steps_json) values (?1, ?2, ?3)",
    )?;
    for (hash, text) in &trial.plans {
        statement.execute(params![hash, text, steps(text)])?;
    }
    let mut statement =
        at.prepare_cached("insert into plan_form values (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for (n, form) in trial.plan_forms.iter().enumerate() {
        let kind = value::word(form.kind);
        statement.execute(params![
            id, n as i64, form.query, form.plan, kind, form.text
        ])?;
    }
    Ok(())
}

/// The texts of all plans by hash; their steps are read from them again, since some older rows have no others.
pub(super) fn texts(at: &Connection) -> Result<HashMap<String, String>> {
    let mut statement = at.prepare("select hash, text from plan")?;
    let plans = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    plans.collect()
}

pub(super) fn forms(at: &Connection, trial: i64) -> Result<Vec<PlanForm>> {
    let sql = "select query, plan, kind, text from plan_form where trial = ?1 order by n";
    column::list(at, sql, [trial], |row| {
        Ok(PlanForm {
            query: row.get(0)?,
            plan: row.get(1)?,
            kind: column::word(row, 2)?,
            text: row.get(3)?,
        })
    })
}
