//! The states of a server's storage as they are now: checkpoint age, dirty pages, history length and others.
//!
//! Each state has several sources, since servers report the same thing in different places: SHOW GLOBAL STATUS, then gauges of
//! INNODB_METRICS, then the text of SHOW ENGINE INNODB STATUS, which is read only where the others lack a state (MySQL 5.5). A
//! state that a server does not report is absent, never 0. docs/COUNTERS.md lists the sources by server.

mod log;
mod monitor;

use crate::reading::{Reading, metrics_sql, numbers};
use record::{State, StateKind};
use server::{ServerError, Session};
use std::collections::BTreeMap;

/// The states of one moment or, of a sample, of one second. Unavailable states are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct States(BTreeMap<State, f64>);

impl States {
    /// The value of a state, in its own unit.
    pub fn get(&self, state: State) -> Option<f64> {
        self.0.get(&state).copied()
    }

    /// The value in per cent of its limit; None if the state or its limit is absent, or if it has no limit.
    pub fn percent(&self, state: State) -> Option<f64> {
        let share = state.share_of_limit(|state| self.get(state))?;
        Some(100.0 * share)
    }

    pub fn iter(&self) -> impl Iterator<Item = (State, f64)> {
        self.0.iter().map(|(state, value)| (*state, *value))
    }
}

/// How to compute a state from the server's own values.
enum Source {
    /// The first of these values that exists.
    Value(&'static [&'static str]),
    /// The first value minus the second: two log sequence numbers.
    Between(&'static str, &'static str),
}

/// Each level with its sources, the best first.
#[rustfmt::skip]
const LEVELS: [(State, &[Source]); 9] = [
    (
        State::CheckpointAge,
        &[
            Source::Value(&["Innodb_checkpoint_age"]),
            Source::Between(
                "Innodb_redo_log_current_lsn",
                "Innodb_redo_log_checkpoint_lsn",
            ),
            // Not log_lsn_checkpoint_age, which MySQL 5.6 updates only when it checks the limit.
            Source::Between("log_lsn_current", "log_lsn_last_checkpoint"),
            Source::Between(monitor::LSN, monitor::CHECKPOINT),
        ],
    ),
    (State::CheckpointAgeLimit, &[Source::Value(&["Innodb_checkpoint_max_age", "log_max_modified_age_sync"])]),
    (State::LogCapacity, &[Source::Value(&["Innodb_redo_log_capacity_resized", log::FILE_SIZE])]),
    (State::DirtyPages, &[Source::Value(&["Innodb_buffer_pool_pages_dirty"])]),
    (State::FreePages, &[Source::Value(&["Innodb_buffer_pool_pages_free"])]),
    (State::CachePages, &[Source::Value(&["Innodb_buffer_pool_pages_total"])]),
    (State::HistoryLength, &[Source::Value(&["Innodb_history_list_length", "trx_rseg_history_len", monitor::HISTORY])]),
    (State::ClusterSize, &[Source::Value(&["wsrep_cluster_size"])]),
    (State::ReceiveQueue, &[Source::Value(&["wsrep_local_recv_queue"])]),
];

/// Each rate with the counters that hold it; a server has one of them.
#[rustfmt::skip]
const RATES: [(State, &[&str]); 17] = [
    (State::LogBytes, &["Innodb_os_log_written"]),
    (State::LogWaits, &["Innodb_log_waits"]),
    (State::LogSpaceWaits, &["log_on_file_space_waits"]),
    (State::PagesRead, &["Innodb_pages_read"]),
    (State::PagesWritten, &["Innodb_pages_written"]),
    (State::FlushedAdaptive, &["buffer_flush_adaptive_total_pages"]),
    (State::FlushedBackground, &["buffer_flush_background_total_pages"]),
    (State::FlushedSync, &["buffer_flush_sync_total_pages"]),
    (State::FlushedNeighbour, &["buffer_flush_neighbor_total_pages"]),
    (
        State::FlushedLru,
        &[
            "Innodb_buffer_pool_pages_LRU_flushed",
            "Innodb_buffer_pool_pages_lru_flushed",
            "buffer_LRU_batch_flush_total_pages",
            "buffer_LRU_batch_total_pages",
        ],
    ),
    (State::SingleFlushes, &["buffer_LRU_single_flush_num_scan"]),
    (State::FreePageWaits, &["Innodb_buffer_pool_wait_free"]),
    (State::LockWaits, &["Innodb_row_lock_waits"]),
    (State::LockWaitMs, &["Innodb_row_lock_time"]),
    (State::Deadlocks, &["Innodb_deadlocks", "lock_deadlocks"]),
    (State::FlowControlPausedNs, &["wsrep_flow_control_paused_ns"]),
    (State::CertificationFailures, &["wsrep_local_cert_failures"]),
];

/// The gauges of INNODB_METRICS that the sources use.
const GAUGES: &str = "name IN ('log_lsn_current', 'log_lsn_last_checkpoint', 'log_max_modified_age_sync', 'trx_rseg_history_len')";

/// The status variables that the sources use, to read them alone.
const STATUS_SQL: &str = "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Innodb\\_checkpoint%' \
     OR Variable_name LIKE 'Innodb\\_redo\\_log%lsn' OR Variable_name LIKE 'Innodb\\_buffer\\_pool\\_pages%' \
     OR Variable_name IN ('Innodb_history_list_length', 'Innodb_redo_log_capacity_resized')";

/// The states that only some servers have among their status variables.
const ELSEWHERE: [State; 3] = [
    State::CheckpointAge,
    State::CheckpointAgeLimit,
    State::HistoryLength,
];

/// Reads the current levels of a server.
///
/// It holds no session, so that its queries can be sent along with those of its owner.
pub struct StateReader {
    /// None if the status has everything, or the server has no metrics.
    gauges_sql: Option<String>,
    reads_monitor: bool,
    /// Whether the log is a single file, whose size a setting can change while the server runs.
    has_one_file: bool,
    /// From the settings of the start: the log capacity, and its age limit where the server does not report it.
    at_start: States,
}

impl StateReader {
    /// Finds out where this server reports its states. `configure` allows it to enable metrics in the server, which is never
    /// done to an external one.
    ///
    /// # Errors
    /// If the connection is lost. A source that the server refuses is not used.
    pub fn new(session: &mut Session, configure: bool) -> Result<StateReader, ServerError> {
        if configure {
            // A server without metrics refuses it.
            let _ = session.execute("SET GLOBAL innodb_monitor_enable = 'module_log'");
        }
        let (at_start, has_one_file) = log::at_start(session)?;
        let mut reader = StateReader {
            gauges_sql: None,
            reads_monitor: false,
            has_one_file,
            at_start,
        };
        let mut found = unless_refused(session, STATUS_SQL)?;
        if reader.lacks(&found) {
            let mut known = metrics_sql(GAUGES).into_iter();
            reader.gauges_sql = known.find(|sql| session.query(sql).is_ok());
            reader.add_gauges(session, &mut found);
        }
        reader.reads_monitor = reader.lacks(&found) && monitor::read(session).is_some();
        Ok(reader)
    }

    /// The current levels. Takes a few milliseconds on a busy server.
    ///
    /// # Errors
    /// If the connection is lost, or the server refuses to show its status.
    pub fn read(&self, session: &mut Session) -> Result<States, ServerError> {
        let status = numbers(&session.query(STATUS_SQL)?);
        Ok(self.levels(session, &status))
    }

    /// The current levels, with a reading of the status that has just been made.
    pub(crate) fn levels(&self, session: &mut Session, status: &Reading) -> States {
        let mut found = status.clone();
        self.add_gauges(session, &mut found);
        if self.reads_monitor {
            found.extend(monitor::read(session).unwrap_or_default());
        }
        if self.has_one_file {
            let size = unless_refused(session, log::FILE_SIZE_SQL);
            found.extend(size.unwrap_or_default());
        }
        let mut states = self.at_start.clone();
        states.0.extend(levels(&found));
        states
    }

    fn add_gauges(&self, session: &mut Session, found: &mut Reading) {
        let gauges = self
            .gauges_sql
            .as_ref()
            .and_then(|sql| session.query(sql).ok());
        if let Some(gauges) = gauges {
            found.extend(numbers(&gauges));
        }
    }

    fn lacks(&self, found: &Reading) -> bool {
        let has: States = States(levels(found).collect());
        let is_absent = |state: &State| has.get(*state).or(self.at_start.get(*state)).is_none();
        ELSEWHERE.iter().any(is_absent)
    }
}

/// The values of a reply; none if the server refuses the query.
fn unless_refused(session: &mut Session, sql: &str) -> Result<Reading, ServerError> {
    match session.query(sql) {
        Ok(reply) => Ok(numbers(&reply)),
        Err(ServerError::Refused { .. }) => Ok(Reading::new()),
        Err(error) => Err(error),
    }
}

fn levels(found: &Reading) -> impl Iterator<Item = (State, f64)> {
    LEVELS.iter().filter_map(|(state, sources)| {
        let value = sources.iter().find_map(|source| source.of(found))?;
        Some((*state, value as f64))
    })
}

impl Source {
    fn of(&self, found: &Reading) -> Option<i64> {
        match self {
            Source::Value(names) => names.iter().find_map(|name| found.get(*name).copied()),
            // The two are not read at the same instant, so a checkpoint in between could make it negative.
            Source::Between(later, earlier) => {
                Some((found.get(*later)? - found.get(*earlier)?).max(0))
            }
        }
    }
}

/// The rates among a second's counters, which are per second already.
pub(crate) fn rates(counters: &BTreeMap<String, f64>) -> impl Iterator<Item = (State, f64)> {
    RATES.iter().filter_map(|(state, names)| {
        debug_assert_eq!(state.kind(), StateKind::Rate);
        let value = names.iter().find_map(|name| counters.get(*name))?;
        Some((*state, *value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;

    fn reading(values: &[(&str, i64)]) -> Reading {
        let values = values.iter();
        values
            .map(|(name, value)| (name.to_string(), *value))
            .collect()
    }

    fn of(values: &[(&str, i64)]) -> States {
        States(levels(&reading(values)).collect())
    }

    #[test]
    fn the_checkpoint_age_is_read_wherever_a_server_reports_it() {
        let ages = [
            of(&[("Innodb_checkpoint_age", 700)]),
            of(&[
                ("Innodb_redo_log_current_lsn", 1700),
                ("Innodb_redo_log_checkpoint_lsn", 1000),
            ]),
            of(&[
                ("log_lsn_current", 1700),
                ("log_lsn_last_checkpoint", 1000),
                ("log_lsn_checkpoint_age", 0),
            ]),
            of(&[(monitor::LSN, 1700), (monitor::CHECKPOINT, 1000)]),
        ];
        assert!(
            ages.iter()
                .all(|states| states.get(State::CheckpointAge) == Some(700.0))
        );
    }

    #[test]
    fn the_capacity_of_a_log_that_is_resized_is_read_with_each_sample() {
        let of_mysql = of(&[("Innodb_redo_log_capacity_resized", 7)]);
        assert_eq!(of_mysql.get(State::LogCapacity), Some(7.0));
        // As of MariaDB, where the log is twice as large each time.
        let mut bytes = 1;
        let reply = move |sql: &str| {
            let is_asked = sql.contains(log::FILE_SIZE);
            bytes *= if is_asked { 2 } else { 1 };
            let size = [log::FILE_SIZE.to_string(), bytes.to_string()];
            let size = size.map(|text| Some(text.into_bytes())).to_vec();
            Ok::<_, ServerError>(Reply {
                rows: Vec::from_iter(is_asked.then_some(size)),
                ..Reply::default()
            })
        };
        let mut session = Session::Scripted(Box::new(reply));
        let reader = StateReader::new(&mut session, false).unwrap();
        let mut capacity = || reader.read(&mut session).unwrap().get(State::LogCapacity);
        assert_eq!([capacity(), capacity()], [Some(4.0), Some(8.0)]);
    }

    #[test]
    fn a_percentage_needs_the_state_and_its_limit() {
        let age = ("Innodb_checkpoint_age", 80);
        let states = of(&[age, ("Innodb_checkpoint_max_age", 320)]);
        assert_eq!(states.percent(State::CheckpointAge), Some(25.0));
        assert_eq!(of(&[age]).percent(State::CheckpointAge), None);
        assert_eq!(states.percent(State::HistoryLength), None);
    }

    #[test]
    fn a_state_that_the_server_lacks_is_absent() {
        let states = of(&[("Innodb_buffer_pool_pages_dirty", 0)]);
        assert_eq!(
            states.iter().collect::<Vec<_>>(),
            [(State::DirtyPages, 0.0)]
        );
        let counters = BTreeMap::from([("buffer_LRU_batch_total_pages".to_string(), 3.0)]);
        assert_eq!(
            rates(&counters).collect::<Vec<_>>(),
            [(State::FlushedLru, 3.0)]
        );
    }

    #[test]
    fn every_state_has_a_source() {
        // A replica reports its lag in a separate statement.
        let elsewhere = [State::ReplicationLag];
        let known = LEVELS.iter().map(|(state, _)| *state);
        let rates = RATES.iter().map(|(state, _)| *state);
        let mut all: Vec<State> = known.chain(rates).chain(elsewhere).collect();
        all.sort();
        assert_eq!(all, State::ALL);
    }
}
