//! Timed loads in the file: rows of `load`, `series`, `histogram` and `error`.

use super::counters::{self, Lists};
use super::read::{self, json_or_none};
use super::series;
use super::write::{json, word};
use crate::histogram::PackedHistogram;
use crate::load::{ErrorCount, HistogramNote, Loaded};
use crate::stats::{self, RULES};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Result, Row, params};
use std::collections::BTreeMap;

/// Until a trial has several nodes.
const NODE: i64 = 1;

pub(super) fn save(at: &Connection, trial: i64, load: &Loaded) -> Result<()> {
    let (names, moved) = counters::pack(at, &load.counters)?.unzip();
    at.prepare_cached(
        "insert into load values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        trial,
        json(&load.mode),
        json(&load.warmup),
        load.started_ns,
        load.elapsed_s,
        json(&load.operations),
        json(&load.engine),
        load.open.as_ref().map(json),
        names,
        moved,
        RULES,
        json(&stats::summarise(load)),
    ])?;
    save_series(at, trial, load)?;
    save_histograms(at, trial, load)?;
    save_errors(at, trial, load)
}

fn save_series(at: &Connection, trial: i64, load: &Loaded) -> Result<()> {
    let mut statement = at.prepare_cached("insert into series values (?1, ?2, ?3, ?4)")?;
    load.series.iter().try_for_each(|(name, values)| {
        statement
            .execute(params![trial, NODE, name, series::pack(values)])
            .map(drop)
    })
}

fn save_histograms(at: &Connection, trial: i64, load: &Loaded) -> Result<()> {
    let mut statement = at.prepare_cached(
        "insert into histogram (trial, operation, kind, every_s, start_s, v2) values (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    load.histograms.iter().try_for_each(|note| {
        statement
            .execute(params![
                trial,
                note.operation,
                word(note.kind),
                note.every_s,
                note.start_s,
                note.nanoseconds.v2(),
            ])
            .map(drop)
    })
}

fn save_errors(at: &Connection, trial: i64, load: &Loaded) -> Result<()> {
    let mut statement = at.prepare_cached("insert into error values (?1, ?2, ?3, ?4, ?5)")?;
    load.errors.iter().enumerate().try_for_each(|(n, error)| {
        let count = error.count as i64;
        statement
            .execute(params![trial, n as i64, error.second, error.code, count])
            .map(drop)
    })
}

/// Without its series, histograms and errors, but with their summary.
pub(super) fn brief(at: &Connection, trial: i64, lists: &Lists) -> Result<Option<Loaded>> {
    let Some((load, rules)) = row(at, trial, lists)? else {
        return Ok(None);
    };
    if rules == RULES && load.summary.is_some() {
        return Ok(Some(load));
    }
    let summary = fill(at, trial, load.clone())?.summary;
    Ok(Some(Loaded { summary, ..load }))
}

/// With everything; the summary is made anew, by the rules of this prony.
pub(super) fn whole(at: &Connection, trial: i64, lists: &Lists) -> Result<Option<Loaded>> {
    match row(at, trial, lists)? {
        Some((load, _)) => fill(at, trial, load).map(Some),
        None => Ok(None),
    }
}

fn fill(at: &Connection, trial: i64, load: Loaded) -> Result<Loaded> {
    let mut load = Loaded {
        series: all_series(at, trial)?,
        histograms: histograms(at, trial)?,
        errors: errors(at, trial)?,
        ..load
    };
    load.summary = Some(stats::summarise(&load));
    Ok(load)
}

/// A summary of other rules is left out, because its form may be another too, and so is one that cannot be read.
fn row(at: &Connection, trial: i64, lists: &Lists) -> Result<Option<(Loaded, u32)>> {
    let mut statement = at.prepare_cached(
        "select mode_json, warmup_json, started_ns, elapsed_s, operations_json, engine_json, open_json, names, moved_json, rules, summary_json
         from load where trial = ?1",
    )?;
    let load = |row: &Row| {
        let rules = row.get(9)?;
        let load = Loaded {
            mode: read::json(row, 0)?,
            warmup: read::json(row, 1)?,
            started_ns: row.get(2)?,
            elapsed_s: row.get(3)?,
            operations: read::json(row, 4)?,
            histograms: Vec::new(),
            series: BTreeMap::new(),
            errors: Vec::new(),
            counters: lists.unpack(row, 7)?,
            engine: read::json(row, 5)?,
            open: json_or_none(row, 6)?,
            summary: match rules == RULES {
                true => read::json(row, 10).ok(),
                false => None,
            },
        };
        Ok((load, rules))
    };
    statement.query_row([trial], load).optional()
}

fn all_series(at: &Connection, trial: i64) -> Result<BTreeMap<String, Vec<Option<f64>>>> {
    let mut statement =
        at.prepare_cached("select name, packed from series where trial = ?1 and node = ?2")?;
    let series = statement.query_map(params![trial, NODE], |row| {
        Ok((row.get(0)?, unpacked(row, 1)?))
    })?;
    series.collect()
}

/// One series of a trial; None where there is none of that name.
pub(super) fn one_series(
    at: &Connection,
    trial: i64,
    name: &str,
) -> Result<Option<Vec<Option<f64>>>> {
    at.prepare_cached("select packed from series where trial = ?1 and node = ?2 and name = ?3")?
        .query_row(params![trial, NODE, name], |row| unpacked(row, 0))
        .optional()
}

fn unpacked(row: &Row, column: usize) -> Result<Vec<Option<f64>>> {
    let packed = row
        .get_ref(column)?
        .as_blob()
        .map_err(|e| spoiled(column, e))?;
    series::unpack(packed).map_err(|e| spoiled(column, e))
}

fn histograms(at: &Connection, trial: i64) -> Result<Vec<HistogramNote>> {
    let mut statement = at.prepare_cached(
        "select operation, kind, every_s, start_s, v2 from histogram where trial = ?1 order by id",
    )?;
    let notes = statement.query_map([trial], |row| {
        Ok(HistogramNote {
            operation: row.get(0)?,
            kind: read::word(row, 1)?,
            every_s: row.get(2)?,
            start_s: row.get(3)?,
            nanoseconds: PackedHistogram::from_v2(row.get(4)?).map_err(|e| spoiled(4, e))?,
        })
    })?;
    notes.collect()
}

fn errors(at: &Connection, trial: i64) -> Result<Vec<ErrorCount>> {
    let mut statement =
        at.prepare_cached("select second, code, count from error where trial = ?1 order by n")?;
    let errors = statement.query_map([trial], |row| {
        Ok(ErrorCount {
            second: row.get(0)?,
            code: row.get(1)?,
            count: row.get::<_, i64>(2)? as u64,
        })
    })?;
    errors.collect()
}

fn spoiled(
    column: usize,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>,
) -> Error {
    Error::FromSqlConversionFailure(column, Type::Blob, cause.into())
}
