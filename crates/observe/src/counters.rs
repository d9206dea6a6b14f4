//! Cumulative counters: SHOW GLOBAL STATUS, INNODB_METRICS and the buffer pool's young and not-young pages as one reading.
//!
//! The difference of two readings is what the statements between them did, without the cost of the reading itself. There are
//! no rates or ratios here. The server's own per-second values are not used: any client that reads them resets them.
//! docs/COUNTERS.md lists the names and the servers that have them.

use crate::reading::{Reading, metrics_sql, number, numbers};
use crate::states::{StateReader, States};
use record::{Counters, Flag, FlagKind};
use server::{ServerError, Session};

/// The INNODB_METRICS modules to enable. Most are off by default, and servers with different modules enabled cannot be
/// compared.
const METRIC_MODULES: [&str; 8] = [
    "module_buffer",
    "module_buffer_page",
    "module_os",
    "module_trx",
    "module_log",
    "module_index",
    "module_adaptive_hash",
    "module_icp",
];

/// Selects cumulative metrics. The type `value` is a gauge, whose difference means nothing, except for two counters that
/// MariaDB labels `value` and MySQL `counter`.
const COUNTS: &str = "(type IN ('counter', 'status_counter', 'set_owner', 'set_member') \
     OR name IN ('lock_deadlocks', 'lock_timeouts'))";

/// Works in MySQL since 5.5.34 or earlier and in every MariaDB. Sums over the buffer pool instances.
const POOL_SQL: &str = "SELECT SUM(pages_made_young), SUM(pages_not_made_young) FROM information_schema.innodb_buffer_pool_stats";

/// MariaDB's status names of these counters.
const POOL_NAMES: [&str; 2] = [
    "Innodb_buffer_pool_pages_made_young",
    "Innodb_buffer_pool_pages_made_not_young",
];

/// Prefixes of the counters that the observer's own statements increase. InnoDB's counters change in the background, so a
/// measured reading cost would be noise there.
const MOVED_BY_READING: [&str; 12] = [
    "Bytes_",
    "Com_",
    "Created_tmp_",
    "Handler_",
    "Queries",
    "Questions",
    "Rows_",
    "Select_",
    "Sort_",
    "Table_",
    "Opened_",
    "Last_",
];

/// Seconds since the start of the server, and since the last FLUSH STATUS.
const SINCE: [&str; 2] = ["Uptime", "Uptime_since_flush_status"];

/// The statements that prony itself has sent to servers, in a reading.
pub(crate) const OWN_STATEMENTS: &str = "Questions of prony";

/// Error code: the account lacks a privilege.
const ACCESS_DENIED: u16 = 1227;

/// Reads counters on a separate connection, so that the measured session is not affected.
pub struct Observer {
    session: Session,
    /// None if the server has no INNODB_METRICS (MySQL 5.5).
    metrics_sql: Option<String>,
    /// Whether the server has them, and refuses them to this account.
    lacks_process: bool,
    pool: bool,
    /// None if the states are not read.
    states: Option<StateReader>,
    /// How much one reading increases the counters of the next.
    cost: Reading,
}

impl Observer {
    /// Prepares an observer on this session and measures the cost of a reading. `configure` allows it to enable metrics in the
    /// server, which is never done to an external one.
    pub fn new(session: Session, configure: bool) -> Result<Observer, ServerError> {
        Observer::prepare(session, configure, None)
    }

    /// As [`Observer::new`], with the states of the storage in each reading.
    pub fn with_states(mut session: Session, configure: bool) -> Result<Observer, ServerError> {
        let states = StateReader::new(&mut session, configure)?;
        Observer::prepare(session, configure, Some(states))
    }

    fn prepare(
        mut session: Session,
        configure: bool,
        states: Option<StateReader>,
    ) -> Result<Observer, ServerError> {
        if configure {
            for module in METRIC_MODULES {
                // A server without metrics, or without this module, returns an error; then its metrics are absent.
                let _ = session.execute(&format!("SET GLOBAL innodb_monitor_enable = '{module}'"));
            }
        }
        let mut lacks_process = false;
        let metrics_sql = metrics_sql(COUNTS).into_iter().find(|sql| {
            let answer = session.query(sql);
            let is_denied = |error: &ServerError| {
                matches!(error, ServerError::Refused { code, .. } if *code == ACCESS_DENIED)
            };
            lacks_process |= answer.as_ref().is_err_and(is_denied);
            answer.is_ok()
        });
        let pool = session.query(POOL_SQL).is_ok();
        let mut observer = Observer {
            session,
            metrics_sql,
            lacks_process,
            pool,
            states,
            cost: Reading::new(),
        };
        observer.cost = observer.reading_cost()?;
        Ok(observer)
    }

    /// This observer with a limit for each of its statements, see [`Session::for_control`].
    pub(crate) fn for_control(self) -> Observer {
        Observer {
            session: self.session.for_control(),
            ..self
        }
    }

    /// A sentence about what this account may not read; None if it may read everything that the server has.
    pub fn not_permitted(&self) -> Option<&'static str> {
        self.lacks_process.then_some(
            "the account lacks the privilege PROCESS: InnoDB's metrics and the states of its storage are not recorded",
        )
    }

    /// The difference of two readings with nothing between them.
    fn reading_cost(&mut self) -> Result<Reading, ServerError> {
        self.read_all()?; // the first opens tables and fills caches
        let (before, _) = self.read_all()?;
        let (after, _) = self.read_all()?;
        Ok(after
            .iter()
            .filter(|(name, _)| {
                MOVED_BY_READING
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
            })
            .filter_map(|(name, value)| Some((name.clone(), value - before.get(name)?)))
            .filter(|(_, cost)| *cost > 0)
            .collect())
    }

    /// Reads all counters. Takes about 2 ms on an idle server.
    pub fn read(&mut self) -> Result<Reading, ServerError> {
        let mut reading = numbers(&self.session.query("SHOW GLOBAL STATUS")?);
        if let Some(sql) = &self.metrics_sql {
            reading.append(&mut numbers(&self.session.query(sql)?));
        }
        if self.pool {
            let reply = self.session.query(POOL_SQL)?;
            for (column, name) in POOL_NAMES.iter().enumerate() {
                if let Some(value) = reply.rows.first().and_then(|row| number(row.get(column)?)) {
                    reading.entry(name.to_string()).or_insert(value);
                }
            }
        }
        Ok(reading)
    }

    /// Reads all counters, with [`OWN_STATEMENTS`], and then the levels of the storage; these are empty unless the observer was made for
    /// them.
    pub fn read_all(&mut self) -> Result<(Reading, States), ServerError> {
        let mut reading = self.read()?;
        reading.insert(OWN_STATEMENTS.to_string(), server::statements_sent() as i64);
        let states = match &self.states {
            Some(reader) => reader.levels(&mut self.session, &reading),
            None => States::default(),
        };
        Ok((reading, states))
    }

    /// The change between two readings, without the cost of the reading; empty if it is not known, see [`flushed`].
    pub fn difference(&self, before: &Reading, after: &Reading) -> Counters {
        if flushed(before, after).is_some() {
            return Counters::new();
        }
        after
            .iter()
            .filter_map(|(name, value)| {
                let moved = value - before.get(name)?;
                let cost = self.cost.get(name).copied().unwrap_or(0);
                Some((
                    name.clone(),
                    if moved >= cost { moved - cost } else { moved },
                ))
            })
            .collect()
    }

    /// Reads one status value, to prove that a round was cold.
    pub fn status(&mut self, name: &str) -> Result<Option<i64>, ServerError> {
        let reply = self
            .session
            .query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
        Ok(numbers(&reply).remove(name))
    }
}

/// A flag if FLUSH STATUS was executed between two readings. It sets some counters to 0, and one that has grown again since looks as if it
/// had moved less.
pub fn flushed(before: &Reading, after: &Reading) -> Option<Flag> {
    let flushed_at = |reading: &Reading| {
        let [uptime, since_flush] = SINCE.map(|name| reading.get(name).copied());
        Some(uptime? - since_flush?)
    };
    (flushed_at(after)? > flushed_at(before)?).then(|| Flag {
        kind: FlagKind::SamplerAbsent,
        text: "somebody executed FLUSH STATUS, which sets counters to 0, so those of the server are not recorded; look for a monitoring program that does, and measure again".to_string(),
    })
}

/// Adds up counters: those of a round are the sum over its queries. One that a part lacks has no sum.
pub fn sum<'a>(mut parts: impl Iterator<Item = &'a Counters>) -> Counters {
    let mut total = parts.next().cloned().unwrap_or_default();
    for part in parts {
        total.retain(|name, _| part.contains_key(name));
        for (name, sum) in &mut total {
            *sum += part[name];
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_a_round_are_the_sum_over_its_queries() {
        let one = Counters::from([("A".into(), 1), ("B".into(), 2)]);
        let two = Counters::from([("A".into(), 10), ("B".into(), 0)]);
        assert_eq!(
            sum([one.clone(), two].iter()),
            Counters::from([("A".into(), 11), ("B".into(), 2)])
        );
        let without_b = Counters::from([("A".into(), 10)]);
        let of_a = Counters::from([("A".into(), 11)]);
        assert_eq!(sum([one, without_b].iter()), of_a);
        assert_eq!(sum([].iter()), Counters::new());
    }

    #[test]
    fn a_flush_status_is_noticed_by_its_time_also_where_every_counter_has_risen() {
        let reading = |key_reads: i64, uptime: i64, since_flush: i64| {
            let [uptime, since_flush] = [(SINCE[0], uptime), (SINCE[1], since_flush)];
            let all = [("Key_reads", key_reads), uptime, since_flush];
            Reading::from(all.map(|(name, value)| (name.to_string(), value)))
        };
        let before = reading(100, 60, 60);
        assert!(flushed(&before, &reading(130, 61, 0)).is_some());
        assert_eq!(flushed(&before, &reading(130, 61, 61)), None);
        let earlier = reading(100, 60, 10);
        assert_eq!(flushed(&earlier, &reading(130, 62, 12)), None);
        assert_eq!(flushed(&Reading::new(), &before), None);
    }
}
