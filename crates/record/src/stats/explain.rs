//! Why the two rows that differ most do: the counters, ranked by how much they differ.
//!
//! Non-goal: proof. Counters that move with the time suggest a cause; the reader decides.

use super::cells::RowKey;
use super::meanings::{DERIVED, is_beside_the_point, meaning};
use super::ratio::LogMean;
use super::table::rows;
use crate::run::Question;
use crate::trial::{Counters, Round, Trial, TrialState};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer events than this in a round explain nothing.
const FEW: f64 = 50.0;

/// A counter of which nobody knows the meaning has to differ by the square to rank the same.
const UNKNOWN_WEIGHT: f64 = 0.5;

/// One counter of two rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its name, or a quotient: `Innodb_buffer_pool_reads / Innodb_buffer_pool_read_requests`.
    pub counter: String,
    /// Per round, the mean over rounds of that name and over blocks; none where the server lacks it.
    pub of: Option<f64>,
    pub to: Option<f64>,
    /// `of / to`; none where one is absent or `to` is 0.
    pub ratio: Option<f64>,
    pub meaning: Option<&'static str>,
    /// Whether it differs by more than it does between blocks, or between the rounds of one; none where neither repeats.
    pub beyond_noise: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Server and levels of the slower row.
    pub of: (String, Vec<(String, String)>),
    pub to: (String, Vec<(String, String)>),
    /// The rounds' name: `hot` is the mean of all of them.
    pub round: String,
    /// Elapsed, slower over faster: at least 1.
    pub ratio: f64,
    /// At most as many as asked for, the most telling first.
    pub differences: Vec<Difference>,
}

/// The largest ratio of times in a round of the same name, between two rows that differ in as few factors as any two
/// do, and the counters of these. Needs the rounds' counters alone. None with fewer than two measured rows.
pub fn explain_largest(question: &Question, trials: &[Trial], most: usize) -> Option<Explanation> {
    let rows: Vec<Measured> = rows(question, trials)
        .into_iter()
        .filter_map(measured)
        .collect();
    let pairs = || {
        rows.iter()
            .enumerate()
            .flat_map(|(n, of)| rows[n + 1..].iter().map(move |to| (of, to)))
    };
    let fewest = pairs().map(|(of, to)| distance(of.key, to.key)).min()?;
    let near = pairs().filter(|(of, to)| distance(of.key, to.key) == fewest);
    let names: BTreeSet<&String> = question.rounds.iter().collect();
    let candidates =
        near.flat_map(|(of, to)| names.iter().filter_map(move |name| candidate(of, to, name)));
    let (of, to, round, ratio) = candidates.max_by(|a, b| a.3.total_cmp(&b.3))?;
    let differences = differences(&of.rounds(round), &to.rounds(round), most);
    Some(Explanation {
        of: owned(of.key),
        to: owned(to.key),
        round: round.to_string(),
        ratio,
        differences,
    })
}

fn owned((server, levels): RowKey) -> (String, Vec<(String, String)>) {
    (server.to_string(), levels.to_vec())
}

/// How many factors differ, the server among them.
fn distance(of: RowKey, to: RowKey) -> usize {
    let other = |(factor, level): &&(String, String)| {
        to.1.iter()
            .any(|(name, theirs)| name == factor && theirs != level)
    };
    usize::from(of.0 != to.0) + of.1.iter().filter(other).count()
}

/// A row with its trials that count.
struct Measured<'t> {
    key: RowKey<'t>,
    trials: Vec<&'t Trial>,
}

fn measured<'t>((key, trials): (RowKey<'t>, Vec<&'t Trial>)) -> Option<Measured<'t>> {
    let trials: Vec<&Trial> = trials
        .into_iter()
        .filter(|trial| trial.state == TrialState::Done)
        .collect();
    (!trials.is_empty()).then_some(Measured { key, trials })
}

/// The rounds of one name by block.
type Blocks<'t> = BTreeMap<u32, Vec<&'t Round>>;

impl<'t> Measured<'t> {
    fn rounds(&self, name: &str) -> Blocks<'t> {
        let named = |trial: &'t Trial| {
            trial
                .rounds
                .iter()
                .filter(|round| round.name == name)
                .collect::<Vec<_>>()
        };
        self.trials
            .iter()
            .map(|trial| (trial.key.block, named(trial)))
            .filter(|(_, rounds)| !rounds.is_empty())
            .collect()
    }

    fn elapsed_s(&self, name: &str) -> Option<f64> {
        let means: Vec<f64> = self
            .rounds(name)
            .values()
            .map(|rounds| mean(rounds.iter().map(|r| r.elapsed_s)))
            .collect();
        Some(LogMean::of(&means)?.geometric())
    }
}

/// The slower row first.
fn candidate<'r, 't>(
    a: &'r Measured<'t>,
    b: &'r Measured<'t>,
    round: &'r str,
) -> Option<(&'r Measured<'t>, &'r Measured<'t>, &'r str, f64)> {
    let ratio = a.elapsed_s(round)? / b.elapsed_s(round)?;
    Some(if ratio < 1.0 {
        (b, a, round, 1.0 / ratio)
    } else {
        (a, b, round, ratio)
    })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / count as f64
}

/// Whatever can be read off a round: a counter, or a quotient of two; each by its name and its place among the columns.
enum Probe<'n> {
    Counter((&'n str, usize)),
    Quotient((&'n str, usize), (&'n str, usize)),
}

impl Probe<'_> {
    fn name(&self) -> String {
        match self {
            Probe::Counter((name, _)) => name.to_string(),
            Probe::Quotient((over, _), (under, _)) => format!("{over} / {under}"),
        }
    }

    fn read(&self, line: &[Option<f64>]) -> Option<f64> {
        match self {
            Probe::Counter((_, place)) => line[*place],
            Probe::Quotient((_, over), (_, under)) => {
                Some(line[*over]? / line[*under].filter(|under| *under >= FEW)?)
            }
        }
    }

    /// Added before logarithms are taken, so that 0 has one, and counts near it do not look large.
    fn offset(&self) -> f64 {
        match self {
            Probe::Counter(_) => 1.0,
            Probe::Quotient(..) => 1e-6,
        }
    }

    fn is_few(&self, of: Option<f64>, to: Option<f64>) -> bool {
        matches!(self, Probe::Counter(_)) && of.unwrap_or(0.0).max(to.unwrap_or(0.0)) < FEW
    }
}

fn differences(of: &Blocks, to: &Blocks, most: usize) -> Vec<Difference> {
    let names = names(of.values().chain(to.values()).flatten().copied());
    let (of, to) = (figures(&names, of), figures(&names, to));
    let mut ranked: Vec<(Rank, Difference)> = probes(&names)
        .iter()
        .filter_map(|probe| difference(probe, &of, &to))
        .collect();
    ranked.sort_by(|(a, _), (b, _)| a.tier.cmp(&b.tier).then(b.score.total_cmp(&a.score)));
    ranked
        .into_iter()
        .take(most)
        .map(|(_, difference)| difference)
        .collect()
}

/// The counters that any of the rounds has, in ascending order, without those that are beside the point. Most rounds have
/// the same ones, so that a list like the one before is passed over.
fn names<'t>(rounds: impl Iterator<Item = &'t Round>) -> Vec<&'t str> {
    let mut lists: Vec<&Counters> = Vec::new();
    for round in rounds {
        let known = |list: &&Counters| list.keys().eq(round.counters.keys());
        if !lists.last().is_some_and(known) {
            lists.push(&round.counters);
        }
    }
    let names: BTreeSet<&str> = lists
        .into_iter()
        .flat_map(|list| list.keys().map(String::as_str))
        .collect();
    names
        .into_iter()
        .filter(|name| !is_beside_the_point(name))
        .collect()
}

/// By block, a line a round, in it a figure a name; none where the server lacks the counter.
type Figures = BTreeMap<u32, Vec<Vec<Option<f64>>>>;

fn figures(names: &[&str], blocks: &Blocks) -> Figures {
    let lines = |rounds: &Vec<&Round>| {
        let lines = rounds.iter().map(|round| line(names, &round.counters));
        lines.collect()
    };
    blocks
        .iter()
        .map(|(block, rounds)| (*block, lines(rounds)))
        .collect()
}

/// Both are in ascending order, so that they are walked side by side.
fn line(names: &[&str], counters: &Counters) -> Vec<Option<f64>> {
    let mut counters = counters.iter().peekable();
    let figure = |name: &&str| {
        while counters
            .next_if(|(theirs, _)| theirs.as_str() < *name)
            .is_some()
        {}
        let found = counters.next_if(|(theirs, _)| theirs.as_str() == *name);
        found.map(|(_, delta)| *delta as f64)
    };
    names.iter().map(figure).collect()
}

/// Every counter, and every quotient whose parts are there.
fn probes<'n>(names: &[&'n str]) -> Vec<Probe<'n>> {
    let column = |name: &str| {
        names
            .binary_search(&name)
            .ok()
            .map(|place| (names[place], place))
    };
    let counters = names.iter().enumerate();
    let quotients = DERIVED
        .iter()
        .filter_map(|(over, under)| Some(Probe::Quotient(column(over)?, column(under)?)));
    counters
        .map(|(place, name)| Probe::Counter((*name, place)))
        .chain(quotients)
        .collect()
}

/// First what both have and what is beyond noise, then what only one has, then noise.
struct Rank {
    tier: u8,
    score: f64,
}

fn difference(probe: &Probe, of: &Figures, to: &Figures) -> Option<(Rank, Difference)> {
    let (of_s, to_s) = (values(probe, of), values(probe, to));
    let overall = |values: &BTreeMap<u32, Vec<f64>>| {
        let means: Vec<f64> = values
            .values()
            .map(|block| mean(block.iter().copied()))
            .collect();
        (!means.is_empty()).then(|| mean(means.into_iter()))
    };
    let (of, to, name) = (overall(&of_s), overall(&to_s), probe.name());
    let meaning = meaning(&name);
    let same = of == to;
    if same || probe.is_few(of, to) || (meaning.is_none() && (of.is_none() || to.is_none())) {
        return None;
    }
    let beyond_noise = beyond_noise(probe, &of_s, &to_s);
    let tier = match (of, to, beyond_noise) {
        (Some(_), Some(_), Some(false)) => 2,
        (Some(_), Some(_), _) => 0,
        _ => 1,
    };
    let log = |value: Option<f64>| (value.unwrap_or(0.0).max(0.0) + probe.offset()).ln();
    let score = (log(of) - log(to)).abs()
        * if meaning.is_some() {
            1.0
        } else {
            UNKNOWN_WEIGHT
        };
    let ratio = of
        .zip(to)
        .filter(|(_, to)| *to != 0.0)
        .map(|(of, to)| of / to);
    Some((
        Rank { tier, score },
        Difference {
            counter: name,
            of,
            to,
            ratio,
            meaning,
            beyond_noise,
        },
    ))
}

/// By block, the values of its rounds.
fn values(probe: &Probe, figures: &Figures) -> BTreeMap<u32, Vec<f64>> {
    let read = |lines: &Vec<Vec<Option<f64>>>| {
        let values = lines.iter().filter_map(|line| probe.read(line));
        values.collect::<Vec<f64>>()
    };
    figures
        .iter()
        .map(|(block, lines)| (*block, read(lines)))
        .filter(|(_, values)| !values.is_empty())
        .collect()
}

/// Over blocks by the t interval of the paired ratio; in one block by the ranges of its rounds, which must not touch.
fn beyond_noise(
    probe: &Probe,
    of: &BTreeMap<u32, Vec<f64>>,
    to: &BTreeMap<u32, Vec<f64>>,
) -> Option<bool> {
    let paired: Vec<(&Vec<f64>, &Vec<f64>)> = of
        .iter()
        .filter_map(|(block, of)| Some((of, to.get(block)?)))
        .collect();
    let lifted = |values: &[f64]| mean(values.iter().copied()).max(0.0) + probe.offset();
    let ratios: Vec<f64> = paired
        .iter()
        .map(|(of, to)| lifted(of) / lifted(to))
        .collect();
    if let Some((low, high)) = LogMean::of(&ratios)?.ci() {
        return Some(low > 1.0 || high < 1.0);
    }
    let (of, to) = paired
        .first()
        .filter(|(of, to)| of.len() > 1 && to.len() > 1)?;
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(least(of) > most(to) || most(of) < least(to))
}
