//! Timed loads in the file: rows of `load`, `series`, `histogram` and `error`.

use super::column::{self, json_or_none, spoiled};
use super::counters::{self, Lists};
use super::series;
use super::value::{FIRST_NODE, json, nodes, word};
use crate::open;
use record::{
    ErrorCount, HistogramNote, HistogramSum, LatencyKind, Loaded, PackedHistogram, Standard,
};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use serde::{Deserialize, Serialize};
use stats::RULES;
use std::collections::BTreeMap;

/// One node's series by name.
type Series = BTreeMap<String, Vec<Option<f64>>>;
/// The series of each node, by its number.
pub(crate) type NodeSeries = BTreeMap<u32, Series>;

pub(crate) fn save(at: &Connection, trial: i64, load: &Loaded) -> Result<()> {
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
        json(&Operations::of(load)),
        json(&load.engine),
        load.open.as_ref().map(json),
        names,
        moved,
        RULES,
        json(stats::summary(load).as_ref()),
    ])?;
    save_series(at, trial, load)?;
    save_histograms(at, trial, load)?;
    save_errors(at, trial, load)
}

fn save_series(at: &Connection, trial: i64, load: &Loaded) -> Result<()> {
    let mut statement = at.prepare_cached("insert into series values (?1, ?2, ?3, ?4)")?;
    for (node, named) in nodes(&load.series, &load.node_series) {
        for (name, values) in named {
            statement.execute(params![trial, node, name, series::pack(values)])?;
        }
    }
    Ok(())
}

fn save_histograms(at: &Connection, trial: i64, load: &Loaded) -> Result<()> {
    let mut statement = at.prepare_cached(
        "insert into histogram (trial, operation, kind, every_s, start_s, v2) values (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for note in &load.histograms {
        statement.execute(params![
            trial,
            note.operation,
            word(note.kind),
            note.every_s,
            note.start_s,
            note.nanoseconds.v2(),
        ])?;
    }
    Ok(())
}

fn save_errors(at: &Connection, trial: i64, load: &Loaded) -> Result<()> {
    let mut statement =
        at.prepare_cached("insert into error values (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (n, error) in load.errors.iter().enumerate() {
        statement.execute(params![
            trial,
            n as i64,
            error.second,
            error.code,
            error.count as i64,
            error.kind.map(word),
            error.operation,
        ])?;
    }
    Ok(())
}

/// A load with its summary, without its series, histograms and errors.
pub(crate) fn brief(at: &Connection, trial: i64, lists: &Lists) -> Result<Option<Loaded>> {
    let Some(load) = row(at, trial, lists)? else {
        return Ok(None);
    };
    if load.summary.is_some() {
        return Ok(Some(load));
    }
    let summary = fill(at, trial, load.clone())?.summary;
    Ok(Some(Loaded { summary, ..load }))
}

/// A whole load, as far as the record has it. A summary by the rules of another prony is recomputed.
pub(crate) fn whole(at: &Connection, trial: i64, lists: &Lists) -> Result<Option<Loaded>> {
    match row(at, trial, lists)? {
        Some(load) => fill(at, trial, load).map(Some),
        None => Ok(None),
    }
}

fn fill(at: &Connection, trial: i64, load: Loaded) -> Result<Loaded> {
    let mut node_series = all_series(at, trial)?;
    let mut load = Loaded {
        series: node_series.remove(&FIRST_NODE).unwrap_or_default(),
        node_series,
        histograms: histograms(at, trial)?,
        errors: errors(at, trial)?,
        ..load
    };
    if load.summary.is_none() {
        load.summary = Some(stats::summarise(&load));
    }
    Ok(load)
}

/// Leaves out a summary that cannot be read or that other rules made, because its form may differ. A slim record has no other.
fn row(at: &Connection, trial: i64, lists: &Lists) -> Result<Option<Loaded>> {
    let is_slim = open::is_slim(at)?;
    let mut statement = at.prepare_cached(
        "select mode_json, warmup_json, started_ns, elapsed_s, operations_json, engine_json, open_json, names, moved_json, rules, summary_json
         from load where trial = ?1",
    )?;
    let load = |row: &Row| {
        let rules: u32 = row.get(9)?;
        let operations: Operations = column::json(row, 4)?;
        let (operations, standard) = operations.parts();
        Ok(Loaded {
            mode: column::json(row, 0)?,
            warmup: column::json(row, 1)?,
            started_ns: row.get(2)?,
            elapsed_s: row.get(3)?,
            operations,
            standard,
            histograms: Vec::new(),
            series: BTreeMap::new(),
            node_series: BTreeMap::new(),
            errors: Vec::new(),
            counters: lists.unpack(row, 7)?,
            engine: column::json(row, 5)?,
            open: json_or_none(row, 6)?,
            summary: if is_slim {
                Some(column::json(row, 10)?)
            } else if rules == RULES {
                column::json(row, 10).ok()
            } else {
                None
            },
        })
    };
    statement.query_row([trial], load).optional()
}

/// The names of the operations, with their standard where there is one.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Operations {
    Names(Vec<String>),
    WithStandard {
        names: Vec<String>,
        standard: Standard,
    },
}

impl Operations {
    fn of(load: &Loaded) -> Operations {
        let names = load.operations.clone();
        match load.standard.clone() {
            None => Operations::Names(names),
            Some(standard) => Operations::WithStandard { names, standard },
        }
    }

    fn parts(self) -> (Vec<String>, Option<Standard>) {
        match self {
            Operations::Names(names) => (names, None),
            Operations::WithStandard { names, standard } => (names, Some(standard)),
        }
    }
}

/// All series, by node.
pub(crate) fn all_series(at: &Connection, trial: i64) -> Result<NodeSeries> {
    let mut statement =
        at.prepare_cached("select node, name, packed from series where trial = ?1")?;
    let mut rows = statement.query([trial])?;
    let mut series: BTreeMap<u32, Series> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let of_node = series.entry(row.get(0)?).or_default();
        of_node.insert(row.get(1)?, unpacked(row, 2)?);
    }
    Ok(series)
}

/// One series of a trial; None without one of that name.
pub(crate) fn one_series(
    at: &Connection,
    trial: i64,
    name: &str,
) -> Result<Option<Vec<Option<f64>>>> {
    at.prepare_cached("select packed from series where trial = ?1 and node = ?2 and name = ?3")?
        .query_row(params![trial, FIRST_NODE, name], |row| unpacked(row, 0))
        .optional()
}

fn unpacked(row: &Row, column: usize) -> Result<Vec<Option<f64>>> {
    let packed = row
        .get_ref(column)?
        .as_blob()
        .map_err(|e| spoiled(column, e))?;
    series::unpack(packed).map_err(|e| spoiled(column, e))
}

/// A histogram of a load, without its counts.
pub(crate) struct HistogramRow {
    pub id: i64,
    pub operation: Option<String>,
    pub kind: LatencyKind,
    pub every_s: u32,
    pub start_s: u32,
}

/// Reads no counts: SQLite skips the last column, which fills most pages.
pub(crate) fn histogram_rows(at: &Connection, trial: i64) -> Result<Vec<HistogramRow>> {
    let sql =
        "select id, operation, kind, every_s, start_s from histogram where trial = ?1 order by id";
    column::list(at, sql, [trial], |row| {
        Ok(HistogramRow {
            id: row.get(0)?,
            operation: row.get(1)?,
            kind: column::word(row, 2)?,
            every_s: row.get(3)?,
            start_s: row.get(4)?,
        })
    })
}

/// Adds the counts of one histogram to the sum, without unpacking it.
pub(crate) fn add_histogram(at: &Connection, id: i64, sum: &mut HistogramSum) -> Result<()> {
    at.prepare_cached("select v2 from histogram where id = ?1")?
        .query_row([id], |row| {
            let v2 = row.get_ref(0)?.as_blob().map_err(|e| spoiled(0, e))?;
            sum.add(v2).map_err(|e| spoiled(0, e))
        })
}

fn histograms(at: &Connection, trial: i64) -> Result<Vec<HistogramNote>> {
    let sql =
        "select operation, kind, every_s, start_s, v2 from histogram where trial = ?1 order by id";
    column::list(at, sql, [trial], |row| {
        Ok(HistogramNote {
            operation: row.get(0)?,
            kind: column::word(row, 1)?,
            every_s: row.get(2)?,
            start_s: row.get(3)?,
            nanoseconds: PackedHistogram::from_v2(row.get(4)?).map_err(|e| spoiled(4, e))?,
        })
    })
}

pub(crate) fn errors(at: &Connection, trial: i64) -> Result<Vec<ErrorCount>> {
    let sql = "select second, code, count, kind, operation from error where trial = ?1 order by n";
    column::list(at, sql, [trial], |row| {
        Ok(ErrorCount {
            second: row.get(0)?,
            code: row.get(1)?,
            count: row.get::<_, i64>(2)? as u64,
            kind: column::word_or_none(row, 3)?,
            operation: row.get(4)?,
        })
    })
}
