//! What a comparison rests on besides its values: whether both sides were measured, and what failed on each.
//!
//! Purpose: a side without a valid trial, or one whose operations failed, is never compared without a word. Boundaries: what
//! follows for a gate belongs to crate `report`.

use super::adjusted;
use super::same_tables;
use super::same_work::{self, OtherWork};
use crate::load::accounts::{summed, total};
use crate::load::generator::bottleneck::reactors_full;
use crate::load::recovery;
use crate::load::summary::{of_trial, summary};
use crate::values::cells::{self, RowKey, by_row, row_words, valid, why_it_does_not_count};
use crate::values::{load_value, resolution, words};
use record::claim::{Cell, Claim, Subject, Use, Value};
use record::load::THREADS;
use record::{Account, Flag, FlagKind, LoadFactor, Question, Summary, Trial, TrialState};
use std::cmp::Ordering;

/// The factors that a comparison of servers or runs is about.
const SERVER: &str = "server";
/// Holds a run's number while runs are compared.
pub(crate) const RUN: &str = "run";

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub recorded: u64,
    pub planned: u64,
    /// Whether they are searches, and not trials.
    pub is_search: bool,
}

/// How far a run is that was interrupted or killed; None for a complete one.
pub fn incomplete(question: &Question, trials: &[Trial]) -> Option<Progress> {
    // Of the trials of a search only the number of the last ones is known beforehand.
    let is_search = question.is_search();
    let is_end = |trial: &&Trial| !is_search || trial.flagged(FlagKind::Search).is_some();
    let progress = Progress {
        recorded: trials.iter().filter(is_end).count() as u64,
        planned: question.trials,
        is_search,
    };
    let is_complete = match &question.looks {
        Some(looks) => looks.ended.is_some(),
        None => progress.recorded >= progress.planned,
    };
    (!is_complete).then_some(progress)
}

/// What a comparison or a claim rests on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Basis {
    /// Why a side was not measured: a row of it has no valid trial, or measures another load than the other side.
    pub unmeasured: Option<String>,
    /// Why a percentile of a side is uncertain (rule 4): the first one that is.
    pub uncertain: Option<String>,
    /// Why the new side has no value although it was measured: its server did not serve the load, and that of the old side did.
    pub overloaded: Option<String>,
    /// Why the clients, and not the server, limited a trial of a side: the first one. None for a value that is no speed.
    pub clients_limit: Option<String>,
    /// None where the shares are the same, and without a second side. Of several rows, as below, of the two that differ most.
    pub failed: Option<FailedShares>,
    /// Shares of the arrivals of an open loop that were dropped; None where they are the same, and for sides that differ in more than server
    /// and run.
    pub dropped: Option<FailedShares>,
    /// None where no side lost any, without a second side, and for a figure of the audit itself.
    pub lost: Option<LostTransactions>,
    /// The operations that do other work on one side, of each kind of work one; empty where all do the same, and without a second side. Of
    /// sides and rows that differ in server, run, clients, workers and rate alone.
    pub other_work: Vec<OtherWork>,
    /// What happened to a trial of one side and to none of the other, so that they did not do the same: the first flag, or an event of every
    /// trial. Of sides that differ in more than server and run, only a flag that no level asks for. None for rows that do.
    pub one_sided: Option<String>,
    /// What of all sides hides how fast their servers are: the query cache answered, or pauses changed what servers that took turns do. None for
    /// shapes.
    pub hidden: Option<String>,
    /// How the user's own tables differ on two servers of a run; None between runs, whose data `other_data` compares.
    pub other_tables: Option<String>,
    /// How the data of two runs differ; None within a run.
    pub other_data: Option<String>,
    /// How an answer of two runs on the same data differs; None within a run, whose answers are compared while it is measured.
    pub other_answer: Option<String>,
}

/// Shares of the operations of a timed load that failed, were lost or have no known outcome, or of arrivals that were dropped, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedShares {
    /// The one whose shares differ most; None for all of the mix together.
    pub operation: Option<String>,
    /// The row of both sides whose shares differ most, by the factors that are averaged over; None for all rows together.
    pub row: Option<String>,
    pub old: f64,
    pub new: f64,
    /// The failures are so few that chance may explain how they differ.
    pub is_chance: bool,
}

impl FailedShares {
    /// By how much they differ.
    pub fn difference(&self) -> f64 {
        (self.new - self.old).abs()
    }
}

/// Acknowledged transactions that are missing, of all trials of the two sides that have an audit; among several rows, of the ones that lost
/// least and most.
#[derive(Clone, Debug, PartialEq)]
pub struct LostTransactions {
    pub old: Losses,
    pub new: Losses,
}

/// Those of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Missing, whole or in part.
    pub lost: u64,
    pub acknowledged: u64,
}

impl Losses {
    fn share(self) -> f64 {
        self.lost as f64 / self.acknowledged.max(1) as f64
    }
}

impl LostTransactions {
    /// By how much the shares differ where one side alone lost any; None if both did.
    pub fn difference(&self) -> Option<f64> {
        let is_of_one = self.old.lost == 0 || self.new.lost == 0;
        is_of_one.then(|| (self.new.share() - self.old.share()).abs())
    }
}

impl Basis {
    pub fn of(claim: &Claim, trials: &[Trial]) -> Basis {
        let cells = claim.cells();
        let value = claim.subject.value();
        let sides: Vec<Vec<&Trial>> = (cells.iter())
            .map(|cell| cells::matching(trials, cell))
            .collect();
        let mut unmeasured = cells.iter().zip(&sides);
        let rows = match (&claim.subject, sides.as_slice()) {
            (Subject::Ratio { of, to, .. }, [new, old]) => by_rows([of, to], old, new),
            _ => Vec::new(),
        };
        let differing_in = |free: fn(&str) -> bool| -> Vec<Sides> {
            match (&claim.subject, sides.as_slice()) {
                (Subject::Ratio { of, to, .. }, _) if are_same_setups(of, to, free) => {
                    rows.iter().map(|(_, sides)| sides.clone()).collect()
                }
                (Subject::Spread { .. }, [among]) => same_setups(among, free),
                _ => Vec::new(),
            }
        };
        let worked = differing_in(is_server_or_load).into_iter();
        let alike = differing_in(is_server);
        let dropped = alike.iter().filter_map(|(old, new)| dropped(old, new));
        Basis {
            unmeasured: unmeasured
                .find_map(|(cell, side)| unmeasured_row(cell, side, is_on_losses(claim))),
            uncertain: value.and_then(|value| uncertain(trials, &cells, value)),
            overloaded: overloaded(&sides, value),
            clients_limit: value
                .filter(|value| value.used() == Use::Speed)
                .and_then(|_| sides.iter().flatten().copied().find_map(clients_limit)),
            failed: match (&claim.subject, sides.as_slice()) {
                (Subject::Ratio { .. }, [new, old]) => failed_by_row(&rows, old, new),
                (Subject::Spread { .. }, [among]) => failed_among(among),
                _ => None,
            },
            dropped: dropped.max_by(by_difference),
            lost: match (value, sides.as_slice()) {
                (Some(Value::Audit(_)), _) => None,
                (_, [new, old]) => lost(losses(old), losses(new)),
                (Some(_), [among]) => lost_among(among),
                _ => None,
            },
            other_work: most_of_each(worked.flat_map(|(old, new)| same_work::other(&old, &new))),
            one_sided: match sides.as_slice() {
                [new, old] if alike.is_empty() => of_one_side(&NEVER_ASKED, old, new),
                _ => alike.iter().find_map(|(old, new)| one_sided(old, new)),
            },
            hidden: value.and_then(|value| {
                let is_speed = value.used() == Use::Speed;
                let cached = is_speed.then(|| cached(&sides)).flatten();
                cached.or_else(|| pauses(&sides))
            }),
            other_tables: alike
                .iter()
                .find_map(|(old, new)| same_tables::other(old, new)),
            other_data: None,
            other_answer: None,
        }
    }
}

fn is_server(factor: &str) -> bool {
    factor == SERVER
}

/// More clients send more operations, and the same ones.
fn is_server_or_load(factor: &str) -> bool {
    is_server(factor) || LoadFactor::named(factor).is_some()
}

/// Whether two cells differ in free factors alone: other levels may change what an operation does. Those of two runs are the same cell,
/// also where each run has one level of a factor and calls it otherwise.
fn are_same_setups(of: &Cell, to: &Cell, is_free: fn(&str) -> bool) -> bool {
    let are_same =
        |is_free: fn(&str) -> bool| rest(&of.levels, is_free) == rest(&to.levels, is_free);
    !are_same(|factor| factor != RUN) || are_same(is_free)
}

/// The levels of the other factors.
fn rest<L>(levels: &[(String, L)], is_free: impl Fn(&str) -> bool) -> Vec<&(String, L)> {
    let levels = levels.iter();
    levels.filter(|(factor, _)| !is_free(factor)).collect()
}

/// The trials of an old and a new side.
type Sides<'t> = (Vec<&'t Trial>, Vec<&'t Trial>);

/// The trials of both sides row by row, of factors that neither cell names, with the words for each row.
fn by_rows<'t>(
    named: [&Cell; 2],
    old: &[&'t Trial],
    new: &[&'t Trial],
) -> Vec<(String, Sides<'t>)> {
    let is_named = |factor: &str| {
        let mut levels = named.iter().flat_map(|cell| &cell.levels);
        levels.any(|(named, _)| named == factor)
    };
    let words = |trial: &Trial| {
        let server = trial.key.server.as_deref();
        let levels = rest(&trial.key.levels, is_named);
        let levels: Vec<(String, String)> = levels.into_iter().cloned().collect();
        row_words((server.filter(|_| !is_named(SERVER)), &levels))
    };
    let rows =
        |trials: &[&'t Trial]| cells::by_key(trials.iter().map(|trial| (words(trial), *trial)));
    let of_old = rows(old);
    let pair = |(row, new): (String, Vec<&'t Trial>)| {
        let (_, old) = of_old.iter().find(|(other, _)| *other == row)?;
        Some((row, (old.clone(), new)))
    };
    rows(new).into_iter().filter_map(pair).collect()
}

/// The rows that differ from an earlier one in their server, if at all, and free factors alone, with that one.
fn same_setups<'t>(trials: &[&'t Trial], is_free: fn(&str) -> bool) -> Vec<Sides<'t>> {
    let rows = Vec::from_iter(by_row(trials.iter().copied()));
    let pair = |(place, (row, new)): (usize, &(RowKey<'t>, Vec<&'t Trial>))| {
        let mut earlier = rows[..place].iter();
        let own = rest(row.1, is_free);
        let (_, old) = earlier.find(|(first, _)| rest(first.1, is_free) == own)?;
        Some((old.clone(), new.clone()))
    };
    rows.iter().enumerate().filter_map(pair).collect()
}

/// Of each kind of work the one whose shares differ most.
fn most_of_each(all: impl Iterator<Item = OtherWork>) -> Vec<OtherWork> {
    let mut found: Vec<OtherWork> = Vec::new();
    for one in all {
        match found.iter_mut().find(|known| known.what == one.what) {
            Some(known) if one.difference_of_shares() > known.difference_of_shares() => {
                *known = one;
            }
            Some(_) => {}
            None => found.push(one),
        }
    }
    found
}

fn uncertain(trials: &[Trial], sides: &[&Cell], value: &Value) -> Option<String> {
    if resolution::of_histogram(value) == 0.0 {
        return None;
    }
    let rows = sides.iter();
    let rows = rows.filter_map(|side| cells::series(trials, side, value, u32::MAX).ok());
    rows.flatten().find_map(|row| row.uncertain)
}

/// Whether the claim is on losses, which an audited trial shows that is invalid for speed.
fn is_on_losses(claim: &Claim) -> bool {
    matches!(&claim.subject, Subject::Finds { finding, .. } if finding.is_on_losses())
}

fn by_difference(a: &FailedShares, b: &FailedShares) -> Ordering {
    a.difference().total_cmp(&b.difference())
}

/// Of all rows together, or of the one that differs more, unless by chance: failures of one row are not averaged away.
fn failed_by_row(rows: &[(String, Sides)], old: &[&Trial], new: &[&Trial]) -> Option<FailedShares> {
    let of_row = |(row, (old, new)): &(String, Sides)| {
        let found = failed(old, new).filter(|found| !found.is_chance)?;
        Some(FailedShares {
            row: Some(row.clone()),
            ..found
        })
    };
    let rows = rows.iter().filter_map(of_row);
    rows.chain(failed(old, new)).max_by(by_difference)
}

/// Of the two rows whose shares differ most.
fn failed_among(trials: &[&Trial]) -> Option<FailedShares> {
    let rows = by_row(trials.iter().copied());
    let share = |trials: &&Vec<&Trial>| total(&sums(trials)).failed_share();
    let by_share = |a: &&Vec<&Trial>, b: &&Vec<&Trial>| share(a).total_cmp(&share(b));
    let least = rows.values().min_by(by_share)?;
    let most = rows.values().max_by(by_share)?;
    failed(least, most)
}

/// The first row of a cell without a valid trial, and why, or the first level without any. `by_audit`: one that was audited is enough.
pub(crate) fn unmeasured_row(cell: &Cell, trials: &[&Trial], by_audit: bool) -> Option<String> {
    if trials.is_empty() {
        return Some(format!(
            "no trial of {} was measured",
            words::cell_words(cell)
        ));
    }
    let rows = by_row(trials.iter().copied());
    let counts = |trial: &Trial| trial.is_valid() || (by_audit && trial.audit.is_some());
    let lacking = rows
        .iter()
        .find(|(_, trials)| !trials.iter().any(|trial| counts(trial)));
    let lacking = lacking.map(|(row, trials)| {
        let why = match trials[0].not_applied() {
            Some(why) if trials[0].state == TrialState::Done => why.to_string(),
            _ => why_it_does_not_count(trials[0]),
        };
        format!("no valid trial of {}: {why}", row_words(*row))
    });
    lacking.or_else(|| cells::unmeasured_level(cell, trials))
}

/// What neither side served says nothing of the new one.
fn overloaded(sides: &[Vec<&Trial>], value: Option<&Value>) -> Option<String> {
    let (new, others) = sides.split_first()?;
    let are_all_served = |side: &Vec<&Trial>| first_unserved(side, value).is_none();
    first_unserved(new, value).filter(|_| others.iter().all(are_all_served))
}

fn first_unserved(trials: &[&Trial], value: Option<&Value>) -> Option<String> {
    let is_done = |trial: &&&Trial| trial.state == TrialState::Done;
    trials.iter().filter(is_done).find_map(|trial| {
        let why = unserved(trial, &*of_trial(trial)?, value)?;
        Some(format!("{}: {why}", trial.key))
    })
}

/// Whether a valid trial of an open loop exceeded what its server can serve.
pub(crate) fn is_unstable(trials: &[&Trial]) -> bool {
    let mut summaries = valid(trials).filter_map(of_trial);
    summaries.any(|summary| summary.unstable().is_some())
}

/// The load generator or the link to it was full, so that a faster server would show the same figures. Clients that are threads do the work
/// themselves, as with SQLite and files.
fn clients_limit(trial: &Trial) -> Option<String> {
    let load = trial.load.as_deref().filter(|_| trial.is_valid())?;
    let link = trial.flagged(FlagKind::ClientsLink);
    let own = || match load.engine.backend.as_str() {
        THREADS => None,
        _ => reactors_full(load, summary(load).engine.cores),
    };
    let why = link.map(|flag| flag.text.clone()).or_else(own)?;
    Some(format!("{}: {why}", trial.key))
}

/// What makes a valid trial another measurement, if the other side has none of it, and no level of an experiment asks for.
const NEVER_ASKED: [FlagKind; 7] = [
    FlagKind::CharsetIgnored,
    FlagKind::DataMoved,
    FlagKind::EventMissed,
    FlagKind::ForeignClients,
    FlagKind::LimitNotReached,
    FlagKind::QueryCache,
    FlagKind::SettingChanged,
];

/// The same, where a level other than the server may have made it.
const OF_ONE_SIDE: [FlagKind; 13] = [
    FlagKind::DataNotHeld,
    FlagKind::EventsOff,
    FlagKind::FilesOverwritten,
    FlagKind::HintIgnored,
    FlagKind::LoopVolume,
    FlagKind::NotPreloaded,
    FlagKind::NotRecovered,
    FlagKind::QuorumLost,
    FlagKind::SettingAdjusted,
    FlagKind::SmallerThanCaches,
    FlagKind::SwitchIgnored,
    FlagKind::VolatileVolume,
    FlagKind::WarmUpBacklog,
];

/// Of sides that should differ in their server or run alone.
fn one_sided(old: &[&Trial], new: &[&Trial]) -> Option<String> {
    of_one_side(&NEVER_ASKED, old, new)
        .or_else(|| of_one_side(&OF_ONE_SIDE, old, new))
        .or_else(|| event(new, old))
        .or_else(|| event(old, new))
}

/// The first flag of these kinds of one side, of which the other has none. None where a side has no valid trial.
fn of_one_side(kinds: &[FlagKind], old: &[&Trial], new: &[&Trial]) -> Option<String> {
    let alone = |own: &[&Trial], other: &[&Trial]| {
        let is_alone = |kind: &FlagKind| flags(other).all(|(_, flag)| flag.kind != *kind);
        let mut own = flags(own).filter(|(_, flag)| kinds.contains(&flag.kind));
        let found = own.find(|(trial, flag)| {
            is_alone(&flag.kind) && !adjusted::is_harmless(trial, flag, other)
        });
        found.map(|(trial, flag)| format!("{}: {}", trial.key, flag.text))
    };
    valid(old).zip(valid(new)).next()?;
    alone(new, old).or_else(|| alone(old, new))
}

/// On all sides: the cache of one side alone is in `one_sided`.
fn cached(sides: &[Vec<&Trial>]) -> Option<String> {
    let each = sides
        .iter()
        .map(|side| flags(side).find(|(_, flag)| flag.kind == FlagKind::QueryCache));
    let all: Vec<(&Trial, &Flag)> = each.collect::<Option<_>>()?;
    let (trial, flag) = all.first()?;
    Some(format!("{}: {}", trial.key, flag.text))
}

/// Servers with the same values of these settings are paused alike, whatever a third one has.
fn pauses(sides: &[Vec<&Trial>]) -> Option<String> {
    let all = || sides.iter().flat_map(|side| flags(side));
    let (first, flag) = all().find(|(_, flag)| flag.kind == FlagKind::PausesMatter)?;
    let mut others = all().filter(|(_, other)| other.kind == flag.kind);
    let are_other = others.any(|(_, other)| other.text != flag.text);
    are_other.then(|| format!("{}: {}", first.key, flag.text))
}

/// An event of every valid trial of one side, and of none of the other: it was restricted to a server, or its time never came in the rounds
/// of the faster one.
fn event(own: &[&Trial], other: &[&Trial]) -> Option<String> {
    let (first, _) = valid(own).zip(valid(other)).next()?;
    let has = |trial: &Trial, kind: &str| trial.events.iter().any(|event| event.kind == kind);
    let is_alone = |kind: &str| {
        valid(own).all(|trial| has(trial, kind)) && !valid(other).any(|trial| has(trial, kind))
    };
    let found = first.events.iter().find(|event| is_alone(&event.kind))?;
    Some(format!("{}: a \"{}\" event ran", first.key, found.kind))
}

/// Of the valid trials.
fn flags<'t>(trials: &[&'t Trial]) -> impl Iterator<Item = (&'t Trial, &'t Flag)> {
    valid(trials).flat_map(|trial| trial.flags.iter().map(move |flag| (trial, flag)))
}

/// Why a trial has no such value: its open load exceeded what the server can serve, the percentile lies among arrivals that were never
/// answered, or the maximum among dropped ones, nothing was done, or the throughput did not return after an outage.
fn unserved(trial: &Trial, summary: &Summary, value: Option<&Value>) -> Option<String> {
    let unstable = summary.unstable().map(String::from);
    unstable.or_else(|| match value? {
        Value::Throughput => {
            (summary.throughput == Some(0.0)).then(|| "no operation was done".to_string())
        }
        Value::Latency { kind, percentile } => {
            let found = summary.latency.of(*kind)?;
            let is_unanswered = found.is_unanswered(*percentile);
            let why = is_unanswered.then(|| found.why_not(*percentile));
            why.or_else(|| load_value::why_no_max(summary, *kind, *percentile))
        }
        Value::Recovery(number) => recovery::not_back(trial, number).map(String::from),
        Value::Variation | Value::ReadAge | Value::Audit(_) => None,
        Value::Elapsed | Value::Counter(_) | Value::Quotient(..) => None,
    })
}

/// Of the mix together, or of the operation where they differ more, work of the background among them; None where nothing differs.
fn failed(old: &[&Trial], new: &[&Trial]) -> Option<FailedShares> {
    let (old, new) = (sums(old), sums(new));
    let shares = |operation: Option<&str>, old: &Account, new: &Account| FailedShares {
        operation: operation.map(String::from),
        row: None,
        old: old.failed_share(),
        new: new.failed_share(),
        is_chance: are_few(old, new),
    };
    let whole = shares(None, &total(&old), &total(&new));
    let each = old.iter().filter_map(|old| {
        let new = new.iter().find(|new| new.name == old.name)?;
        (!are_few(old, new)).then(|| shares(Some(&old.name), old, new))
    });
    let most = each.max_by(by_difference);
    let most = most.filter(|most| most.difference() > whole.difference());
    most.or(Some(whole))
        .filter(|found| found.difference() > 0.0)
}

/// Of the measured parts; of an unstable load, of all of it.
fn dropped(old: &[&Trial], new: &[&Trial]) -> Option<FailedShares> {
    let sums = |trials: &[&Trial]| {
        let each = valid(trials).filter_map(|trial| {
            let open = trial.load.as_deref()?.open.as_ref()?;
            let measured = load_value::dropped_of_all(&*of_trial(trial)?);
            Some(measured.unwrap_or((open.dropped, open.arrived)))
        });
        each.fold((0, 0), |(dropped, all), (more_dropped, more)| {
            (dropped + more_dropped, all + more)
        })
    };
    let share = |(dropped, all): (u64, u64)| dropped as f64 / all.max(1) as f64;
    let (of_old, of_new) = (sums(old), sums(new));
    let shares = FailedShares {
        operation: None,
        row: None,
        old: share(of_old),
        new: share(of_new),
        is_chance: of_old.0.max(of_new.0) <= FEW,
    };
    Some(shares).filter(|shares| shares.difference() > 0.0)
}

fn lost(old: Losses, new: Losses) -> Option<LostTransactions> {
    (old.lost + new.lost > 0).then_some(LostTransactions { old, new })
}

/// Of the rows that lost the smallest and the largest share.
fn lost_among(trials: &[&Trial]) -> Option<LostTransactions> {
    let rows = by_row(trials.iter().copied()).into_values();
    let mut rows: Vec<Losses> = rows.map(|trials| losses(&trials)).collect();
    rows.sort_by(|a, b| a.share().total_cmp(&b.share()));
    lost(*rows.first()?, *rows.last()?)
}

fn losses(trials: &[&Trial]) -> Losses {
    let audits = trials.iter().filter_map(|trial| trial.audit.as_ref());
    audits.fold(Losses::default(), |sum, audit| Losses {
        lost: sum.lost + audit.lost + audit.partly_applied,
        acknowledged: sum.acknowledged + audit.acknowledged,
    })
}

/// So many failures say nothing about a share: of few operations they are a large one.
const FEW: u64 = 2;

fn are_few(old: &Account, new: &Account) -> bool {
    old.errors.max(new.errors) <= FEW
}

/// The accounts of all loads, valid or not, by operation.
fn sums(trials: &[&Trial]) -> Vec<Account> {
    let summaries: Vec<_> = trials.iter().filter_map(|trial| of_trial(trial)).collect();
    let all = summaries.iter().flat_map(|summary| &summary.accounts);
    summed(all, |one| &one.name, Account::add)
}
