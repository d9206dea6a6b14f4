//! Cumulative counters: SHOW GLOBAL STATUS, INNODB_METRICS and the pool's young and not-young pages as one reading.
//!
//! Goal: the difference of two readings is what the statements between them did, and nothing that the reading itself did.
//! Non-goals: rates and ratios; the server's own per-second lines, which count from whoever read them last.
//! Where the names come from, and which server has which: docs/COUNTERS.md.

use record::Counters;
use server::{Reply, ServerError, Session};
use std::collections::BTreeMap;

/// Cumulative values by name, as the server spells the names. What a server lacks is not in it.
pub type Reading = BTreeMap<String, i64>;

/// The INNODB_METRICS modules that are switched on, the same on every server that has them: most are off by default, and
/// two servers with different modules cannot be compared.
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

/// Metrics that count. The type `value` is a state at a moment, which has no meaningful difference, but for two counts that
/// MariaDB calls so and MySQL `counter`.
const COUNTS: &str = "(type IN ('counter', 'status_counter', 'set_owner', 'set_member') \
     OR name IN ('lock_deadlocks', 'lock_timeouts'))";

/// The condition that a metric is switched on: MySQL and MariaDB before 10.5, MariaDB from 10.5 on. One that is off stands in
/// the table with 0, and is absent all the same.
const SWITCHED_ON: [&str; 2] = ["status = 'enabled'", "enabled = 1"];

/// MySQL from 5.5.34 at the latest, and every MariaDB; the sums go over the pool's instances.
const POOL_SQL: &str = "SELECT SUM(pages_made_young), SUM(pages_not_made_young) FROM information_schema.innodb_buffer_pool_stats";

/// The names under which MariaDB shows the pool's counters in its status.
const POOL_NAMES: [&str; 2] = [
    "Innodb_buffer_pool_pages_made_young",
    "Innodb_buffer_pool_pages_made_not_young",
];

/// Statements that this house sends around a query show up in these; InnoDB's own counters move in the background, so
/// that a measured cost of looking would be noise there.
const MOVED_BY_LOOKING: [&str; 12] = [
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

/// Reads counters on a connection of its own, so that the measured connection's session stays as it is.
pub struct Observer {
    session: Session,
    /// None where the server has no INNODB_METRICS (MySQL 5.5).
    metrics_sql: Option<String>,
    pool: bool,
    /// What one reading adds to the next.
    cost: Reading,
}

impl Observer {
    /// `configure`: whether this server may be told to count more (never an external one).
    pub fn new(mut session: Session, configure: bool) -> Result<Observer, ServerError> {
        if configure {
            for module in METRIC_MODULES {
                // A server without metrics, or without this module, answers with an error; then they are absent.
                let _ = session.execute(&format!("SET GLOBAL innodb_monitor_enable = '{module}'"));
            }
        }
        let metrics_sql = SWITCHED_ON
            .map(metrics_sql)
            .into_iter()
            .find(|sql| session.query(sql).is_ok());
        let pool = session.query(POOL_SQL).is_ok();
        let mut observer = Observer {
            session,
            metrics_sql,
            pool,
            cost: Reading::new(),
        };
        observer.cost = observer.cost_of_looking()?;
        Ok(observer)
    }

    /// Two readings with nothing between them.
    fn cost_of_looking(&mut self) -> Result<Reading, ServerError> {
        self.read()?; // the first opens tables and fills caches
        let before = self.read()?;
        let after = self.read()?;
        Ok(after
            .iter()
            .filter(|(name, _)| {
                MOVED_BY_LOOKING
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
            })
            .filter_map(|(name, value)| Some((name.clone(), value - before.get(name)?)))
            .filter(|(_, cost)| *cost > 0)
            .collect())
    }

    /// Everything that counts, now. About 2 ms on an idle server.
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

    /// What happened between two readings, without what the reading did itself.
    pub fn difference(&self, before: &Reading, after: &Reading) -> Counters {
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

    /// One status value, for the proof of coldness.
    pub fn status(&mut self, name: &str) -> Result<Option<i64>, ServerError> {
        let reply = self
            .session
            .query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
        Ok(numbers(&reply).remove(name))
    }
}

fn metrics_sql(switched_on: &str) -> String {
    format!(
        "SELECT name, `count` FROM information_schema.innodb_metrics WHERE {COUNTS} AND {switched_on}"
    )
}

/// Adds up differences: the counters of a round are the sum over its queries.
pub fn sum<'a>(parts: impl Iterator<Item = &'a Counters>) -> Counters {
    let mut total = Counters::new();
    for part in parts {
        for (name, value) in part {
            *total.entry(name.clone()).or_default() += value;
        }
    }
    total
}

/// The rows (name, number, ...) of a reply; values that are no whole numbers are left out.
fn numbers(reply: &Reply) -> Reading {
    reply
        .rows
        .iter()
        .filter_map(|row| {
            let name = String::from_utf8_lossy(row.first()?.as_ref()?).into_owned();
            Some((name, number(row.get(1)?)?))
        })
        .collect()
}

fn number(value: &Option<Vec<u8>>) -> Option<i64> {
    std::str::from_utf8(value.as_ref()?)
        .ok()?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(rows: &[(&str, &str)]) -> Reply {
        Reply {
            columns: vec!["Variable_name".into(), "Value".into()],
            rows: rows
                .iter()
                .map(|(name, value)| {
                    vec![
                        Some(name.as_bytes().to_vec()),
                        Some(value.as_bytes().to_vec()),
                    ]
                })
                .collect(),
            ..Reply::default()
        }
    }

    #[test]
    fn only_whole_numbers_count() {
        let reading = numbers(&reply(&[
            ("Questions", "12"),
            ("Ssl_cipher", ""),
            ("Innodb_page_size", "16384"),
            ("Last_query_cost", "0.5"),
        ]));
        assert_eq!(
            reading.keys().collect::<Vec<_>>(),
            ["Innodb_page_size", "Questions"]
        );
    }

    #[test]
    fn a_round_is_the_sum_of_its_queries() {
        let one = Counters::from([("A".into(), 1), ("B".into(), 2)]);
        let two = Counters::from([("A".into(), 10)]);
        assert_eq!(
            sum([one, two].iter()),
            Counters::from([("A".into(), 11), ("B".into(), 2)])
        );
    }
}
