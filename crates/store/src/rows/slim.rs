//! Slim records: everything but the series and histograms of timed loads.
//!
//! Purpose: a result of hours in a file that can be kept, with the summaries and verdicts that were made of the whole record. Boundaries:
//! compressing it is the caller's; what it cannot show is said by crate `report`.

use super::counters::Lists;
use super::value::json;
use super::{column, load};
use crate::{Store, StoreError, open};
use record::Slim;
use rusqlite::{Connection, Result, params};
use std::path::Path;

impl Store {
    /// Writes the whole record as one plain file, also while it is being written.
    ///
    /// # Errors
    /// A file at `to`, and what SQLite refuses.
    pub fn copy(&self, to: &Path) -> std::result::Result<(), StoreError> {
        if to.exists() {
            return Err(StoreError::Exists(to.to_path_buf()));
        }
        let name = to.to_string_lossy();
        let copied = self.at.execute("vacuum into ?1", [name.as_ref()]);
        copied.map(drop).map_err(|e| StoreError::at(to, e))
    }
}

/// Makes the record at `path` slim, for good. False if it has no series and histograms: then it stays as it is.
///
/// # Errors
/// A record that is slim already, and what SQLite refuses.
pub fn slim(path: &Path, slim: &Slim) -> std::result::Result<bool, StoreError> {
    let mut at = open::writing(path)?;
    let mut work = || {
        let transaction = at.transaction()?;
        if !has_seconds(&transaction)? {
            return Ok(false);
        }
        keep_summaries(&transaction)?;
        transaction.execute_batch("delete from series; delete from histogram; delete from live")?;
        save(&transaction, slim)?;
        transaction.commit()?;
        Ok(true)
    };
    let is_slim = work().and_then(|is_slim| {
        at.execute_batch("vacuum")?;
        at.pragma_update(None, "journal_mode", "delete")?;
        Ok(is_slim)
    });
    is_slim.map_err(|e| StoreError::at(path, e))
}

fn has_seconds(at: &Connection) -> Result<bool> {
    let any = "select exists (select 1 from series) or exists (select 1 from histogram)";
    at.query_row(any, [], |row| row.get(0))
}

/// Writes the summary of every load by the rules of this prony, while the seconds are still there.
fn keep_summaries(at: &Connection) -> Result<()> {
    let lists = Lists::read(at)?;
    let loads = column::list(at, "select trial from load", [], |row| row.get(0))?;
    for trial in loads {
        let summary = load::brief(at, trial, &lists)?.and_then(|load| load.summary);
        let kept = params![trial, stats::RULES, summary.as_ref().map(json)];
        at.execute(
            "update load set rules = ?2, summary_json = ?3 where trial = ?1",
            kept,
        )?;
    }
    Ok(())
}

fn save(at: &Connection, slim: &Slim) -> Result<()> {
    at.execute_batch(include_str!("slim.sql"))?;
    let verdicts = json(&slim.verdicts);
    at.execute(
        "insert into slim values (?1, ?2, ?3)",
        params![slim.prony_version, slim.rules, verdicts],
    )?;
    at.pragma_update(None, "application_id", open::SLIM_ID)
}

/// None for a whole record.
pub(crate) fn read(at: &Connection) -> Result<Option<Slim>> {
    if !open::is_slim(at)? {
        return Ok(None);
    }
    let slim = at.query_row(
        "select prony_version, rules, verdicts_json from slim",
        [],
        |row| {
            Ok(Slim {
                prony_version: row.get(0)?,
                rules: row.get(1)?,
                verdicts: column::json(row, 2)?,
            })
        },
    );
    slim.map(Some)
}
