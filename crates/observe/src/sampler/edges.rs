//! Reads a server at the edges of its slices, for a load that takes turns with others.
//!
//! What the machine does in the slices of other servers is not in the samples. The readings lie before and after the operations of a
//! slice, so they do not disturb it. Seconds are those of the load's own clock, which stops between its slices: a total is spread
//! evenly over the seconds of its slice, a gauge is as of the end of the slice.

use super::levels::is_level;
use super::machine::{Amount, Amounts, DEVICE_WRITTEN, Machine};
use super::sums::Sums;
use super::{Prepared, Sampled, absent};
use crate::counters::OWN_STATEMENTS;
use crate::{Observer, Reading, States};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Clients begin each slice a little later than its clock does, so a load may end so much before a whole second (s).
const LATE_S: f64 = 0.05;

/// How the names of the series begin that are processors of the whole machine.
const OF_MACHINE: &str = "machine ";

/// A sampler that reads when its caller says that a slice begins or has ended.
pub struct Edges {
    observer: Option<Observer>,
    machine: Machine,
    began: Option<Edge>,
    /// The machine at the end of the last slice.
    ended: Option<Amounts>,
    columns: BTreeMap<String, Column>,
    /// Of the measured slices.
    sums: Sums,
    /// Written to the server's disk in the slices of others.
    written_between_bytes: Option<f64>,
    /// Whole seconds that were sampled.
    until_s: f64,
    lost: Option<String>,
}

/// A reading at the beginning of a slice.
struct Edge {
    /// Of the load's own clock.
    at_s: f64,
    at: Instant,
    status: Option<(Reading, States)>,
    amounts: Amounts,
}

/// One series: an amount for each second.
#[derive(Default)]
struct Column {
    seconds: Vec<Option<f64>>,
    /// Whether it is one of prony's own, which are always kept.
    is_own: bool,
}

impl Column {
    /// Adds an amount, evenly over this time.
    fn spread(&mut self, amount: f64, from_s: f64, until_s: f64) {
        let length_s = until_s - from_s;
        for second in from_s as usize..until_s.ceil() as usize {
            let (begins, ends) = (second as f64, second as f64 + 1.0);
            let part = (until_s.min(ends) - from_s.max(begins)) / length_s;
            let known = self.at(second);
            *known = Some(known.unwrap_or(0.0) + amount * part);
        }
    }

    /// Sets a gauge of all seconds that begin or end in this time.
    fn set(&mut self, level: f64, from_s: f64, until_s: f64) {
        for second in from_s as usize..until_s.ceil() as usize {
            *self.at(second) = Some(level);
        }
    }

    /// Whether the values differ at all.
    fn varies(&self) -> bool {
        let mut present = self.seconds.iter().flatten();
        let first = present.next();
        present.any(|value| Some(value) != first)
    }

    fn at(&mut self, second: usize) -> &mut Option<f64> {
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, None);
        }
        &mut self.seconds[second]
    }
}

impl Prepared {
    /// A sampler for a load in slices.
    pub fn at_edges(self) -> Edges {
        Edges {
            observer: self.status.and_then(super::status::Status::into_observer),
            machine: self.machine,
            began: None,
            ended: None,
            columns: BTreeMap::new(),
            sums: Sums::default(),
            written_between_bytes: None,
            until_s: 0.0,
            lost: None,
        }
    }
}

impl Edges {
    /// A slice is about to begin, `at` this time of the load's clock. The server runs.
    pub fn begin(&mut self, at: Duration) {
        let amounts = self.machine.read(Duration::ZERO);
        if let Some(written) = (self.ended.as_ref()).and_then(|ended| written(ended, &amounts)) {
            *self.written_between_bytes.get_or_insert(0.0) += written;
        }
        let status = self.status();
        // Read again: what the status costs the machine is not of the slice.
        let amounts = self.machine.read(Duration::ZERO);
        self.began = Some(Edge {
            at_s: at.as_secs_f64(),
            at: Instant::now(),
            status,
            amounts,
        });
    }

    /// The slice has ended, and the server still runs. Its counters count if `is_measured`.
    pub fn end(&mut self, at: Duration, is_measured: bool) {
        let amounts = self.machine.read(Duration::ZERO);
        let Some(began) = self.began.take() else {
            return;
        };
        let passed_s = began.at.elapsed().as_secs_f64();
        let (from_s, until_s) = (began.at_s, at.as_secs_f64());
        if until_s > from_s {
            // Of the machine's time, a slice has as large a part as of the time that passed with its beginning and its end.
            let part = (until_s - from_s) / passed_s.max(until_s - from_s);
            self.put_amounts(&began.amounts, &amounts, (from_s, until_s), part);
            if let (Some(before), Some(after)) = (began.status, self.status()) {
                self.put_status(&before, &after, (from_s, until_s), is_measured);
            }
            self.until_s = until_s;
        }
        self.ended = Some(self.machine.read(Duration::ZERO));
    }

    /// What was written to the whole disk of the server's data between its slices, by whomever; None if that is not known.
    pub fn written_between_bytes(&self) -> Option<u64> {
        self.written_between_bytes.map(|bytes| bytes as u64)
    }

    /// Everything that was sampled.
    pub fn sampled(&mut self) -> Sampled {
        let whole = (self.until_s + LATE_S) as usize;
        let columns = std::mem::take(&mut self.columns).into_iter();
        let kept = columns.filter(|(_, column)| column.is_own || column.varies());
        let series = kept.map(|(name, column)| {
            let mut seconds = column.seconds;
            seconds.resize(whole, None);
            (name, seconds)
        });
        let mut sums = std::mem::take(&mut self.sums);
        let flag = self.lost.take().map(|cause| {
            // Those of some slices would be divided by the operations of all.
            sums = Sums::default();
            absent(format!(
                "the server's status could not be read between two slices, so its counters are not recorded: {cause}"
            ))
        });
        let flags = flag.into_iter().chain(sums.flushed());
        Sampled {
            series: series.collect(),
            flags: flags.collect(),
            counters: sums.into_counters(),
            gaps: Vec::new(),
            own_statements: None,
        }
    }

    /// The server's status; None without a connection, and from its first failure on.
    fn status(&mut self) -> Option<(Reading, States)> {
        let read = self.observer.as_mut()?.read_all();
        if let Err(error) = &read {
            self.lost = Some(error.to_string());
            self.observer = None;
        }
        read.ok()
    }

    fn put_amounts(
        &mut self,
        before: &Amounts,
        after: &Amounts,
        (from_s, until_s): (f64, f64),
        part: f64,
    ) {
        for (name, amount) in after {
            match (before.get(name), amount) {
                (_, Amount::Level(level)) => self.own(name).set(*level, from_s, until_s),
                (Some(Amount::Total(before)), Amount::Total(after)) if after >= before => {
                    let part = if name.starts_with(OF_MACHINE) {
                        part
                    } else {
                        1.0
                    };
                    let moved = (after - before) * part;
                    self.own(name).spread(moved, from_s, until_s);
                }
                _ => {}
            }
        }
    }

    fn put_status(
        &mut self,
        (before, _): &(Reading, States),
        (after, states): &(Reading, States),
        (from_s, until_s): (f64, f64),
        is_measured: bool,
    ) {
        let Some(observer) = &self.observer else {
            return;
        };
        let moved = observer.difference(before, after);
        for (name, moved) in moved.iter().filter(|(name, _)| *name != OWN_STATEMENTS) {
            if is_level(name) {
                self.column(name).set(after[name] as f64, from_s, until_s);
            } else if *moved >= 0 {
                self.column(name).spread(*moved as f64, from_s, until_s);
            }
        }
        if is_measured {
            self.sums.add(before, after, moved);
        }
        for (state, level) in states.iter() {
            self.own(state.as_str()).set(level, from_s, until_s);
        }
    }

    fn own(&mut self, name: &str) -> &mut Column {
        let column = self.column(name);
        column.is_own = true;
        column
    }

    fn column(&mut self, name: &str) -> &mut Column {
        self.columns.entry(name.to_string()).or_default()
    }
}

/// Bytes that were written to the disk between two readings.
fn written(before: &Amounts, after: &Amounts) -> Option<f64> {
    match (before.get(DEVICE_WRITTEN)?, after.get(DEVICE_WRITTEN)?) {
        (Amount::Total(before), Amount::Total(after)) => Some((after - before).max(0.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_spread_over_the_seconds_of_its_slice() {
        let mut column = Column::default();
        column.spread(10.0, 0.0, 1.25);
        column.spread(4.0, 1.25, 2.0);
        let seconds: Vec<f64> = column.seconds.into_iter().flatten().collect();
        assert_eq!(seconds, [8.0, 6.0]);
    }

    #[test]
    fn counters_that_lack_slices_are_absent() {
        let mut edges = Prepared::new(super::super::Targets::default())
            .unwrap()
            .at_edges();
        let at = |value| Reading::from([("Com_select".to_string(), value)]);
        edges.sums.add(&at(0), &at(70), at(70));
        edges.lost = Some("gone away".into());
        let sampled = edges.sampled();
        assert!(sampled.counters.is_empty());
        assert!(sampled.flags[0].text.contains("gone away"));
    }

    #[test]
    fn a_machine_without_a_server_is_sampled_in_whole_seconds_of_the_loads_clock() {
        let mut edges = Prepared::new(super::super::Targets::default())
            .unwrap()
            .at_edges();
        for (from_ms, until_ms) in [(0, 700), (700, 1600), (1600, 2300)] {
            edges.begin(Duration::from_millis(from_ms));
            edges.end(Duration::from_millis(until_ms), true);
        }
        let sampled = edges.sampled();
        assert_eq!(sampled.series["machine cpu"].len(), 2);
        assert!(sampled.series["machine cpu"].iter().all(Option::is_some));
        assert!(sampled.counters.is_empty() && sampled.flags.is_empty());
    }

    #[test]
    fn the_last_second_is_whole_where_clients_began_their_slices_a_little_late() {
        let mut edges = Prepared::new(super::super::Targets::default())
            .unwrap()
            .at_edges();
        edges.begin(Duration::ZERO);
        edges.end(Duration::from_micros(1_999_940), true);
        assert_eq!(edges.sampled().series["machine cpu"].len(), 2);
    }
}
