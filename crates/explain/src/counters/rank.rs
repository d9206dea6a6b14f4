//! Counters of two sides, ranked by what they cost, and then by how much they differ beyond their own noise.
//!
//! Purpose: the most significant counter first. Boundary: its meaning is in `reason`.

use super::causes::is_comparable;
use super::cost::{self, Explains};
use super::doubled::{self, Doubled};
use super::meanings::{DERIVED, is_beside_the_point, meaning};
use crate::side::times::Gap;
use crate::side::{Line, Side};
use record::{Counters, names};
use stats::{CONFIDENCE, LogMean};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum number of events per side that can explain a difference.
const FEW: f64 = 50.0;

/// A counter without a known meaning has to differ by the square to rank the same.
const UNKNOWN_WEIGHT: f64 = 0.5;

/// One counter of two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its name, or a quotient: `Innodb_buffer_pool_reads / Innodb_buffer_pool_read_requests`.
    pub counter: String,
    /// Per operation, the mean over rounds and over blocks; none if the server lacks it.
    pub of: Option<f64>,
    pub to: Option<f64>,
    /// `of / to`; none if one is absent or `to` is 0.
    pub ratio: Option<f64>,
    pub meaning: Option<&'static str>,
    /// Whether it differs by more than between blocks, with a false discovery rate of 5 % over all counters, or between the rounds
    /// of one block; none without repeats.
    pub beyond_noise: Option<bool>,
    /// The side on which it counts rows twice because of a feature, which is not more work.
    pub doubled: Option<Doubled>,
    /// What it explains of the difference of the times; None if these do not differ, if it costs no time that prony knows, or
    /// if the faster side has more of it.
    pub explains: Option<Explains>,
}

/// A counter or a quotient of two counters, by their names and their columns.
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

    fn read(&self, events: &[Option<f64>], operations: f64) -> Option<f64> {
        match self {
            Probe::Counter((_, place)) => Some(events[*place]? / operations),
            Probe::Quotient((_, over), (_, under)) => {
                Some(events[*over]? / events[*under].filter(|under| *under >= FEW)?)
            }
        }
    }
}

/// The counters of both sides as columns.
struct Columns<'n> {
    names: Vec<&'n str>,
    of: Figures,
    to: Figures,
    /// Operations of a line, the mean over both sides.
    operations: f64,
}

impl Columns<'_> {
    /// Added before taking logarithms, so that 0 has one and small counts do not weigh too much: one event per line.
    fn offset(&self, probe: &Probe) -> f64 {
        match probe {
            Probe::Counter(_) => 1.0 / self.operations,
            Probe::Quotient(..) => 1e-6,
        }
    }

    fn is_few(&self, probe: &Probe, of: Option<f64>, to: Option<f64>) -> bool {
        let most = of.unwrap_or(0.0).max(to.unwrap_or(0.0));
        matches!(probe, Probe::Counter(_)) && most * self.operations < FEW
    }
}

/// The most significant first. `gap` is the difference of the times; None if there is none to explain.
pub(crate) fn differences(of: &Side, to: &Side, gap: Option<&Gap>) -> Vec<Difference> {
    let columns = columns(of, to);
    let measured: Vec<Measured> = probes(&columns.names)
        .iter()
        .filter_map(|probe| difference(probe, &columns))
        .collect();
    let ranked = |measured: Measured| {
        let difference = measured.difference;
        let difference = Difference {
            doubled: doubled::doubled(&difference.counter, of, to),
            explains: gap.and_then(|gap| explains(&difference, of, to, gap)),
            ..difference
        };
        (rank(measured.score, &difference), difference)
    };
    let mut in_order: Vec<((u8, f64), Difference)> =
        corrected(measured).into_iter().map(ranked).collect();
    in_order.sort_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    in_order
        .into_iter()
        .map(|(_, difference)| difference)
        .collect()
}

/// Counters of pages written for one reason. Servers divide their writes among them by rules of their own.
const PARTS_OF_WRITES: [&str; 6] = [
    "buffer_flush_sync_total_pages",
    "buffer_flush_adaptive_total_pages",
    "buffer_flush_background_total_pages",
    "buffer_flush_neighbor_total_pages",
    "buffer_LRU_batch_flush_total_pages",
    "Innodb_buffer_pool_pages_LRU_flushed",
];

/// Whether it is a part of all pages written, of which the slower side does not write more.
fn is_part_of_no_more(counter: &str, of: &Side, to: &Side, gap: &Gap) -> bool {
    let per_operation = |side: &Side| Some(side.sum("Innodb_pages_written")? / side.operations());
    let (faster, slower) = gap.faster.own_and_other(of, to);
    let all = per_operation(slower).zip(per_operation(faster));
    PARTS_OF_WRITES.contains(&counter) && all.is_some_and(|(slower, faster)| slower <= faster)
}

/// What the further events of the slower side cost, over the difference of the times.
fn explains(difference: &Difference, of: &Side, to: &Side, gap: &Gap) -> Option<Explains> {
    let event = cost::event(&difference.counter)?;
    if is_part_of_no_more(&difference.counter, of, to, gap) {
        return None;
    }
    let own =
        |value: Option<f64>, side: &Side| Some(value? * cost::own_share(&difference.counter, side));
    let (own_of, own_to) = (own(difference.of, of)?, own(difference.to, to)?);
    let (faster, slower) = gap.faster.own_and_other(of, to);
    let (own_faster, own_slower) = gap.faster.own_and_other(own_of, own_to);
    let more = own_slower - own_faster;
    if !is_comparable(&difference.counter, slower, faster) {
        return None;
    }
    let each = event.cost(slower);
    let waiting = match event.holds_up_all() {
        true => gap.clients,
        false => 1.0,
    };
    let within = event.is_cpu().then(|| cpu_gap_s(slower, faster)).flatten();
    let share = |each_s: f64| {
        let cost_s = more * each_s * waiting;
        within.map_or(cost_s, |cpu_s| cost_s.min(cpu_s)) / gap.waited_s
    };
    (more > 0.0).then(|| Explains {
        each,
        share: share(each.typical_s),
        share_most: share(each.most_s),
    })
}

/// The additional CPU time of an operation of the slower side (s), at least 0; None if it was not measured. CPU work costs no more than
/// that.
fn cpu_gap_s(slower: &Side, faster: &Side) -> Option<f64> {
    let cpu_s = |side: &Side| Some(side.sum(names::SERVER_CPU)? / side.operations() / 1e6);
    Some((cpu_s(slower)? - cpu_s(faster)?).max(0.0))
}

fn columns<'n>(of: &'n Side, to: &'n Side) -> Columns<'n> {
    let lines = || of.blocks.values().chain(to.blocks.values()).flatten();
    let names = names(lines());
    let count = lines().count().max(1) as f64;
    Columns {
        of: figures(&names, of),
        to: figures(&names, to),
        operations: (of.operations() + to.operations()).max(1.0) / count,
        names,
    }
}

/// The counters that any of the lines has, in ascending order, without those that do not matter here. Most lines have
/// the same ones, so that a list like the one before is passed over.
fn names<'n>(lines: impl Iterator<Item = &'n Line<'n>>) -> Vec<&'n str> {
    let mut lists: Vec<&Counters> = Vec::new();
    for line in lines {
        let known = |list: &&Counters| list.keys().eq(line.counters.keys());
        if !lists.last().is_some_and(known) {
            lists.push(line.counters);
        }
    }
    let names: BTreeSet<&str> = lists
        .into_iter()
        .flat_map(|list| list.keys().map(String::as_str))
        .collect();
    let distinct = names.iter().copied().filter(|name| !is_twin(name, &names));
    distinct.filter(|name| !is_beside_the_point(name)).collect()
}

/// Status counters that INNODB_METRICS repeats under a different name: (metric, status).
/// Source: the comments of the metrics themselves, which name the status variable.
const RENAMED: [(&str, &str); 10] = [
    ("buffer_data_reads", "Innodb_data_read"),
    ("buffer_data_written", "Innodb_data_written"),
    ("buffer_pages_read", "Innodb_pages_read"),
    ("buffer_pages_written", "Innodb_pages_written"),
    ("innodb_dblwr_pages_written", "Innodb_dblwr_pages_written"),
    ("lock_row_lock_waits", "Innodb_row_lock_waits"),
    ("os_data_fsyncs", "Innodb_data_fsyncs"),
    ("os_log_fsyncs", "Innodb_os_log_fsyncs"),
    ("os_data_reads", "Innodb_data_reads"),
    ("os_data_writes", "Innodb_data_writes"),
];

/// Whether it is an INNODB_METRICS duplicate of a status variable.
fn is_twin(name: &str, names: &BTreeSet<&str>) -> bool {
    let in_status = |status: &str| names.contains(status);
    let prefixed = ["Innodb_", "Handler_"].map(|prefix| format!("{prefix}{name}"));
    let mut renamed = RENAMED.iter().filter(|(metric, _)| *metric == name);
    prefixed.iter().any(|status| in_status(status)) || renamed.any(|(_, status)| in_status(status))
}

/// The lines of each block: their operations, and the events of each name; none if the server lacks the counter.
type Figures = BTreeMap<u32, Vec<(f64, Vec<Option<f64>>)>>;

fn figures(names: &[&str], side: &Side) -> Figures {
    let lines = |lines: &Vec<Line>| {
        let lines = lines
            .iter()
            .map(|line| (line.operations, events(names, line.counters)));
        lines.collect()
    };
    side.blocks
        .iter()
        .map(|(block, of_block)| (*block, lines(of_block)))
        .collect()
}

/// Merges two lists in ascending order.
fn events(names: &[&str], counters: &Counters) -> Vec<Option<f64>> {
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

/// How a counter's difference compares with its own noise.
#[derive(Clone, Copy)]
enum Noise {
    /// The p value against "no difference", over blocks.
    Tested(f64),
    /// Whether it is beyond noise.
    Known(bool),
    /// Nothing repeats.
    Unknown,
}

/// A difference before the correction for the number of counters.
struct Measured {
    noise: Noise,
    score: f64,
    difference: Difference,
}

/// Hundreds of counters are tested, so chance alone moves some (Benjamini and Hochberg 1995).
fn corrected(mut measured: Vec<Measured>) -> Vec<Measured> {
    let p_of = |one: &Measured| match one.noise {
        Noise::Tested(p) => Some(p),
        _ => None,
    };
    let p_values: Vec<f64> = measured.iter().filter_map(p_of).collect();
    let mut found = stats::discoveries(&p_values, 1.0 - CONFIDENCE).into_iter();
    for one in &mut measured {
        one.difference.beyond_noise = match one.noise {
            Noise::Tested(_) => found.next(),
            Noise::Known(beyond) => Some(beyond),
            Noise::Unknown => None,
        };
    }
    measured
}

impl Difference {
    /// Whether it can be a cause: more than noise, and not counted twice.
    pub(crate) fn is_clear(&self) -> bool {
        self.beyond_noise != Some(false) && self.doubled.is_none()
    }
}

/// The tier of a counter and its score within it. First those whose cost is plausible for the difference of the times, by this cost;
/// then others that differ beyond noise, then those that only one side has, then noise.
fn rank(score: f64, difference: &Difference) -> (u8, f64) {
    let cost = difference
        .explains
        .filter(|one| difference.is_clear() && one.is_enough());
    if let Some(cost) = cost {
        return (0, cost.share);
    }
    let tier = match (difference.of, difference.to, difference.beyond_noise) {
        (Some(_), Some(_), Some(false)) => 3,
        (Some(_), Some(_), _) => 1,
        _ => 2,
    };
    (tier, score)
}

fn difference(probe: &Probe, columns: &Columns) -> Option<Measured> {
    let (of_s, to_s) = (values(probe, &columns.of), values(probe, &columns.to));
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
    if same
        || columns.is_few(probe, of, to)
        || (meaning.is_none() && (of.is_none() || to.is_none()))
    {
        return None;
    }
    let offset = columns.offset(probe);
    let log = |value: Option<f64>| (value.unwrap_or(0.0).max(0.0) + offset).ln();
    let weight = meaning.map_or(UNKNOWN_WEIGHT, |_| 1.0);
    let score = (log(of) - log(to)).abs() * weight;
    let ratio = of
        .zip(to)
        .filter(|(_, to)| *to != 0.0)
        .map(|(of, to)| of / to);
    Some(Measured {
        noise: noise(offset, &of_s, &to_s),
        score,
        difference: Difference {
            counter: name,
            of,
            to,
            ratio,
            meaning,
            beyond_noise: None,
            doubled: None,
            explains: None,
        },
    })
}

/// The values of each block's lines.
fn values(probe: &Probe, figures: &Figures) -> BTreeMap<u32, Vec<f64>> {
    let read = |lines: &Vec<(f64, Vec<Option<f64>>)>| {
        let values = lines
            .iter()
            .filter_map(|(operations, events)| probe.read(events, *operations));
        values.collect::<Vec<f64>>()
    };
    figures
        .iter()
        .map(|(block, lines)| (*block, read(lines)))
        .filter(|(_, values)| !values.is_empty())
        .collect()
}

/// Over blocks by the paired t of the ratio; in one block by the ranges of its rounds, which must not touch.
fn noise(offset: f64, of: &BTreeMap<u32, Vec<f64>>, to: &BTreeMap<u32, Vec<f64>>) -> Noise {
    let paired: Vec<(&Vec<f64>, &Vec<f64>)> = of
        .iter()
        .filter_map(|(block, of)| Some((of, to.get(block)?)))
        .collect();
    let lifted = |values: &[f64]| mean(values.iter().copied()).max(0.0) + offset;
    let ratios: Vec<f64> = paired
        .iter()
        .map(|(of, to)| lifted(of) / lifted(to))
        .collect();
    let ratio = LogMean::of(&ratios).filter(|ratio| ratio.ci().is_some());
    if let Some(ratio) = ratio {
        return Noise::Tested(ratio.p_other_than(1.0));
    }
    let several = |(of, to): &&(&Vec<f64>, &Vec<f64>)| of.len() > 1 && to.len() > 1;
    let Some((of, to)) = paired.first().filter(several) else {
        return Noise::Unknown;
    };
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Noise::Known(least(of) > most(to) || most(of) < least(to))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / count as f64
}
