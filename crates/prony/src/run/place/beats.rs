//! How stale the reads on each node of a server are, and how often a reader that changes nodes goes back in time.
//!
//! Purpose: a beat, a number that grows, is written on the first node every 50 ms. A reader asks all nodes for it in turn. A read is stale by
//! the time since the next larger beat had been acknowledged when the read began: its answer is at least that old. A beat that is smaller than
//! one that the reader has seen before is a step back. Once a second the reader also queries each further node for its replication lag. Boundaries: the reads of the workload itself are not checked; the table is in
//! prony's own schema, and only on servers that prony starts.

use crate::lock;
use record::State;
use record::names::{READ_AGE, READS_BACK};
use server::{Behind, Connector, ServerError, Session};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const BEAT_EVERY: Duration = Duration::from_millis(50);
/// A read after a longer time without a beat has no age: the first node is down, or takes no writes.
const BEATS_WITHIN: Duration = Duration::from_secs(1);
/// Pause before a lost connection is opened again.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Limit for each statement, since a node may be cut off.
const WITHIN: Duration = Duration::from_secs(2);
pub(super) const SCHEMA: &str = "CREATE DATABASE IF NOT EXISTS prony_beats";
const TABLE: [&str; 2] = [
    SCHEMA,
    "CREATE TABLE IF NOT EXISTS prony_beats.beats (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB",
];
const READ: &str = "SELECT n FROM prony_beats.beats WHERE id = 1";

/// One value per second, by name.
pub(crate) type Series = BTreeMap<String, Vec<Option<f64>>>;

/// The connections of the beat, before the load.
pub(crate) struct PreparedBeats {
    nodes: Vec<(u32, Connector)>,
    /// Run first on each connection of the reader: the session settings of the trial.
    first: Vec<String>,
    behind: Option<Behind>,
    zero: i64,
}

/// The beat during a load.
pub(crate) struct Beats {
    stop: Arc<AtomicBool>,
    writer: JoinHandle<()>,
    reader: JoinHandle<BTreeMap<u32, Series>>,
}

/// When each beat was acknowledged, by its number.
type Acknowledged = Arc<Mutex<Vec<Instant>>>;

impl PreparedBeats {
    /// Makes the table. `nodes`: all nodes with their numbers, the first one first; `first`: statements for each of the reader's connections;
    /// `behind`: the query for the lag of further nodes.
    pub(crate) fn new(
        nodes: Vec<(u32, Connector)>,
        first: Vec<String>,
        behind: Option<Behind>,
    ) -> Result<PreparedBeats, ServerError> {
        // The beats of an earlier trial on the server are smaller, and a node that lags behind may still hold them.
        let zero = host::now_ns();
        if let Some((_, connect)) = nodes.first() {
            let mut session = connect()?.for_control();
            for statement in TABLE {
                session.execute(statement)?;
            }
            session.execute(&format!(
                "REPLACE INTO prony_beats.beats VALUES (1, {zero})"
            ))?;
        }
        Ok(PreparedBeats {
            nodes,
            first,
            behind,
            zero,
        })
    }

    /// Beats and reads from `origin` on.
    pub(crate) fn begin(self, origin: Instant) -> Option<Beats> {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Acknowledged::default();
        let nodes: Vec<(u32, Arc<Connector>)> = self
            .nodes
            .into_iter()
            .map(|(number, connect)| (number, Arc::new(connect)))
            .collect();
        let (_, first_node) = nodes.first()?.clone();
        let zero = self.zero;
        let writer = std::thread::spawn({
            let (stop, acknowledged) = (stop.clone(), acknowledged.clone());
            move || write(&first_node, zero, &acknowledged, &stop)
        });
        let reader = std::thread::spawn({
            let stop = stop.clone();
            let reader = Reader {
                first: self.first,
                behind: self.behind,
                acknowledged,
                origin,
                zero,
                seen: None,
                series: BTreeMap::new(),
            };
            move || reader.read(&nodes, &stop)
        });
        Some(Beats {
            stop,
            writer,
            reader,
        })
    }
}

impl Beats {
    /// Ends the beat. Returns the series of each node, by its number.
    pub(crate) fn end(self) -> BTreeMap<u32, Series> {
        self.stop.store(true, Relaxed);
        let _ = self.writer.join();
        self.reader.join().unwrap_or_default()
    }
}

fn write(connect: &Connector, zero: i64, acknowledged: &Acknowledged, stop: &AtomicBool) {
    let mut session = None;
    let mut due = Instant::now();
    while !stop.load(Relaxed) {
        due += BEAT_EVERY;
        let n = zero + lock(acknowledged).len() as i64;
        let sql = format!("UPDATE prony_beats.beats SET n = {n} WHERE id = 1");
        match with(&mut session, connect, &[], |session| session.execute(&sql)) {
            Some(_) => lock(acknowledged).push(Instant::now()),
            None => std::thread::sleep(AGAIN_AFTER),
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// Calls `act` with the session, which is opened first if there is none. None: it failed, and the session is gone.
fn with<T>(
    session: &mut Option<Session>,
    connect: &Connector,
    first: &[String],
    act: impl FnOnce(&mut Session) -> Result<T, ServerError>,
) -> Option<T> {
    if session.is_none() {
        let mut opened = connect().ok()?.limited(WITHIN);
        for statement in first {
            opened.execute(statement).ok()?;
        }
        *session = Some(opened);
    }
    let done = act(session.as_mut()?).ok();
    if done.is_none() {
        *session = None;
    }
    done
}

struct Reader {
    first: Vec<String>,
    behind: Option<Behind>,
    acknowledged: Acknowledged,
    origin: Instant,
    /// What the first beat wrote.
    zero: i64,
    /// The largest beat so far; None is one of an earlier trial.
    seen: Option<usize>,
    series: BTreeMap<u32, Series>,
}

impl Reader {
    fn read(mut self, nodes: &[(u32, Arc<Connector>)], stop: &AtomicBool) -> BTreeMap<u32, Series> {
        let mut sessions: Vec<Option<Session>> = nodes.iter().map(|_| None).collect();
        let pause = BEAT_EVERY / nodes.len().max(1) as u32;
        while !stop.load(Relaxed) {
            for ((number, connect), session) in nodes.iter().zip(&mut sessions) {
                let began = Instant::now();
                let read = with(session, connect, &self.first, |session| session.query(READ));
                let n = read.and_then(|reply| reply.first_text()?.parse().ok());
                if let Some(n) = n {
                    self.note(*number, n, began);
                }
                if *number > 1
                    && let Some(session) = session
                {
                    self.note_lag(*number, session);
                }
                std::thread::sleep(pause.saturating_sub(began.elapsed()));
            }
        }
        self.series
    }

    /// Queries a node's replication lag, once in each second. A failure is left to the next read from the node.
    fn note_lag(&mut self, node: u32, session: &mut Session) {
        let Some(behind) = self.behind else { return };
        let name = match behind {
            Behind::Seconds { .. } => State::ReplicationLag.as_str(),
            Behind::Transactions => State::ReceiveQueue.as_str(),
        };
        let second = self.second(Instant::now());
        let series = self.series.entry(node).or_default();
        let queried_s = series.get(name).map_or(0, Vec::len);
        if queried_s <= second
            && let Ok(Some(value)) = behind.query(session)
        {
            put(series, name, second, value, f64::max);
        }
    }

    fn second(&self, at: Instant) -> usize {
        at.saturating_duration_since(self.origin).as_secs() as usize
    }

    /// Notes what a read that began at this time returned.
    fn note(&mut self, node: u32, n: i64, began: Instant) {
        let beat = usize::try_from(n - self.zero).ok();
        let age = age(&lock(&self.acknowledged), beat, began);
        let steps_back = f64::from(beat < self.seen);
        self.seen = self.seen.max(beat);
        let second = self.second(began);
        let series = self.series.entry(node).or_default();
        if let Some(age) = age {
            put(series, READ_AGE, second, age.as_secs_f64() * 1e3, f64::max);
        }
        put(series, READS_BACK, second, steps_back, |sum, one| sum + one);
    }
}

/// How long the next beat had been acknowledged when a read began that did not return it. Without a next one the read is not stale, which
/// shows nothing where there was no beat for a while: then it has no age. `beat`: None is one of an earlier trial.
fn age(acknowledged: &[Instant], beat: Option<usize>, began: Instant) -> Option<Duration> {
    let since = |at: &Instant| began.saturating_duration_since(*at);
    match acknowledged.get(beat.map_or(0, |beat| beat + 1)) {
        Some(next) => Some(since(next)),
        None => (since(acknowledged.last()?) < BEATS_WITHIN).then_some(Duration::ZERO),
    }
}

/// Adds a value to its second of a series.
fn put(series: &mut Series, name: &str, second: usize, value: f64, add: fn(f64, f64) -> f64) {
    let seconds = series.entry(name.to_string()).or_default();
    if seconds.len() <= second {
        seconds.resize(second + 1, None);
    }
    let before = seconds[second];
    seconds[second] = Some(before.map_or(value, |before| add(before, value)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(acknowledged: Vec<Instant>, origin: Instant) -> Reader {
        Reader {
            first: Vec::new(),
            behind: None,
            acknowledged: Arc::new(Mutex::new(acknowledged)),
            origin,
            zero: 0,
            seen: None,
            series: BTreeMap::new(),
        }
    }

    #[test]
    fn a_read_is_as_old_as_the_acknowledgement_that_it_missed() {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let acknowledged = [at(0), at(50), at(100)];
        let age_ms = |beat, ms| {
            let age = age(&acknowledged, Some(beat), at(ms));
            age.map(|age| age.as_millis())
        };
        assert_eq!([age_ms(0, 80), age_ms(0, 40)], [Some(30), Some(0)]);
        assert_eq!(age_ms(2, 500), Some(0));
    }

    #[test]
    fn reads_have_no_age_while_nothing_is_written() {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let mut reader = reader(vec![at(0), at(50)], origin);
        for (beat, ms) in [(1, 120), (1, 2_500), (0, 3_050)] {
            reader.note(2, beat, at(ms));
        }
        let expected = [Some(0.0), None, None, Some(3000.0)];
        assert_eq!(reader.series[&2][READ_AGE], expected);
    }

    #[test]
    fn a_reader_that_changes_nodes_sees_time_go_back() {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let mut reader = reader(vec![at(0), at(50), at(100)], origin);
        for (node, beat, ms) in [(1, 2, 120), (2, 1, 130), (1, 2, 140), (2, 0, 1150)] {
            reader.note(node, beat, at(ms));
        }
        assert_eq!(reader.series[&1][READS_BACK], [Some(0.0)]);
        assert_eq!(reader.series[&2][READS_BACK], [Some(1.0), Some(1.0)]);
        assert_eq!(reader.series[&2][READ_AGE], [Some(30.0), Some(1100.0)]);
    }

    #[test]
    fn a_beat_of_an_earlier_trial_is_older_than_all_of_this_one() {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let mut reader = Reader {
            zero: 1_000,
            ..reader(vec![at(0), at(50)], origin)
        };
        for (node, n, ms) in [(2, 900, 30), (1, 1_001, 90), (2, 900, 1_100)] {
            reader.note(node, n, at(ms));
        }
        assert_eq!(reader.series[&1][READS_BACK], [Some(0.0)]);
        assert_eq!(reader.series[&2][READS_BACK], [Some(0.0), Some(1.0)]);
        assert_eq!(reader.series[&2][READ_AGE], [Some(30.0), Some(1100.0)]);
    }
}
