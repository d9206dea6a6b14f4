//! The same cells of different runs.
//!
//! Purpose: which rows of two runs belong together, and which cannot be compared. Boundary: the values of a pair of rows are
//! compared in [`super::contrast`].

use super::basis::RUN;
use super::cells::{RowKey, row_key, row_words};
use super::contrast::{self, Contrast, Pair};
use super::{answers, judge, table};
use record::claim::Cell;
use record::load::Mode;
use record::number;
use record::run::Question;
use record::trial::{Round, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// Rates that differ by less are equal.
const RATE: f64 = 0.01;
/// What an open load with a full queue does, if it ends.
const STOPS: &str = "stop";
/// Where a record lacks the exact number of rows: data whose sizes differ by more is not the same.
const SIZES: f64 = 2.0;

/// Further runs against the first one.
pub struct Across {
    pub contrasts: Vec<Contrast>,
    pub left_out: Vec<LeftOut>,
}

/// Rows that are not compared.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The number of the run, from 1.
    pub run: usize,
    /// `server 5.6, variant small pool`; empty for the only row.
    pub row: String,
    /// `closed loop against open loop`
    pub why: String,
}

/// The rows of each further run against those of the first. Blocks of different runs have nothing in common, so the ratios are unpaired.
///
/// Rows belong together if they have the same level of every factor that has several levels in one of the two runs. A factor with
/// one level in each run, the server too, may differ: it is what the runs are compared by.
pub fn across(runs: Vec<(&Question, Vec<Trial>)>, tolerance: f64) -> Across {
    let rows: Vec<Vec<Row>> = (runs.iter())
        .map(|(question, trials)| self::rows(question, trials))
        .collect();
    let (mut pairs, mut left_out) = (Vec::new(), Vec::new());
    for (place, (question, trials)) in runs.iter().enumerate().skip(1) {
        let sides = [
            (runs[0].0, &runs[0].1, &rows[0]),
            (*question, trials, &rows[place]),
        ];
        matched(place + 1, sides, &mut pairs, &mut left_out);
    }
    let trials: Vec<Trial> = (runs.into_iter().enumerate())
        .flat_map(|(place, (_, trials))| {
            let numbered = move |trial| numbered(trial, place + 1);
            trials.into_iter().map(numbered)
        })
        .collect();
    let judge = |claims: &[_]| judge::judge_unpaired(claims, &trials);
    Across {
        contrasts: contrast::contrasts(pairs, &trials, tolerance, &judge),
        left_out,
    }
}

/// A row's server and levels by factor.
type Row = BTreeMap<String, String>;

type Side<'a> = (&'a Question, &'a Vec<Trial>, &'a Vec<Row>);

fn rows(question: &Question, trials: &[Trial]) -> Vec<Row> {
    let rows = table::rows(question, trials);
    rows.into_iter().map(|(key, _)| by_factor(key)).collect()
}

fn by_factor((server, levels): RowKey) -> Row {
    let server = server.map(|server| ("server".to_string(), server.to_string()));
    server.into_iter().chain(levels.iter().cloned()).collect()
}

fn numbered(mut trial: Trial, run: usize) -> Trial {
    trial.key.levels.push((RUN.to_string(), run.to_string()));
    trial
}

/// The pairs of run `new` (its number) with the first run, and what remains of both.
fn matched(
    new: usize,
    [old_side, new_side]: [Side; 2],
    pairs: &mut Vec<Pair>,
    left_out: &mut Vec<LeftOut>,
) {
    let differ = differing(old_side.2, new_side.2);
    let place = |row: &Row| -> Row {
        let kept = row.iter().filter(|(factor, _)| differ.contains(*factor));
        kept.map(|(factor, level)| (factor.clone(), level.clone()))
            .collect()
    };
    let mut leave = |run: usize, row: &Row, why: String| {
        let row = words(row, &differ);
        left_out.push(LeftOut { run, row, why });
    };
    for row in new_side.2 {
        let Some(old) = old_side.2.iter().find(|old| place(old) == place(row)) else {
            leave(new, row, "run 1 has no such row".to_string());
            continue;
        };
        let trials = (of_row(old_side.1, old), of_row(new_side.1, row));
        match unlike((old_side.0, &trials.0), (new_side.0, &trials.1)) {
            Some(why) => leave(new, row, format!("not comparable: {why}")),
            None => pairs.push(pair(new, (old, row), &trials)),
        }
    }
    for old in old_side.2 {
        if !new_side.2.iter().any(|row| place(row) == place(old)) {
            leave(1, old, format!("run {new} has no such row"));
        }
    }
}

/// Factors with several levels in one of the runs.
fn differing(old: &[Row], new: &[Row]) -> BTreeSet<String> {
    let factors = old.iter().chain(new).flat_map(BTreeMap::keys);
    let several = |rows: &[Row], factor: &str| {
        let levels: BTreeSet<Option<&String>> = rows.iter().map(|row| row.get(factor)).collect();
        levels.len() > 1
    };
    factors
        .filter(|factor| several(old, factor) || several(new, factor))
        .cloned()
        .collect()
}

fn words(row: &Row, factors: &BTreeSet<String>) -> String {
    let levels = (row.iter())
        .filter(|(factor, _)| *factor != "server" && factors.contains(*factor))
        .map(|(factor, level)| (factor.clone(), level.clone()));
    let server = row.get("server").filter(|_| factors.contains("server"));
    row_words((server.map(String::as_str), &levels.collect::<Vec<_>>()))
}

fn of_row<'t>(trials: &'t [Trial], row: &Row) -> Vec<&'t Trial> {
    let of_row = trials
        .iter()
        .filter(|trial| by_factor(row_key(&trial.key)) == *row);
    of_row.collect()
}

fn pair(new: usize, (old_row, row): (&Row, &Row), trials: &(Vec<&Trial>, Vec<&Trial>)) -> Pair {
    let levels = trials.1.first().map_or(&[][..], |trial| &trial.key.levels);
    let common = |(factor, level): &&(String, String)| old_row.get(factor) == Some(level);
    let server = row.get("server").cloned();
    let cell = |row: &Row, run: usize| {
        let levels = (row.iter()).map(|(factor, level)| (factor.clone(), vec![level.clone()]));
        let run = (RUN.to_string(), vec![run.to_string()]);
        Cell {
            levels: levels.chain([run]).collect(),
            ..Cell::default()
        }
    };
    Pair {
        names: (format!("{RUN} 1"), format!("{RUN} {new}")),
        cells: (cell(old_row, 1), cell(row, new)),
        server: server.filter(|server| old_row.get("server") == Some(server)),
        levels: levels.iter().filter(common).cloned().collect(),
        compared: contrast::compared(&trials.0, &trials.1),
        other_data: answers::other_data(&trials.0, &trials.1),
        other_answer: answers::other_answer(&trials.0, &trials.1),
    }
}

/// Why two rows measure different things; None if they can be compared.
fn unlike(
    (old, old_trials): (&Question, &[&Trial]),
    (new, new_trials): (&Question, &[&Trial]),
) -> Option<String> {
    let against = |old: &str, new: &str| Some(format!("{old} against {new}"));
    if old.workload.name != new.workload.name {
        return against(&old.workload.name, &new.workload.name);
    }
    let (one, other) = (measured(old_trials)?, measured(new_trials)?);
    let modes = [one, other].map(|trial| trial.load.as_ref().map(|load| &load.mode));
    let kinds = match modes {
        [Some(old), Some(new)] => unlike_loads(old, new),
        [None, None] => unlike_clients(one, other),
        [Some(_), None] => against("a timed load", "rounds of queries"),
        [None, Some(_)] => against("rounds of queries", "a timed load"),
    };
    let operations = || {
        let [old, new] = [old, new].map(|question| question.workload.operations.join(", "));
        (old != new).then(|| format!("{old} against {new}"))
    };
    kinds
        .or_else(operations)
        .or_else(|| unlike_limits(one, other))
        .or_else(|| unlike_data(one, other))
}

fn measured<'t>(trials: &[&'t Trial]) -> Option<&'t Trial> {
    let mut trials = trials.iter().copied();
    trials.find(|trial| trial.is_valid())
}

/// One was measured with the limits of its experiment, the other without them.
fn unlike_limits(old: &Trial, new: &Trial) -> Option<String> {
    let words = |trial: &Trial| match trial.is_unlimited() {
        true => "limits not applied (--no-limits)",
        false => "limits applied",
    };
    (old.is_unlimited() != new.is_unlimited())
        .then(|| format!("{} against {}", words(old), words(new)))
}

/// Loads are alike if all of it is equal; rates that were searched for, nearly. The length of a queue that stops the load when it is
/// full changes no figure.
fn unlike_loads(old: &Mode, new: &Mode) -> Option<String> {
    let mut alike = new.clone();
    if let (
        Mode::Open {
            rate: old_rate,
            queue: old_queue,
            range: old_range,
            ..
        },
        Mode::Open {
            rate,
            queue,
            when_full,
            range,
            ..
        },
    ) = (old, &mut alike)
    {
        if are_near(*rate, *old_rate) {
            *rate = *old_rate;
        }
        let ends = range.zip(*old_range);
        if ends.is_some_and(|(new, old)| are_near(new.min, old.min) && are_near(new.max, old.max)) {
            *range = *old_range;
        }
        if *when_full == STOPS {
            *queue = *old_queue;
        }
    }
    (alike != *old).then(|| format!("{} against {}", load_words(old), load_words(new)))
}

fn are_near(rate: f64, old: f64) -> bool {
    rate == old || (rate / old).ln().abs() < RATE
}

fn load_words(mode: &Mode) -> String {
    match mode {
        Mode::Closed { clients, think_s } if *think_s > 0.0 => {
            format!("closed loop, clients {clients}, think time {think_s} s")
        }
        Mode::Closed { clients, .. } => format!("closed loop, clients {clients}"),
        Mode::Open {
            rate,
            arrivals,
            workers,
            queue,
            when_full,
            range,
        } => {
            let rate_of = |rate: f64| number::rate(rate, 1);
            let range = range.map_or(String::new(), |range| {
                format!(", {} to {}", rate_of(range.min), rate_of(range.max))
            });
            format!(
                "open loop, {} requests/s ({arrivals}{range}), workers {workers}, queue {} ({when_full})",
                rate_of(*rate),
                number::grouped(*queue)
            )
        }
    }
}

fn unlike_clients(old: &Trial, new: &Trial) -> Option<String> {
    let clients = |trial: &Trial| trial.rounds.iter().map(Round::clients).max();
    let (old, new) = (clients(old)?, clients(new)?);
    (old != new).then(|| format!("rounds of clients {old} against clients {new}"))
}

fn unlike_data(old: &Trial, new: &Trial) -> Option<String> {
    let bytes = |trial: &Trial| trial.data_bytes as f64;
    let are_far = |old: f64, new: f64| (new / old).ln().abs() > SIZES.ln();
    match (&old.dataset, &new.dataset) {
        (Some(old), Some(new)) => {
            // An estimate differs from one look to the next.
            let is_estimated = old.rows_estimated || new.rows_estimated;
            let differ = match is_estimated {
                true => are_far(old.rows as f64, new.rows as f64),
                false => old.rows != new.rows,
            };
            let about = if is_estimated { "about " } else { "" };
            differ.then(|| format!("{about}{} rows against {} rows", old.rows, new.rows))
        }
        _ => are_far(bytes(old), bytes(new)).then(|| {
            format!(
                "{} bytes of data against {}",
                old.data_bytes, new.data_bytes
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{DatasetNote, Role, TrialKey};
    use std::collections::BTreeMap;

    fn of_rows(rows: u64, rows_estimated: bool) -> Trial {
        let key = TrialKey {
            block: 0,
            server: None,
            levels: Vec::new(),
            role: Role::Measured,
        };
        let mut trial = Trial::unmeasured(key, 0);
        trial.dataset = Some(DatasetNote {
            fingerprint: "schema-shop".into(),
            server: "mysql".into(),
            rows,
            rows_estimated,
            moved: None,
            file_system: None,
            data_bytes: 1 << 20,
            index_bytes: None,
            load_s: None,
            index_s: BTreeMap::new(),
            method: "already there".into(),
            events: Vec::new(),
            collations: Vec::new(),
            definitions: None,
        });
        trial
    }

    #[test]
    fn counted_rows_are_equal_and_estimated_ones_are_near() {
        let (ten, eleven) = (of_rows(10, false), of_rows(11, false));
        assert_eq!(unlike_data(&ten, &ten), None);
        let says = unlike_data(&ten, &eleven).unwrap();
        assert_eq!(says, "10 rows against 11 rows");
        let (about, twice) = (of_rows(11, true), of_rows(21, true));
        assert_eq!(unlike_data(&ten, &about), None);
        let says = unlike_data(&ten, &twice).unwrap();
        assert_eq!(says, "about 10 rows against 21 rows");
    }
}
