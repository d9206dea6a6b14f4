//! The matrices that lend their noise to claims.
//!
//! A matrix has all cells of one value, round and level: whole rounds or loads, or every single query or operation. Of complete
//! blocks alone.

use crate::inference::moderated::{Logs, Noise, Row, Weight};
use crate::inference::ratio::LogMean;
use crate::values::cells::{self, RowKey, Series, row_key};
use crate::values::resolution;
use record::LoadFactor;
use record::claim::{Cell, RoundSelector, Value};
use record::trial::{Trial, TrialState};
use std::collections::{BTreeMap, BTreeSet};

/// A row and, at the level of single queries, the name of one.
type CellKey<'t> = (RowKey<'t>, Option<&'t str>);

/// What identifies a server start within a block: the server and the levels that a series keeps.
type Start<'t> = (Option<&'t str>, Vec<&'t (String, String)>);

/// Which matrix a claim belongs to.
#[derive(Clone, PartialEq)]
struct MatrixKind {
    value: Value,
    round: Option<RoundSelector>,
    by_query: bool,
}

/// The matrices of a run; each is read once.
pub(crate) struct Lenders<'t> {
    trials: &'t [Trial],
    /// Only blocks below this number lend.
    until: u32,
    known: Vec<(MatrixKind, Option<Lender<'t>>)>,
}

struct Lender<'t> {
    noise: Noise,
    /// Each cell with the place of its row in the matrix.
    places: BTreeMap<CellKey<'t>, usize>,
}

impl<'t> Lenders<'t> {
    pub(crate) fn of(trials: &'t [Trial], until: u32) -> Lenders<'t> {
        Lenders {
            trials,
            until,
            known: Vec::new(),
        }
    }

    /// The ratio of the rows of two cells (geometric means), with the variance of their matrix where it lends one. Nothing is lent
    /// between different rounds, and between a round and a query.
    pub(crate) fn moderate(
        &mut self,
        ratio: LogMean,
        value: &Value,
        (of, of_rows): (&Cell, &[Series]),
        (to, to_rows): (&Cell, &[Series]),
    ) -> LogMean {
        let sides = [(of, of_rows, 1.0), (to, to_rows, -1.0)];
        let comparable = of.round == to.round && of.query.is_some() == to.query.is_some();
        let lender = comparable.then(|| self.lender(value, of)).flatten();
        let moderated = lender.and_then(|lender| {
            let contrast = lender.contrast(&sides)?;
            Some(lender.noise.moderate(ratio, &contrast))
        });
        moderated.unwrap_or_else(|| at_resolution(ratio, value))
    }

    /// The ratio of a cell to the same cell measured once more, which has a server start of its own.
    pub(crate) fn moderate_control(
        &mut self,
        ratio: LogMean,
        value: &Value,
        cell: &Cell,
        row: RowKey,
    ) -> LogMean {
        let lender = self.lender(value, cell);
        let moderated = lender.and_then(|lender| {
            let place = *lender.places.get(&(row, cell.query.as_deref()))?;
            let another = lender.places.len();
            let contrast = [(place, 1.0), (another, -1.0)];
            Some(lender.noise.moderate(ratio, &contrast))
        });
        moderated.unwrap_or_else(|| at_resolution(ratio, value))
    }

    fn lender(&mut self, value: &Value, cell: &Cell) -> Option<&Lender<'t>> {
        let kind = MatrixKind {
            value: value.clone(),
            round: cell.round.clone(),
            by_query: cell.query.is_some(),
        };
        let known = self.known.iter().position(|(known, _)| *known == kind);
        let at = known.unwrap_or_else(|| {
            let lender = Lender::of(self.trials, self.until, &kind);
            self.known.push((kind, lender));
            self.known.len() - 1
        });
        self.known[at].1.as_ref()
    }
}

/// A ratio of latencies is not more certain than the histograms' steps.
pub(crate) fn at_resolution(ratio: LogMean, value: &Value) -> LogMean {
    ratio.varying_by(2.0 * resolution::of_histogram(value))
}

impl<'t> Lender<'t> {
    /// None where there is too little, and for slices: cells of one group share its seconds and those of another do not, so the matrix
    /// has not one noise.
    fn of(trials: &'t [Trial], until: u32, kind: &MatrixKind) -> Option<Lender<'t>> {
        if trials.iter().any(Trial::took_turns) {
            return None;
        }
        let (rows, cells) = matrix(trials, until, kind);
        let place = |(place, cells): (usize, Vec<CellKey<'t>>)| {
            cells.into_iter().map(move |cell| (cell, place))
        };
        Some(Lender {
            noise: Noise::of(&rows)?,
            places: cells.into_iter().enumerate().flat_map(place).collect(),
        })
    }

    /// None where a cell is not in the matrix.
    fn contrast(&self, sides: &[(&Cell, &[Series], f64)]) -> Option<Vec<Weight>> {
        let mut weights: BTreeMap<CellKey, f64> = BTreeMap::new();
        for (cell, rows, sign) in sides {
            for row in *rows {
                let key = (row.row, cell.query.as_deref());
                *weights.entry(key).or_default() += sign / rows.len() as f64;
            }
        }
        let placed = |(cell, weight): (&CellKey, &f64)| Some((*self.places.get(cell)?, *weight));
        weights.iter().map(placed).collect()
    }
}

/// The logarithms of all cells in their complete blocks, by server start, with the names of the cells.
fn matrix<'t>(
    trials: &'t [Trial],
    until: u32,
    kind: &MatrixKind,
) -> (Vec<Row>, Vec<Vec<CellKey<'t>>>) {
    let values = values(trials, until, kind);
    let blocks = complete_blocks(&values);
    let shares_starts = trials.iter().any(continues);
    let mut rows: BTreeMap<Start, (Row, Vec<CellKey>)> = BTreeMap::new();
    for (cell, by_block) in &values {
        let logs: Logs = blocks.iter().map(|block| by_block[block].ln()).collect();
        let (row, cells) = rows.entry(start(cell.0, shares_starts)).or_default();
        row.push(logs);
        cells.push(*cell);
    }
    rows.into_values().unzip()
}

/// The logarithms of a value of whole rounds or loads in complete blocks, by server start.
pub(crate) fn logs(trials: &[Trial], value: &Value, round: Option<RoundSelector>) -> Vec<Row> {
    let kind = MatrixKind {
        value: value.clone(),
        round,
        by_query: false,
    };
    matrix(trials, u32::MAX, &kind).0
}

/// Only cells that have a value in some block.
fn values<'t>(
    trials: &'t [Trial],
    until: u32,
    kind: &MatrixKind,
) -> BTreeMap<CellKey<'t>, BTreeMap<u32, f64>> {
    let mut values: BTreeMap<CellKey, BTreeMap<u32, f64>> = BTreeMap::new();
    let lends = |trial: &&Trial| trial.state == TrialState::Done && trial.key.block < until;
    for trial in trials.iter().filter(lends) {
        for query in queries(trial, kind) {
            let cell = Cell {
                levels: Vec::new(),
                round: kind.round.clone(),
                query: query.map(String::from),
                without: Vec::new(),
            };
            if let Some(value) = cells::exact_value(trial, &cell, &kind.value) {
                let by_block = values.entry((row_key(&trial.key), query)).or_default();
                by_block.insert(trial.key.block, value);
            }
        }
    }
    values
}

fn queries<'t>(trial: &'t Trial, kind: &MatrixKind) -> BTreeSet<Option<&'t str>> {
    if !kind.by_query {
        return BTreeSet::from([None]);
    }
    if let Some(load) = &trial.load {
        let operations = load.operations.iter();
        return operations.map(|name| Some(name.as_str())).collect();
    }
    let rounds = cells::rounds(trial, kind.round.as_ref()).into_iter();
    let queries = rounds.flat_map(|round| &round.queries);
    queries.map(|query| Some(query.name.as_str())).collect()
}

fn complete_blocks(values: &BTreeMap<CellKey, BTreeMap<u32, f64>>) -> Vec<u32> {
    let mut cells = values.values();
    let first = cells.next().map(|cell| cell.keys().copied().collect());
    let mut blocks: Vec<u32> = first.unwrap_or_default();
    cells.for_each(|cell| blocks.retain(|block| cell.contains_key(block)));
    blocks
}

/// A trial of a timed load that started no server: an earlier trial of its series did.
fn continues(trial: &Trial) -> bool {
    trial.state == TrialState::Done && trial.load.is_some() && trial.start_s.is_empty()
}

fn start<'t>((server, levels): RowKey<'t>, shares_starts: bool) -> Start<'t> {
    let kept =
        |(factor, _): &&(String, String)| !shares_starts || LoadFactor::named(factor).is_none();
    (server, levels.iter().filter(kept).collect())
}
