//! From a claim's cell to values by block.

use super::words::cell_words;
use super::{load_value, resolution};
use crate::inference::ratio::LogMean;
use crate::load::recovery;
use record::claim::{Cell, Measured, RoundSelector, Value};
use record::trial::{Counters, Query, Round, Trial, TrialKey, TrialState};
use record::{AuditFigure, FlagKind};
use std::collections::{BTreeMap, BTreeSet};

/// One row of the matrix: a server, where there is one, and the other levels, over all blocks.
pub type RowKey<'t> = (Option<&'t str>, &'t [(String, String)]);

pub fn row_key(key: &TrialKey) -> RowKey<'_> {
    (key.server.as_deref(), &key.levels)
}

/// All trials of each row.
pub(crate) fn by_row<'t>(
    trials: impl IntoIterator<Item = &'t Trial>,
) -> BTreeMap<RowKey<'t>, Vec<&'t Trial>> {
    let mut rows: BTreeMap<RowKey, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        rows.entry(row_key(&trial.key)).or_default().push(trial);
    }
    rows
}

/// The values of each key, in the order in which the keys first occur.
pub fn by_key<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut found: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => found.push((key, vec![value])),
        }
    }
    found
}

/// Without those that are the same as one before them.
pub fn each_once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

pub(crate) fn valid<'t>(trials: &[&'t Trial]) -> impl Iterator<Item = &'t Trial> {
    trials.iter().copied().filter(|trial| trial.is_valid())
}

/// `server 5.6, variant small pool`.
pub(crate) fn row_words((server, levels): RowKey) -> String {
    let server = server.map(|server| format!("server {server}"));
    let level = |(factor, level): &(String, String)| format!("{factor} {level}");
    let levels = levels.iter().map(level);
    let words: Vec<String> = server.into_iter().chain(levels).collect();
    words.join(", ")
}

/// The value of one row in each block that has one.
#[derive(Default)]
pub(crate) struct Series<'t> {
    pub(crate) row: RowKey<'t>,
    pub(crate) by_block: BTreeMap<u32, f64>,
    /// How exactly each of them is known, as a difference of logarithms.
    pub(crate) steps: BTreeMap<u32, f64>,
    /// Some of the values are lower bounds: a query reached the time limit.
    pub(crate) at_least: bool,
    /// Why a value is uncertain: the first one that is, with its trial.
    pub(crate) uncertain: Option<String>,
}

/// The trials of a claim's cell.
pub fn matching<'t>(trials: &'t [Trial], cell: &Cell) -> Vec<&'t Trial> {
    let selected = trials.iter().filter(|trial| cell.selects(&trial.key));
    selected.collect()
}

/// The rounds of a trial that a cell selects, by the recorded names: `cold` does not include `lukewarm`.
pub fn rounds<'t>(trial: &'t Trial, selector: Option<&RoundSelector>) -> Vec<&'t Round> {
    let means = |round: &&Round, selector: &RoundSelector| {
        round.name == selector.name && selector.index.is_none_or(|index| index == round.index)
    };
    let is_selected = |round: &&Round| selector.is_none_or(|selector| means(round, selector));
    trial.rounds.iter().filter(is_selected).collect()
}

/// The values of the rows that a cell selects in the blocks below `until`; an error explains why there are none.
pub(crate) fn series<'t>(
    trials: &'t [Trial],
    cell: &Cell,
    value: &Value,
    until: u32,
) -> Result<Vec<Series<'t>>, String> {
    let matching = matching(trials, cell);
    all_applied(&matching)?;
    let rows = series_as_measured(trials, cell, value, until)?;
    match unmeasured_level(cell, &matching) {
        Some(why) => Err(why),
        None => Ok(rows),
    }
}

/// The first level that the cell names and no trial of it has, as with `--only`: the others alone are another cell. None for an empty cell.
pub(crate) fn unmeasured_level(cell: &Cell, matching: &[&Trial]) -> Option<String> {
    let is_measured = |factor: &str, level: &str| {
        let mut trials = matching.iter();
        trials.any(|trial| trial.key.level(factor) == Some(level))
    };
    let mut levels = (cell.levels.iter())
        .flat_map(|(factor, levels)| levels.iter().map(move |level| (factor, level)));
    let lacking = levels.find(|(factor, level)| !is_measured(factor, level));
    let lacking = lacking.filter(|_| !matching.is_empty());
    lacking.map(|(factor, level)| format!("no trial of {factor} {level} was measured"))
}

/// The same of trials that were not measured as their names say, too.
pub(crate) fn series_as_measured<'t>(
    trials: &'t [Trial],
    cell: &Cell,
    value: &Value,
    until: u32,
) -> Result<Vec<Series<'t>>, String> {
    let mut matching = matching(trials, cell);
    matching.retain(|trial| trial.key.block < until);
    if matching.is_empty() {
        return Err(format!("no trial of {}", cell_words(cell)));
    }
    every_load_has_one(&matching, cell, value)?;
    no_query_was_stopped(&matching, cell, value)?;
    let mut rows: BTreeMap<RowKey, (Series, Option<String>)> = BTreeMap::new();
    for trial in matching {
        let (series, why_not) = rows.entry(row_key(&trial.key)).or_default();
        match trial_value(trial, cell, value) {
            Ok(found) => {
                let row = row_words(row_key(&trial.key));
                let found = positive(value, found).map_err(|why| format!("{row}: {why}"))?;
                series.by_block.insert(trial.key.block, found);
                let step = resolution::rounding(trial, value, found);
                series.steps.insert(trial.key.block, step);
                series.at_least |= timed_out(trial, cell);
                let uncertain = series.uncertain.take();
                series.uncertain = uncertain.or_else(|| why_uncertain(trial, cell, value));
            }
            Err(why) => *why_not = why_not.take().or(Some(why)),
        }
    }
    rows.into_iter()
        .map(|(row, (series, why_not))| match why_not {
            Some(why) if series.by_block.is_empty() => Err(format!("{}: {why}", row_words(row))),
            _ => Ok(Series { row, ..series }),
        })
        .collect()
}

/// Returns an error if a trial was not measured as its name says.
pub(crate) fn all_applied(matching: &[&Trial]) -> Result<(), String> {
    let why = matching.iter().find_map(|trial| trial.not_applied());
    why.map_or(Ok(()), |why| Err(why.to_string()))
}

/// Returns an error that names a setting of the file that only some trials of these cells have, because prony does not configure a server.
pub fn lack_the_same(trials: &[Trial], cells: &[&Cell]) -> Result<(), String> {
    let has_figures = |trial: &&Trial| !trial.rounds.is_empty() || trial.load.is_some();
    let trials = cells.iter().flat_map(|cell| matching(trials, cell));
    let measured = trials.filter(has_figures);
    let mut lacking = measured.map(|trial| trial.settings_not_applied());
    let Some(first) = lacking.next() else {
        return Ok(());
    };
    let differing = lacking.find_map(|other| first.symmetric_difference(&other).next().copied());
    differing.map_or(Ok(()), |setting| {
        Err(format!(
            "the sides do not have the same settings: {setting}"
        ))
    })
}

/// Why the value of a trial is uncertain, with its name.
fn why_uncertain(trial: &Trial, cell: &Cell, value: &Value) -> Option<String> {
    let why = load_value::why_uncertain(trial.load.as_deref()?, cell, value)?;
    Some(format!("~ {}: {why}", trial.key))
}

/// Returns an error that names the first load without a value: one that was unstable or did too little. Dropping such blocks
/// would bias the result (survivorship).
fn every_load_has_one(matching: &[&Trial], cell: &Cell, value: &Value) -> Result<(), String> {
    if !value.is_of_load() {
        return Ok(());
    }
    let counts = |trial: &&&Trial| trial.state == TrialState::Done && trial.load.is_some();
    matching.iter().filter(counts).try_for_each(|trial| {
        let found = trial_value(trial, cell, value);
        let found = found.and_then(|found| positive(value, found)).map(drop);
        found.map_err(|why| format!("{}: {why}", trial.key))
    })
}

/// Returns an error if a query reached the time limit, which bounds times but not counters. Dropping such blocks would bias the
/// result (survivorship).
fn no_query_was_stopped(matching: &[&Trial], cell: &Cell, value: &Value) -> Result<(), String> {
    if *value == Value::Elapsed {
        return Ok(());
    }
    let counts = |trial: &&&Trial| trial.state == TrialState::Done && timed_out(trial, cell);
    matching.iter().find(counts).map_or(Ok(()), |trial| {
        let found = trial_value(trial, cell, value).map(drop);
        found.map_err(|why| format!("{}: {why}", trial.key))
    })
}

/// The blocks in which every row of all the series has a value: only these can be compared.
pub(crate) fn common_blocks(all: &[&[Series]]) -> Vec<u32> {
    let blocks = |row: &Series| row.by_block.keys().copied().collect::<BTreeSet<u32>>();
    let blocks = all.iter().copied().flatten().map(blocks);
    let common = blocks.reduce(|common, next| &common & &next);
    common.unwrap_or_default().into_iter().collect()
}

/// One value per block: the geometric mean of the rows.
pub(crate) fn combined(rows: &[Series], blocks: &[u32]) -> Vec<f64> {
    let mean = |block: &u32| {
        let values: Vec<f64> = rows.iter().map(|row| row.by_block[block]).collect();
        Some(LogMean::of(&values)?.geometric())
    };
    blocks.iter().filter_map(mean).collect()
}

/// How exactly the geometric mean of the rows is known: the mean over these blocks.
pub(crate) fn known_to(rows: &[Series], blocks: &[u32]) -> f64 {
    let each = rows
        .iter()
        .flat_map(|row| blocks.iter().map(|block| row.steps.get(block)));
    let steps: Vec<f64> = each.flatten().copied().collect();
    steps.iter().sum::<f64>() / steps.len().max(1) as f64
}

/// The ratio of rows to rows over these blocks, known no better than both of them; None without a block.
pub(crate) fn ratio(of: &[Series], to: &[Series], blocks: &[u32]) -> Option<LogMean> {
    let ratio = LogMean::of_ratios(&combined(of, blocks), &combined(to, blocks))?;
    Some(ratio.known_to(known_to(of, blocks) + known_to(to, blocks)))
}

/// Why a trial does not count: the texts of its flags.
pub(crate) fn why_it_does_not_count(trial: &Trial) -> String {
    let state = if trial.state == TrialState::Invalid {
        "invalid"
    } else {
        "failed"
    };
    let flags: Vec<&str> = trial.flags.iter().map(|flag| flag.text.as_str()).collect();
    if flags.is_empty() {
        state.to_string()
    } else {
        format!("{state}: {}", flags.join("; "))
    }
}

fn trial_value(trial: &Trial, cell: &Cell, value: &Value) -> Result<f64, String> {
    if let (true, Some(why)) = (trial.is_not_available(), trial.not_applied()) {
        return Err(why.to_string());
    }
    if trial.state != TrialState::Done {
        return Err(why_it_does_not_count(trial));
    }
    if let Value::Recovery(number) = value {
        return recovery::mean(trial, number);
    }
    if let Value::Audit(figure) = value {
        return of_audit(trial, *figure);
    }
    if let Some(load) = &trial.load {
        is_comparable(trial, value)?;
        return load_value::value(load, cell, value);
    }
    let rounds = rounds(trial, cell.round.as_ref());
    if rounds.is_empty() {
        return Err(why_no_round(trial, cell));
    }
    let parts = parts(&rounds, cell, *value == Value::Elapsed)?;
    match value {
        Value::Elapsed => mean(&parts, |part| Ok(part.elapsed_s)),
        Value::Counter(name) => mean(&parts, |part| part.counter(name)),
        Value::Quotient(over, under) => quotient(&parts, over, under),
        Value::Throughput
        | Value::Variation
        | Value::ReadAge
        | Value::Latency { .. }
        | Value::Recovery(_)
        | Value::Audit(_) => Err(format!(
            "only timed loads have {}; this trial has rounds",
            value.words()
        )),
    }
}

fn of_audit(trial: &Trial, figure: AuditFigure) -> Result<f64, String> {
    let audit = trial.audit.as_ref().ok_or("no audit is recorded")?;
    let found = figure.of(audit);
    found.ok_or_else(|| format!("no {}: no transaction was lost", figure.name()))
}

/// A volatile volume is a process in user space: crashes on it can be compared, speeds cannot.
fn is_comparable(trial: &Trial, value: &Value) -> Result<(), String> {
    let flag = trial.flagged(FlagKind::VolatileVolume);
    let flag = flag.filter(|_| value.measured() == Measured::InLoads);
    flag.map_or(Ok(()), |flag| Err(flag.text.clone()))
}

/// Whether the value is a lower bound. Only a time can be one.
fn timed_out(trial: &Trial, cell: &Cell) -> bool {
    let rounds = rounds(trial, cell.round.as_ref()).into_iter();
    let mut queries = rounds.flat_map(|round| round.selected(cell.query.as_deref()));
    queries.any(|query| query.timed_out_s().is_some())
}

/// The value of a trial that is done; None if it has none, or only a lower bound.
pub(crate) fn exact_value(trial: &Trial, cell: &Cell, value: &Value) -> Option<f64> {
    let found = trial_value(trial, cell, value).ok()?;
    (found > 0.0 && !timed_out(trial, cell)).then_some(found)
}

fn positive(value: &Value, found: f64) -> Result<f64, String> {
    if found > 0.0 {
        Ok(found)
    } else {
        Err(format!("{} is 0: no ratio", value.words()))
    }
}

/// The ratio of the means, so that a round with few events does not weigh as much as one with many.
fn quotient(parts: &[RoundPart], over: &str, under: &str) -> Result<f64, String> {
    let under_mean = mean(parts, |part| part.counter(under))?;
    if under_mean == 0.0 {
        return Err(format!("{under} is 0: cannot divide by it"));
    }
    Ok(mean(parts, |part| part.counter(over))? / under_mean)
}

fn mean(
    parts: &[RoundPart],
    of: impl Fn(&RoundPart) -> Result<f64, String>,
) -> Result<f64, String> {
    let sum: f64 = parts.iter().map(of).sum::<Result<f64, String>>()?;
    Ok(sum / parts.len() as f64)
}

/// A round, or one query of it.
struct RoundPart<'t> {
    elapsed_s: f64,
    counters: &'t Counters,
    /// One of several concurrent clients sent the query.
    beside_others: bool,
}

impl RoundPart<'_> {
    fn counter(&self, name: &str) -> Result<f64, String> {
        let delta = self.counters.get(name).map(|delta| *delta as f64);
        delta.ok_or_else(|| match self.beside_others {
            true => format!(
                "{name} was counted for the whole round: with several clients it cannot be split by query"
            ),
            false => format!("the record lacks the counter {name}"),
        })
    }
}

/// Where the time limit is a valid lower bound of the value, a query that reached it counts.
fn parts<'t>(
    rounds: &[&'t Round],
    cell: &Cell,
    limit_counts: bool,
) -> Result<Vec<RoundPart<'t>>, String> {
    let failed = |query: &Query| match (&query.error, query.timed_out_s()) {
        (Some(_), Some(_)) if limit_counts => None,
        (Some(error), Some(_)) => Some(format!("query {} took {error}", query.name)),
        (Some(error), None) => Some(format!("query {} failed: {error}", query.name)),
        (None, _) => None,
    };
    let all = rounds.iter().flat_map(|round| &round.queries);
    let Some(name) = &cell.query else {
        let counts = |query: &&Query| !cell.without.contains(&query.name);
        let failure = all.filter(counts).find_map(failed);
        let whole = |round: &&'t Round| RoundPart {
            elapsed_s: match cell.without.is_empty() {
                true => round.elapsed_s,
                false => round.queries.iter().filter(counts).map(seconds).sum(),
            },
            counters: &round.counters,
            beside_others: false,
        };
        return failure.map_or_else(|| Ok(rounds.iter().map(whole).collect()), Err);
    };
    let queries: Vec<&Query> = all.filter(|query| query.name == *name).collect();
    if queries.is_empty() {
        return Err(format!("no query {name}"));
    }
    let beside_others = rounds.iter().any(|round| round.clients() > 1);
    let part = |query: &&'t Query| RoundPart {
        elapsed_s: seconds(query),
        counters: &query.counters,
        beside_others,
    };
    let failure = queries.iter().find_map(|query| failed(query));
    failure.map_or_else(|| Ok(queries.iter().map(part).collect()), Err)
}

fn seconds(query: &Query) -> f64 {
    query.elapsed_ns as f64 / 1e9
}

fn why_no_round(trial: &Trial, cell: &Cell) -> String {
    let requested = cell.round.as_ref();
    let is_cold = requested.is_some_and(|requested| requested.name == "cold");
    let is_it = |round: &&Round| is_cold && round.name == "lukewarm";
    let Some(round) = trial.rounds.iter().find(is_it) else {
        let requested = requested.map(ToString::to_string).unwrap_or_default();
        return format!("no round {requested}");
    };
    let coldness = round.coldness.as_ref();
    let reason = coldness.and_then(|coldness| coldness.reason.as_deref());
    format!(
        "the round was lukewarm, not cold: {}",
        reason.unwrap_or("coldness was not proved")
    )
}
