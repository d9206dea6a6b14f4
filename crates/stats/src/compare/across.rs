//! The same cells of different runs.
//!
//! Purpose: which rows of two runs belong together, and which cannot be compared. Boundary: the values of a pair of rows are
//! compared in [`super::contrast`].

use super::contrast::{self, Contrast, Pair};
use super::{likeness, same_answers};
use crate::judge;
use crate::judge::basis::RUN;
use crate::tables::table;
use crate::values::cells::{RowKey, row_key, row_words};
use record::claim::Cell;
use record::run::Question;
use record::trial::Trial;
use std::collections::{BTreeMap, BTreeSet};

/// Further runs against the first one.
pub struct Across {
    pub contrasts: Vec<Contrast>,
    /// The share of the error rate that they have, from 0 to 1.
    pub share: f64,
    pub left_out: Vec<LeftOut>,
}

/// Rows, or rounds of them, that are not compared.
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
///
/// Each run to which blocks were added leaves a share of the error rate, because the runs may have been compared before.
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
    let share = |(question, _): &(&Question, Vec<Trial>)| question.looks().share_of_comparison();
    let share: f64 = runs.iter().map(share).product();
    let trials: Vec<Trial> = (runs.into_iter().enumerate())
        .flat_map(|(place, (_, trials))| {
            let numbered = move |trial| numbered(trial, place + 1);
            trials.into_iter().map(numbered)
        })
        .collect();
    let judge = |claims: &[_]| judge::judge_unpaired(claims, &trials, share);
    Across {
        contrasts: contrast::contrasts(pairs, &trials, tolerance, &judge),
        share,
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
        match likeness::unlike((old_side.0, &trials.0), (new_side.0, &trials.1)) {
            Some(why) => leave(new, row, format!("not comparable: {why}")),
            None => {
                let sides = [(1, &trials.0, &trials.1), (new, &trials.1, &trials.0)];
                for (run, own, other) in sides {
                    for round in contrast::unshared(own, other) {
                        leave(run, row, format!("only this run has the round {round}"));
                    }
                }
                pairs.push(pair(new, (old, row), &trials));
            }
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
    let is_of_row = |trial: &&Trial| by_factor(row_key(&trial.key)) == *row;
    trials.iter().filter(is_of_row).collect()
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
        are_paired: false,
        unlike: None,
        other_data: same_answers::other_data(&trials.0, &trials.1),
        other_answer: same_answers::other_answer(&trials.0, &trials.1),
    }
}
