//! The plans of each query, and where they changed.

use crate::values::cells::{self, RowKey, by_key, row_key, row_words};
use crate::values::words;
use record::claim::Cell;
use record::run::Question;
use record::trial::{Query, Round, Trial, TrialState};
use std::collections::{BTreeMap, BTreeSet};

/// A query with more than one plan on one server with one set of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanChange {
    pub query: String,
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    /// (hash, where it was seen, in words: `server 5.6, variant small pool, block 1, hot 2`), in the order of first sight.
    pub seen: Vec<(String, Vec<String>)>,
}

/// Tests whether a plan contains a text. Arguments: trial, query, plan hash, text. None if the plan's text is not recorded. Only
/// crate `explain` can read plans.
pub type PlanHolds<'h> = dyn Fn(&Trial, &str, &str, &str) -> Option<bool> + 'h;

/// All changes within rows, in the workload's order of queries.
pub fn plan_changes(question: &Question, trials: &[Trial]) -> Vec<PlanChange> {
    let Ok(seen) = seen(trials, &Cell::default()) else {
        return Vec::new();
    };
    let operations = &question.workload.operations;
    let place = |query: &str| operations.iter().position(|operation| operation == query);
    let mut changes: Vec<PlanChange> = seen.by_query().into_iter().filter_map(change).collect();
    changes.sort_by_key(|change| place(&change.query).unwrap_or(usize::MAX));
    changes
}

fn change(((row, query), sights): ((RowKey, &str), Vec<&Sight>)) -> Option<PlanChange> {
    let sights = sights.into_iter();
    let seen = by_key(sights.map(|sight| (sight.hash.to_string(), sight.place())));
    let (server, levels) = (row.0.map(String::from), row.1.to_vec());
    (seen.len() > 1).then(|| PlanChange {
        query: query.to_string(),
        server,
        levels,
        seen,
    })
}

/// One query in one round of one trial, with its plan.
pub(crate) struct Sight<'t> {
    trial: &'t Trial,
    query: &'t str,
    round: String,
    hash: &'t str,
}

impl Sight<'_> {
    fn place(&self) -> String {
        format!("{}, {}", self.trial.key, self.round)
    }
}

pub(crate) struct Sights<'t>(Vec<Sight<'t>>);

/// The plans of a cell in trials that count; an error explains why there are none.
pub(crate) fn seen<'t>(trials: &'t [Trial], cell: &Cell) -> Result<Sights<'t>, String> {
    let matching = cells::matching(trials, cell);
    let mut sights = Vec::new();
    for trial in &matching {
        let sight = |(round, query): (&'t Round, &'t Query)| {
            Some(Sight {
                trial,
                query: &query.name,
                round: format!("{} {}", round.name, round.index),
                hash: query.plan_hash.as_deref()?,
            })
        };
        sights.extend(queries(trial, cell).into_iter().filter_map(sight));
    }
    let unavailable = || matching.iter().find_map(|trial| trial.not_applied());
    match sights.is_empty() {
        false => Ok(Sights(sights)),
        true => Err(unavailable().map_or(
            format!("no plan of {} is recorded", words::cell_words(cell)),
            String::from,
        )),
    }
}

/// The queries of a cell in a trial, each with its round; none of a trial that does not count.
fn queries<'t>(trial: &'t Trial, cell: &Cell) -> Vec<(&'t Round, &'t Query)> {
    if trial.state != TrialState::Done {
        return Vec::new();
    }
    let rounds = cells::rounds(trial, cell.round.as_ref()).into_iter();
    let queries = rounds.flat_map(|round| {
        let selected = round.selected(cell.query.as_deref());
        selected.map(move |query| (round, query))
    });
    queries.collect()
}

impl<'t> Sights<'t> {
    /// Returns an error that names the first row of these trials without a plan, or the first query of a row without one. A query that
    /// failed needs none.
    pub(crate) fn of_every_query(&self, trials: &[&Trial], cell: &Cell) -> Result<(), String> {
        self.of_every_row(trials)?;
        let seen = self.by_query();
        let mut measured = trials.iter().flat_map(|trial| {
            let row = row_key(&trial.key);
            let queries = queries(trial, cell).into_iter();
            let answered = queries.filter(|(_, query)| !query.has_failed());
            answered.map(move |(_, query)| (row, query.name.as_str()))
        });
        let unseen = measured.find(|one| !seen.contains_key(one));
        unseen.map_or(Ok(()), |(row, query)| {
            Err(format!(
                "no plan of {query} on {} is recorded",
                row_words(row)
            ))
        })
    }

    fn of_every_row(&self, trials: &[&Trial]) -> Result<(), String> {
        let seen: BTreeSet<RowKey> = (self.0.iter())
            .map(|sight| row_key(&sight.trial.key))
            .collect();
        let mut rows = trials.iter().map(|trial| row_key(&trial.key));
        rows.find(|row| !seen.contains(row)).map_or(Ok(()), |row| {
            Err(format!("no plan of {} is recorded", row_words(row)))
        })
    }

    pub(crate) fn blocks(&self) -> usize {
        let blocks = self.0.iter().map(|sight| sight.trial.key.block);
        blocks.collect::<BTreeSet<u32>>().len()
    }

    fn by_query(&self) -> BTreeMap<(RowKey<'t>, &'t str), Vec<&Sight<'t>>> {
        let mut by_query: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for sight in &self.0 {
            let key = (row_key(&sight.trial.key), sight.query);
            by_query.entry(key).or_default().push(sight);
        }
        by_query
    }

    /// Whether any query had more than one plan, in one row or in several, and which in words.
    pub(crate) fn changed(&self) -> (bool, String) {
        let mut plans: BTreeMap<&str, Vec<&Sight>> = BTreeMap::new();
        for sight in &self.0 {
            let known = plans.entry(sight.query).or_default();
            if known.iter().all(|other| other.hash != sight.hash) {
                known.push(sight);
            }
        }
        let several = plans.into_iter().filter(|(_, sights)| sights.len() > 1);
        let changed: Vec<String> = several
            .map(|(query, sights)| {
                let rows = sights
                    .iter()
                    .map(|sight| row_words(row_key(&sight.trial.key)));
                let mut rows: Vec<String> = rows.collect();
                rows.dedup();
                format!("{query} ({})", rows.join(" against "))
            })
            .collect();
        match changed.is_empty() {
            true => (false, "no plan changed".to_string()),
            false => (true, format!("the plan changed: {}", changed.join(", "))),
        }
    }

    /// Whether all plans contain the text, with the count in words; an error if a plan's text is not recorded.
    pub(crate) fn holds(&self, text: &str, reads: &PlanHolds) -> Result<(bool, String), String> {
        let held = |sight: &Sight<'t>| {
            let held = reads(sight.trial, sight.query, sight.hash, text);
            held.ok_or_else(|| format!("{}: the plan's text is not recorded", sight.place()))
        };
        let held: Vec<bool> = self.0.iter().map(held).collect::<Result<_, String>>()?;
        let count = held.iter().filter(|held| **held).count();
        Ok((
            count == held.len(),
            format!("{count} of {} plans contain it", held.len()),
        ))
    }
}
