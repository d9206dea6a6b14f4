//! One side of a comparison: its counters per operation by block, its plans, its settings, its time.
//!
//! Purpose: rounds, single queries and timed loads in one form. Boundary: `rank` and `reason` compare two sides.

pub(crate) mod times;
pub(crate) mod unintended;

use record::{
    Cell, Counters, Loaded, Mode, Query, Round, RoundSelector, Summary, Trial, TrialState,
};
use stats::{matching, matching_rounds, summary};
use std::collections::{BTreeMap, BTreeSet};

/// The setting that identifies the server and its family.
pub(crate) const VERSION: &str = "version";

/// Limits within this factor of each other count as equal.
const SAME_LIMIT: f64 = 1.2;

/// The beginnings of counters of statements that write.
const WRITING: [&str; 7] = [
    "Com_insert",
    "Com_update",
    "Com_delete",
    "Com_replace",
    "Com_load",
    "Com_create_table",
    "Com_alter_table",
];

/// Which side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideName {
    Of,
    To,
}

impl SideName {
    /// What is of this side, then what is of the other one.
    pub fn own_and_other<T>(self, of: T, to: T) -> (T, T) {
        match self {
            SideName::Of => (of, to),
            SideName::To => (to, of),
        }
    }
}

/// Counters over a number of operations: a query, the queries of a round, or a timed load.
#[derive(Clone)]
pub(crate) struct Line<'t> {
    pub(crate) counters: &'t Counters,
    /// At least 1.
    pub(crate) operations: f64,
}

/// The time of a round or a query, of any number of clients; of a timed load that of one operation.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    pub(crate) elapsed_s: f64,
    /// What a client waits for one operation: the elapsed time, of several clients together, over their operations.
    pub(crate) waited_s: f64,
    /// A lower bound: a query reached the time limit.
    pub(crate) at_least: bool,
}

#[derive(Clone, Default)]
pub(crate) struct Side<'t> {
    /// The lines of each block; never an empty list. Blocks in which a query reached the time limit are left out: their counts are
    /// incomplete.
    pub(crate) blocks: BTreeMap<u32, Vec<Line<'t>>>,
    /// The times of each block; never an empty list.
    pub(crate) times: BTreeMap<u32, Vec<Time>>,
    /// The texts of the plans that answered.
    pub(crate) plans: BTreeSet<&'t str>,
    /// The trials that count.
    trials: Vec<&'t Trial>,
    /// Whether its operations ran for a time, and not in rounds.
    pub(crate) is_timed: bool,
}

impl<'t> Side<'t> {
    /// The trials of a claim's cell that count.
    pub(crate) fn of_cell(trials: &'t [Trial], cell: &Cell) -> Side<'t> {
        let matching = matching(trials, cell);
        Side::of(&matching, cell.round.as_ref(), cell.query.as_deref())
    }

    /// These trials, as far as they count; all rounds without a selector, whole rounds without a query.
    pub(crate) fn of(
        trials: &[&'t Trial],
        round: Option<&RoundSelector>,
        query: Option<&str>,
    ) -> Side<'t> {
        let mut side = Side::default();
        for trial in trials
            .iter()
            .filter(|trial| trial.state == TrialState::Done)
        {
            match &trial.load {
                Some(load) => side.take_load(trial.key.block, load),
                None => side.take_rounds(trial, round, query),
            }
            side.trials.push(trial);
        }
        let stopped = |times: &Vec<Time>| times.iter().any(|time| time.at_least);
        let times = &side.times;
        side.blocks
            .retain(|block, _| !times.get(block).is_some_and(stopped));
        side
    }

    fn take_load(&mut self, block: u32, load: &'t Loaded) {
        self.is_timed = true;
        let summary = summary(load);
        if summary.operations_counted == 0 {
            return;
        }
        let operations = summary.operations_counted as f64;
        self.blocks.entry(block).or_default().push(Line {
            counters: &load.counters,
            operations,
        });
        if let Some(waited_s) = operation_s(&load.mode, &summary) {
            self.times.entry(block).or_default().push(Time {
                elapsed_s: waited_s,
                waited_s,
                at_least: false,
            });
        }
    }

    fn take_rounds(
        &mut self,
        trial: &'t Trial,
        round: Option<&RoundSelector>,
        query: Option<&str>,
    ) {
        let rounds = matching_rounds(trial, round);
        let selected = |one: &&Query| query.is_none_or(|name| name == one.name);
        let queries = || {
            rounds
                .iter()
                .flat_map(|round| &round.queries)
                .filter(selected)
        };
        let plans = queries().filter_map(|query| trial.plans.get(query.plan_hash.as_ref()?));
        self.plans.extend(plans.map(String::as_str));
        let measured: Vec<(Line, Time)> = match query {
            Some(_) => queries().filter_map(of_query).collect(),
            None => rounds.into_iter().map(of_round).collect(),
        };
        for (line, time) in measured {
            let block = trial.key.block;
            self.blocks.entry(block).or_default().push(line);
            self.times.entry(block).or_default().push(time);
        }
    }

    /// The part that can be compared with another side: the blocks that both have.
    pub(crate) fn beside(&self, other: &Side) -> Side<'t> {
        let mut side = self.clone();
        side.blocks
            .retain(|block, _| other.blocks.contains_key(block));
        side.times
            .retain(|block, _| other.times.contains_key(block));
        side
    }

    pub(crate) fn operations(&self) -> f64 {
        self.lines_of_all().map(|line| line.operations).sum()
    }

    fn lines_of_all(&self) -> impl Iterator<Item = &Line<'t>> {
        self.blocks.values().flatten()
    }

    /// A counter per operation in each block that has it, by the first of these names that the side has.
    pub(crate) fn counter(&self, names: &[&'static str]) -> Option<(&'static str, Vec<f64>)> {
        names.iter().find_map(|name| {
            let values = self.blocks.values().filter_map(|lines| mean(lines, name));
            let values: Vec<f64> = values.collect();
            (!values.is_empty()).then_some((*name, values))
        })
    }

    /// Events of a counter over all lines; None if one of them lacks it.
    pub(crate) fn sum(&self, name: &str) -> Option<f64> {
        let events = self.lines_of_all().map(|line| line.counters.get(name));
        let sum: Option<i64> = events.map(|events| events.copied()).sum();
        sum.filter(|_| !self.blocks.is_empty())
            .map(|events| events as f64)
    }

    /// What a client waits for one operation, the mean over blocks.
    pub(crate) fn waited_s(&self) -> Option<f64> {
        let mean = |times: &Vec<Time>| {
            times.iter().map(|time| time.waited_s).sum::<f64>() / times.len() as f64
        };
        let blocks = self.times.len();
        (blocks > 0).then(|| self.times.values().map(mean).sum::<f64>() / blocks as f64)
    }

    /// The setting of all its trials; none if they differ or did not record it.
    pub(crate) fn setting(&self, name: &str) -> Option<&'t str> {
        let mut values = self.trials.iter().map(|trial| trial.settings.get(name));
        let first = values.next()??;
        values.all(|value| value == Some(first)).then_some(first)
    }

    /// Whether a statement of its rounds wrote; timed loads may always.
    pub(crate) fn writes(&self) -> bool {
        let wrote = |(name, moved): (&String, &i64)| {
            *moved > 0 && WRITING.iter().any(|prefix| name.starts_with(prefix))
        };
        self.is_timed
            || self
                .lines_of_all()
                .any(|line| line.counters.iter().any(wrote))
    }

    /// Whether both sides' servers had the same limits. Limits relative to the data may differ a little between servers, because
    /// their data differ in size.
    pub(crate) fn is_limited_like(&self, other: &Side) -> bool {
        let (ours, theirs) = (self.limits(), other.limits());
        let like = |((name, ours), (other, theirs)): (&(&str, f64), &(&str, f64))| {
            name == other && ours.max(*theirs) <= ours.min(*theirs) * SAME_LIMIT
        };
        ours.len() == theirs.len() && ours.iter().zip(&theirs).all(like)
    }

    /// The limits of its servers: (name, requested value), each once, in order.
    fn limits(&self) -> Vec<(&'t str, f64)> {
        let notes = self.trials.iter().flat_map(|trial| &trial.limits);
        let mut limits: Vec<_> = notes.map(|note| (&*note.name, note.asked)).collect();
        limits.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
        limits.dedup();
        limits
    }

    /// The names of the settings that its first trial recorded.
    pub(crate) fn setting_names(&self) -> impl Iterator<Item = &'t str> {
        let first = self.trials.first().into_iter();
        first.flat_map(|trial| trial.settings.keys().map(String::as_str))
    }

    /// A limit of its servers as it was measured, the mean over trials; None without it.
    pub(crate) fn limit(&self, name: &str) -> Option<f64> {
        let notes = self.trials.iter().flat_map(|trial| &trial.limits);
        let named = notes.filter(|note| note.name == name);
        let measured: Vec<f64> = named.map(|note| note.measured).collect();
        stats::mean(&measured)
    }

    /// How many clients work at the same time, each once: those of a closed load or of rounds, the workers of an open load.
    pub(crate) fn at_once(&self) -> BTreeSet<u32> {
        let of_trial = |trial: &&Trial| match trial.load.as_ref().map(|load| &load.mode) {
            Some(Mode::Closed { clients, .. }) => Some(*clients),
            Some(Mode::Open { workers, .. }) => Some(*workers),
            None => trial.rounds.iter().map(Round::clients).max(),
        };
        self.trials.iter().filter_map(of_trial).collect()
    }

    /// The rates that arrive (operations per second), each once; empty for other loads.
    pub(crate) fn rates(&self) -> Vec<f64> {
        let modes = self.trials.iter().filter_map(|trial| trial.load.as_ref());
        let rates = modes.filter_map(|load| load.mode.rate());
        let mut rates: Vec<f64> = rates.collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        rates
    }

    /// The names of the servers that it was measured on.
    pub(crate) fn servers(&self) -> BTreeSet<Option<&'t str>> {
        let trials = self.trials.iter();
        trials.map(|trial| trial.key.server.as_deref()).collect()
    }

    /// Whether both sides are the same server in the same version, as far as it is recorded.
    pub(crate) fn is_same_server(&self, other: &Side) -> bool {
        self.servers() == other.servers() && self.setting(VERSION) == other.setting(VERSION)
    }

    pub(crate) fn a_plan_holds(&self, words: &str) -> bool {
        self.plans.iter().any(|plan| plan.contains(words))
    }
}

/// The mean time of an operation: in closed loop by the throughput of its clients, in open loop the mean response. So with think times, which
/// scatter by more than an operation takes. None if it is unstable or has no throughput.
fn operation_s(mode: &Mode, summary: &Summary) -> Option<f64> {
    match mode {
        Mode::Closed { clients, think_s } if *think_s == 0.0 => {
            Some(f64::from(*clients) / summary.throughput.filter(|ops| *ops > 0.0)?)
        }
        Mode::Closed { .. } | Mode::Open { .. } => {
            Some(summary.latency.response.as_ref()?.mean_ms / 1e3)
        }
    }
}

fn mean(lines: &[Line], name: &str) -> Option<f64> {
    let values: Vec<f64> = lines
        .iter()
        .filter_map(|line| Some(*line.counters.get(name)? as f64 / line.operations))
        .collect();
    stats::mean(&values)
}

fn of_round(round: &Round) -> (Line<'_>, Time) {
    let line = Line {
        counters: &round.counters,
        operations: round.queries.len().max(1) as f64,
    };
    let time = Time {
        elapsed_s: round.elapsed_s,
        waited_s: round.elapsed_s * f64::from(round.clients()) / line.operations,
        at_least: round.timed_out(),
    };
    (line, time)
}

/// None if it failed.
fn of_query(query: &Query) -> Option<(Line<'_>, Time)> {
    let at_least = query.timed_out_s().is_some();
    let line = Line {
        counters: &query.counters,
        operations: 1.0,
    };
    let elapsed_s = query.elapsed_ns as f64 / 1e9;
    let time = Time {
        elapsed_s,
        waited_s: elapsed_s,
        at_least,
    };
    (at_least || query.error.is_none()).then_some((line, time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{HistogramNote, LatencyKind, Warmup};

    /// A minute of 100 clients that do 5 operations of 10 ms per second together.
    fn load(think_s: f64) -> Loaded {
        let histogram = |start_s: u32| {
            let mut nanoseconds = hdrhistogram::Histogram::<u64>::new(3).unwrap();
            (0..5).for_each(|_| nanoseconds += 10_000_000);
            HistogramNote {
                operation: None,
                kind: LatencyKind::Response,
                every_s: 1,
                start_s,
                nanoseconds: nanoseconds.into(),
            }
        };
        Loaded {
            mode: Mode::Closed {
                clients: 100,
                think_s,
            },
            warmup: Warmup::Seconds(0.0),
            elapsed_s: 60.0,
            operations: vec!["pay".into()],
            histograms: (0..60).map(histogram).collect(),
            series: BTreeMap::from([("throughput".to_string(), vec![Some(5.0); 60])]),
            ..Loaded::default()
        }
    }

    #[test]
    fn with_think_times_an_operation_takes_its_response_time() {
        let takes_s = |think_s: f64| {
            let load = load(think_s);
            operation_s(&load.mode, &stats::summarise(&load)).unwrap()
        };
        assert!((takes_s(0.0) - 20.0).abs() < 0.01);
        // The clients happened to think for 20 s minus 10 ms.
        assert!((takes_s(19.5) - 0.01).abs() < 1e-4);
        assert!((takes_s(20.5) - 0.01).abs() < 1e-4);
    }
}
