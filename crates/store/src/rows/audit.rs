//! Audits in the file: a row for each trial that has one.

use super::column;
use super::value::json;
use record::AuditNote;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

pub(super) fn save(at: &Connection, trial: i64, note: &AuditNote) -> Result<()> {
    let mut statement = at.prepare_cached(
        "insert into audit values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    statement.execute(params![
        trial,
        note.acknowledged as i64,
        note.refused as i64,
        note.unknown as i64,
        note.unknown_kept as i64,
        note.lost as i64,
        note.ghosts as i64,
        note.partly_applied as i64,
        note.seen_but_lost as i64,
        note.loss_window_s,
        json(&note.findings),
        json(&note.violations),
        json(&note.inputs),
        note.inputs_unchecked,
    ])?;
    Ok(())
}

pub(super) fn read(at: &Connection, trial: i64) -> Result<Option<AuditNote>> {
    let mut statement = at.prepare_cached(
        "select acknowledged, refused, unknown, unknown_kept, lost, ghosts, partly_applied, seen_but_lost, loss_window_s, findings_json, violations_json, inputs_json, inputs_unchecked
         from audit where trial = ?1",
    )?;
    statement.query_row([trial], note).optional()
}

fn note(row: &Row) -> Result<AuditNote> {
    let count = |column: usize| row.get::<_, i64>(column).map(|count| count as u64);
    Ok(AuditNote {
        acknowledged: count(0)?,
        refused: count(1)?,
        unknown: count(2)?,
        unknown_kept: count(3)?,
        lost: count(4)?,
        ghosts: count(5)?,
        partly_applied: count(6)?,
        seen_but_lost: count(7)?,
        loss_window_s: row.get(8)?,
        findings: column::json(row, 9)?,
        violations: column::json(row, 10)?,
        inputs: column::json(row, 11)?,
        inputs_unchecked: row.get(12)?,
    })
}
