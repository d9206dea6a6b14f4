//! New against old: each value that two rows have in common, with the claim that new is not slower.
//!
//! Purpose: which values of two rows are compared, and how the result reads. Boundaries: [`super::across`] finds the rows of different
//! runs, `judge` tests the claims.

use super::likeness;
use crate::inference::estimate::Estimate;
use crate::inference::ratio::Comparison;
use crate::judge;
use crate::judge::basis::{Basis, is_unstable};
use crate::judge::decide::are_equivalent;
use crate::tables::table;
use crate::values::cells::{self, RowKey, Series, each_once};
use record::claim::{
    Bound, Cell, Claim, Direction, Judged, Percentile, RoundSelector, Subject, Value,
};
use record::load::{LatencyKind, Mode};
use record::run::Question;
use record::trial::Trial;
use std::collections::BTreeSet;

/// How much slower new may be before a gate fails: 5 %.
pub const TOLERANCE: f64 = 0.05;

/// One value of one cell, new against old.
#[derive(Clone, Debug)]
pub struct Contrast {
    /// The names of the two sides: servers, or runs by their number.
    pub old: String,
    pub new: String,
    /// What both sides have in common.
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    pub subject: Compared,
    pub old_value: Option<Estimate>,
    pub new_value: Option<Estimate>,
    /// Whether the value is a percentile that is uncertain in some block (rule 4).
    pub old_is_uncertain: bool,
    pub new_is_uncertain: bool,
    pub basis: Basis,
    /// The claim that new is slower by the tolerance at most. Its ratio is new over old.
    pub judged: Judged,
}

/// The value that is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub value: Value,
    /// The rounds' name; none for a timed load.
    pub round: Option<String>,
    pub query: Option<String>,
    /// Queries that failed on a side, so that the sums of the rounds leave them out.
    pub without: Vec<String>,
    /// Whether a gate tests it. Others are shown: single queries, and percentiles beside the throughput.
    pub decides: bool,
}

impl Contrast {
    /// What the ratio says of new. All contrasts that a gate tests share an error rate, and so do the others.
    pub fn verdict(&self) -> Comparison {
        let more_is_faster = self.subject.value.more_is_better();
        match self.judged.direction {
            _ if are_equivalent(&self.judged) => Comparison::Equivalent,
            Some(Direction::Above) if more_is_faster => Comparison::Faster,
            Some(Direction::Below) if more_is_faster => Comparison::Slower,
            Some(Direction::Above) => Comparison::Slower,
            Some(Direction::Below) => Comparison::Faster,
            Some(Direction::Undecided) | None => Comparison::Inconclusive,
        }
    }
}

/// The servers of a run against the first one, row by row, paired by block, at the looks of the run. Empty with fewer than two servers.
pub fn against_first(question: &Question, trials: &[Trial], tolerance: f64) -> Vec<Contrast> {
    let (looks, pairs) = (question.looks(), pairs_in_run(question, trials));
    contrasts(pairs, trials, tolerance, &|claims| {
        judge::judge_paired(&looks, claims, trials)
    })
}

/// How many comparisons of the servers of a run share an error rate, because a gate tests them.
pub(crate) fn tested_in_run(question: &Question, trials: &[Trial]) -> usize {
    let pairs = pairs_in_run(question, trials);
    let alike = pairs.iter().filter(|pair| pair.unlike.is_none());
    let compared = alike.flat_map(|pair| &pair.compared);
    compared.filter(|compared| compared.decides).count()
}

fn pairs_in_run(question: &Question, trials: &[Trial]) -> Vec<Pair> {
    let rows = table::rows(question, trials);
    let Some((first, others)) = question.servers.split_first() else {
        return Vec::new();
    };
    let pair = |(new, new_trials): &(RowKey, Vec<&Trial>)| {
        let server = others.iter().find(|other| Some(other.as_str()) == new.0)?;
        let old = (Some(first.as_str()), new.1);
        let (_, old_trials) = rows.iter().find(|(row, _)| *row == old)?;
        let pair = Pair {
            names: (first.clone(), server.clone()),
            cells: (cell(old), cell(*new)),
            server: None,
            levels: new.1.to_vec(),
            compared: compared(old_trials, new_trials),
            are_paired: true,
            unlike: likeness::unlike_in_run(old_trials, new_trials)
                .map(|why| format!("not comparable: {why}")),
            other_data: None,
            other_answer: None,
        };
        Some(pair)
    };
    rows.iter().filter_map(pair).collect()
}

/// Two rows whose values are compared.
pub(crate) struct Pair {
    pub(crate) names: (String, String),
    pub(crate) cells: (Cell, Cell),
    pub(crate) server: Option<String>,
    pub(crate) levels: Vec<(String, String)>,
    pub(crate) compared: Vec<Compared>,
    /// Whether the blocks of both sides belong together.
    pub(crate) are_paired: bool,
    /// Why the two rows measure different things, so that their values are shown and not compared.
    pub(crate) unlike: Option<String>,
    /// Of different runs, which are on the same data only by chance; as in [`Basis`].
    pub(crate) other_data: Option<String>,
    pub(crate) other_answer: Option<String>,
}

/// All trials of one row.
pub(crate) fn cell((server, levels): RowKey) -> Cell {
    let server = server.map(|server| ("server".to_string(), vec![server.to_string()]));
    let levels = (levels.iter()).map(|(factor, level)| (factor.clone(), vec![level.clone()]));
    Cell {
        levels: server.into_iter().chain(levels).collect(),
        ..Cell::default()
    }
}

/// The values that both rows have, from their first trials that count.
pub(crate) fn compared(old: &[&Trial], new: &[&Trial]) -> Vec<Compared> {
    let mut compared: Vec<Compared> = match (measured(old), measured(new)) {
        (Some(old), Some(new)) => old
            .into_iter()
            .filter(|value| new.contains(value))
            .collect(),
        (old, new) => old.or(new).unwrap_or_default(),
    };
    if is_unstable(old) && is_unstable(new) {
        compared.insert(0, of_load(Value::Throughput, true));
    }
    for one in compared.iter_mut().filter(|one| one.query.is_none()) {
        one.without = lacking(old.iter().chain(new), one.round.as_deref());
    }
    compared
}

/// The rounds that one row has and another one lacks, by their names. Empty where a row was not measured.
pub(crate) fn unshared(own: &[&Trial], other: &[&Trial]) -> Vec<String> {
    let (Some(own), Some(other)) = (measured(own), measured(other)) else {
        return Vec::new();
    };
    let unshared = own.into_iter().filter(|value| !other.contains(value));
    let whole = unshared.filter(|value| value.query.is_none());
    whole.filter_map(|value| value.round).collect()
}

/// Of the first trial that counts.
fn measured(trials: &[&Trial]) -> Option<Vec<Compared>> {
    cells::valid(trials).next().map(values)
}

/// The queries of rounds of this name that failed in a trial. Empty where nothing would be left, and with several clients, whose times
/// overlap: such a round has no sum.
fn lacking<'t>(trials: impl Iterator<Item = &'t &'t Trial>, name: Option<&str>) -> Vec<String> {
    let trials = trials.filter(|trial| trial.is_valid());
    let rounds = trials.flat_map(|trial| &trial.rounds);
    let mut rounds = rounds.filter(|round| name.is_some_and(|name| round.is_called(name)));
    let (mut lacking, mut all) = (BTreeSet::new(), BTreeSet::new());
    let is_single = rounds.all(|round| {
        for query in &round.queries {
            all.insert(&query.name);
            if query.has_failed() {
                lacking.insert(&query.name);
            }
        }
        round.clients() == 1
    });
    match is_single && lacking.len() < all.len() {
        true => lacking.into_iter().cloned().collect(),
        false => Vec::new(),
    }
}

/// In closed loop a gate tests the throughput. In open loop the throughput is the offered rate, so it tests the 99th percentile. With think
/// times the throughput is largely set by them, so it tests both. At a rate that neither side serves, [`compared`] adds the throughput.
fn values(trial: &Trial) -> Vec<Compared> {
    let response = |percentile| Value::Latency {
        kind: LatencyKind::Response,
        percentile,
    };
    match trial.load.as_ref().map(|load| &load.mode) {
        Some(Mode::Closed { think_s, .. }) => vec![
            of_load(Value::Throughput, true),
            of_load(response(Percentile::P50), false),
            of_load(response(Percentile::P99), *think_s > 0.0),
        ],
        Some(Mode::Open { .. }) => vec![
            of_load(response(Percentile::P99), true),
            of_load(response(Percentile::P50), false),
        ],
        None => of_rounds(trial),
    }
}

fn of_load(value: Value, decides: bool) -> Compared {
    Compared {
        value,
        round: None,
        query: None,
        without: Vec::new(),
        decides,
    }
}

/// The rounds by the names under which they were requested, and each query in them.
fn of_rounds(trial: &Trial) -> Vec<Compared> {
    each_once(trial.rounds.iter().flat_map(|round| {
        let is_cold = round.is_called("cold");
        let name = if is_cold { "cold" } else { round.name.as_str() };
        let of_round = move |query: Option<&String>| Compared {
            value: Value::Elapsed,
            round: Some(name.to_string()),
            query: query.cloned(),
            without: Vec::new(),
            decides: query.is_none(),
        };
        let queries = round.queries.iter().map(|query| &query.name);
        let several = queries.filter(move |_| round.queries.len() > 1).map(Some);
        std::iter::once(None).chain(several).map(of_round)
    }))
}

/// Judges the values that decide together, and all others together.
pub(crate) fn contrasts(
    pairs: Vec<Pair>,
    trials: &[Trial],
    tolerance: f64,
    judge: &dyn Fn(&[Claim]) -> Vec<Judged>,
) -> Vec<Contrast> {
    let each = || {
        pairs
            .iter()
            .flat_map(|pair| pair.compared.iter().map(move |c| (pair, c)))
    };
    let judged = |decides: bool| {
        let family =
            each().filter(|(pair, compared)| compared.decides == decides && pair.unlike.is_none());
        let claims: Vec<Claim> = family
            .map(|(pair, compared)| claim(pair, compared, tolerance))
            .collect();
        judge(&claims).into_iter()
    };
    let (mut deciding, mut shown) = (judged(true), judged(false));
    let contrast = |(pair, compared): (&Pair, &Compared)| {
        let family = if compared.decides {
            &mut deciding
        } else {
            &mut shown
        };
        let judged = match &pair.unlike {
            Some(why) => judge::not_available(&claim(pair, compared, tolerance), why),
            None => family.next()?,
        };
        let [old, new] = values_of(trials, pair, compared);
        let basis = Basis::of(&judged.claim, trials);
        Some(Contrast {
            old: pair.names.0.clone(),
            new: pair.names.1.clone(),
            server: pair.server.clone(),
            levels: pair.levels.clone(),
            old_value: old.0,
            new_value: new.0,
            old_is_uncertain: old.1,
            new_is_uncertain: new.1,
            subject: compared.clone(),
            basis: Basis {
                other_tables: basis.other_tables.filter(|_| pair.are_paired),
                other_data: pair.other_data.clone(),
                other_answer: pair.other_answer.clone(),
                unmeasured: pair.unlike.clone().or(basis.unmeasured),
                ..basis
            },
            judged,
        })
    };
    each().filter_map(contrast).collect()
}

fn claim(pair: &Pair, compared: &Compared, tolerance: f64) -> Claim {
    let bound = if compared.value.more_is_better() {
        Bound::AtLeast(1.0 / (1.0 + tolerance))
    } else {
        Bound::AtMost(1.0 + tolerance)
    };
    Claim {
        says: format!("{} against {}", pair.names.1, pair.names.0),
        subject: Subject::Ratio {
            value: compared.value.clone(),
            of: narrowed(&pair.cells.1, compared),
            to: narrowed(&pair.cells.0, compared),
            bound,
        },
        published: None,
    }
}

/// The row's cell with the round and the query that are compared.
fn narrowed(row: &Cell, compared: &Compared) -> Cell {
    Cell {
        levels: row.levels.clone(),
        round: compared.round.as_deref().map(RoundSelector::all),
        query: compared.query.clone(),
        without: compared.without.clone(),
    }
}

/// The values of old and new, and whether each is uncertain: of pairs, in the blocks that the ratio compares.
fn values_of(trials: &[Trial], pair: &Pair, compared: &Compared) -> [(Option<Estimate>, bool); 2] {
    let rows = |side| {
        let cell = narrowed(side, compared);
        cells::series(trials, &cell, &compared.value, u32::MAX).ok()
    };
    let (old, new) = (rows(&pair.cells.0), rows(&pair.cells.1));
    let common = match (&old, &new) {
        (Some(old), Some(new)) if pair.are_paired => cells::common_blocks(&[old, new]),
        _ => Vec::new(),
    };
    let value = |rows: Option<Vec<Series>>| {
        let is_uncertain = rows.iter().flatten().any(|row| row.uncertain.is_some());
        (rows.and_then(|rows| estimate(&rows, &common)), is_uncertain)
    };
    [value(old), value(new)]
}

/// The estimate over these blocks; without any, over all blocks that have a value.
fn estimate(rows: &[Series], blocks: &[u32]) -> Option<Estimate> {
    let counts = |block: u32| blocks.is_empty() || blocks.contains(&block);
    let each = rows.iter().flat_map(|row| {
        let of_row = row.by_block.iter();
        of_row.map(move |(block, value)| (*block, (*value, row.at_least)))
    });
    let counted = each.filter(|(block, _)| counts(*block));
    let values: Vec<(f64, bool)> = counted.map(|(_, value)| value).collect();
    let known_to = match blocks {
        [] => cells::known_to(rows, &cells::common_blocks(&[rows])),
        blocks => cells::known_to(rows, blocks),
    };
    Estimate::of_bounds(&values).map(|found| found.known_to(known_to))
}
