//! Tests of counters with real servers: which server has which (docs/COUNTERS.md), and that a difference contains only the
//! query's own work.
//!
//! Tiers: default, all, long.

use crate::support::fresh::{BUILDS, Fresh};
use observe::{Observer, Reading};
use server::{Node, Session};

/// Starts a server and runs the function with an observer and a session.
fn with_observer(fresh: &Fresh, then: impl FnOnce(&mut Observer, &mut Session)) {
    let server = fresh.started(&[]);
    let mut observer = Observer::new(server.connect().unwrap(), true).unwrap();
    then(&mut observer, &mut server.connect().unwrap());
    server.stop().unwrap();
}

/// Creates `t` with the rows (0, 0) to (999, 999), and reads it once so that its definition and statistics are cached.
fn thousand_rows(session: &mut Session) {
    let rows: Vec<String> = (0..1000).map(|row| format!("({row}, {row})")).collect();
    for statement in [
        "CREATE DATABASE prony_test",
        "USE prony_test",
        "CREATE TABLE t (n INT NOT NULL PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB",
        &format!("INSERT INTO t VALUES {}", rows.join(", ")),
        "ANALYZE TABLE t",
        "SELECT COUNT(*) FROM t",
    ] {
        session.query(statement).unwrap();
    }
}

/// The change of the counters with these prefixes by a statement.
fn moved(
    observer: &mut Observer,
    session: &mut Session,
    sql: &str,
    prefixes: &[&str],
) -> Vec<(String, i64)> {
    let before = observer.read().unwrap();
    session.query(sql).unwrap();
    let after = observer.read().unwrap();
    observer
        .difference(&before, &after)
        .into_iter()
        .filter(|(name, delta)| {
            *delta != 0 && prefixes.iter().any(|prefix| name.starts_with(prefix))
        })
        .collect()
}

type Moved = &'static [(&'static str, i64)];

/// The counter changes of a server that reads the thousand rows.
struct Reads {
    /// By `SELECT COUNT(*) FROM t`.
    count: Moved,
    /// By `SELECT SUM(v) FROM t`.
    sum: Moved,
}

/// MySQL begins a scan with a lookup of the first key, and a table scan has one extra read at its end (1001).
const MYSQL_SUM: Moved = &[
    ("Handler_read_first", 1),
    ("Handler_read_key", 1),
    ("Handler_read_rnd_next", 1001),
    ("Innodb_rows_read", 1000),
];

/// COUNT(*) is an index scan in the server.
const MYSQL_5: Reads = Reads {
    count: &[
        ("Handler_read_first", 1),
        ("Handler_read_key", 1),
        ("Handler_read_next", 1000),
        ("Innodb_rows_read", 1000),
    ],
    sum: MYSQL_SUM,
};

/// InnoDB counts the rows internally for COUNT(*), and no read counter changes.
const MYSQL_8: Reads = Reads {
    count: &[],
    sum: MYSQL_SUM,
};

const MARIADB_SUM: Moved = &[("Handler_read_rnd_next", 1001), ("Rows_read", 1000)];

const MARIADB_10: Reads = Reads {
    count: &[
        ("Handler_read_first", 1),
        ("Handler_read_next", 1000),
        ("Rows_read", 1000),
    ],
    sum: MARIADB_SUM,
};

/// COUNT(*) is a table scan.
const MARIADB_11: Reads = Reads {
    count: MARIADB_SUM,
    sum: MARIADB_SUM,
};

/// A reading itself fills and scans temporary tables and reads dozens of rows; a difference contains none of that.
fn a_difference_contains_only_the_query(build: &'static str, reads: &Reads) {
    let Some(fresh) = Fresh::of(build) else {
        return;
    };
    let rows = ["Handler_read_", "Innodb_rows_", "Rows_read"];
    let around = [
        "Com_",
        "Created_tmp_",
        "Handler_write",
        "Handler_tmp_",
        "Questions",
        "Sort_",
    ];
    with_observer(&fresh, |observer, session| {
        thousand_rows(session);
        for (sql, expected) in [
            ("SELECT COUNT(*) FROM t", reads.count),
            ("SELECT SUM(v) FROM t", reads.sum),
        ] {
            let owned: Vec<(String, i64)> = expected
                .iter()
                .map(|(name, delta)| (name.to_string(), *delta))
                .collect();
            assert_eq!(
                moved(observer, session, sql, &rows),
                owned,
                "{build}: {sql}"
            );
            let one_select = [("Com_select".to_string(), 1), ("Questions".to_string(), 1)];
            assert_eq!(
                moved(observer, session, sql, &around),
                one_select,
                "{build}: {sql}"
            );
        }
    });
}

macro_rules! a_difference_contains_only_the_query {
    ($($(#[$attribute:meta])* $name:ident => $build:literal, $reads:ident;)*) => { $(
        #[test]
        $(#[$attribute])*
        fn $name() {
            a_difference_contains_only_the_query($build, &$reads);
        }
    )* }
}

a_difference_contains_only_the_query! {
    a_difference_contains_only_the_query_on_mariadb => "mariadb", MARIADB_10;
    a_difference_contains_only_the_query_on_mysql_5_6 => "mysql@5.6.14", MYSQL_5;
    #[cfg(tier_all)]
    a_difference_contains_only_the_query_on_mysql_5_5 => "mysql@5.5.34", MYSQL_5;
    #[cfg(tier_all)]
    a_difference_contains_only_the_query_on_mysql_8_0 => "mysql@8.0.33", MYSQL_8;
    #[cfg(tier_all)]
    a_difference_contains_only_the_query_on_mysql_9_7 => "mysql@9.7", MYSQL_8;
    #[cfg(tier_all)]
    a_difference_contains_only_the_query_on_mariadb_11_8 => "mariadb@11.8", MARIADB_11;
}

/// The counters that explain differences, by topic.
const TOPICS: [(&str, &[&str]); 20] = [
    (
        "hit ratio",
        &[
            "Innodb_buffer_pool_reads",
            "Innodb_buffer_pool_read_requests",
            "Innodb_pages_read",
        ],
    ),
    (
        "read-ahead",
        &[
            "Innodb_buffer_pool_read_ahead",
            "Innodb_buffer_pool_read_ahead_evicted",
        ],
    ),
    (
        "young, not young",
        &[
            "Innodb_buffer_pool_pages_made_young",
            "Innodb_buffer_pool_pages_made_not_young",
        ],
    ),
    (
        "no free page",
        &[
            "Innodb_buffer_pool_wait_free",
            "buffer_LRU_get_free_search",
            "buffer_LRU_get_free_loops",
            "buffer_LRU_get_free_waits",
        ],
    ),
    (
        "LRU flushing",
        &[
            "buffer_LRU_batch_flush_total_pages",
            "buffer_LRU_batch_total_pages",
            "buffer_LRU_single_flush_scanned",
            "Innodb_buffer_pool_pages_lru_flushed",
        ],
    ),
    (
        "flush cause",
        &[
            "buffer_flush_adaptive_total_pages",
            "buffer_flush_background_total_pages",
            "buffer_flush_sync_total_pages",
            "buffer_flush_neighbor_total_pages",
        ],
    ),
    (
        "checkpoint age",
        &[
            "log_lsn_checkpoint_age",
            "Innodb_redo_log_current_lsn",
            "Innodb_redo_log_checkpoint_lsn",
            "Innodb_checkpoint_age",
            "Innodb_checkpoint_max_age",
        ],
    ),
    ("log buffer wait", &["Innodb_log_waits"]),
    (
        "redo bytes, syncs",
        &[
            "Innodb_os_log_written",
            "Innodb_os_log_fsyncs",
            "Innodb_data_fsyncs",
        ],
    ),
    (
        "row locks",
        &[
            "Innodb_row_lock_waits",
            "Innodb_row_lock_time",
            "Innodb_row_lock_time_max",
        ],
    ),
    (
        "deadlocks, timeouts",
        &["lock_deadlocks", "Innodb_deadlocks", "lock_timeouts"],
    ),
    (
        "rows touched",
        &[
            "Innodb_rows_read",
            "Innodb_rows_inserted",
            "Innodb_rows_updated",
            "Innodb_rows_deleted",
            "Rows_read",
            "Rows_tmp_read",
        ],
    ),
    (
        "index condition pushdown",
        &[
            "icp_attempts",
            "icp_match",
            "Handler_icp_attempts",
            "Handler_icp_match",
        ],
    ),
    (
        "multi-range read",
        &[
            "Handler_mrr_init",
            "Handler_mrr_key_refills",
            "Handler_mrr_rowid_refills",
        ],
    ),
    ("join without an index", &["Select_full_join"]),
    (
        "access shape",
        &[
            "Handler_read_first",
            "Handler_read_key",
            "Handler_read_next",
            "Handler_read_prev",
            "Handler_read_rnd",
            "Handler_read_rnd_next",
        ],
    ),
    (
        "temporary tables, sort",
        &[
            "Created_tmp_tables",
            "Created_tmp_disk_tables",
            "Sort_merge_passes",
            "Sort_rows",
        ],
    ),
    (
        "purge",
        &["trx_rseg_history_len", "Innodb_history_list_length"],
    ),
    ("change buffer", &["ibuf_merges", "Innodb_ibuf_merges"]),
    (
        "adaptive hash",
        &[
            "adaptive_hash_searches",
            "adaptive_hash_searches_btree",
            "Innodb_adaptive_hash_hash_searches",
            "Innodb_adaptive_hash_non_hash_searches",
        ],
    ),
];

/// Where a server shows its counters.
struct Sources {
    version: String,
    status: Vec<Vec<String>>,
    /// Name, type, whether it is enabled.
    metrics: Vec<Vec<String>>,
    reading: Reading,
}

impl Sources {
    fn of(observer: &mut Observer, session: &mut Session) -> Sources {
        let metrics = "FROM information_schema.innodb_metrics";
        Sources {
            version: rows(session, "SELECT VERSION()")[0][0].clone(),
            status: rows(session, "SHOW GLOBAL STATUS"),
            metrics: [
                format!("SELECT name, type, status = 'enabled' {metrics}"),
                format!("SELECT name, type, enabled {metrics}"),
            ]
            .iter()
            .map(|sql| rows(session, sql))
            .find(|rows| !rows.is_empty())
            .unwrap_or_default(),
            reading: observer.read().unwrap(),
        }
    }

    /// The table cell for a counter. A counter that prony records is in the reading.
    fn of_counter(&self, name: &str) -> &'static str {
        let metric = self.metrics.iter().find(|row| row[0] == name);
        let status = self.status.iter().any(|row| row[0] == name);
        match (status, metric, self.reading.contains_key(name)) {
            (true, _, true) => "status",
            (false, Some(_), true) => "metric",
            (false, None, true) => "pool",
            (_, Some(row), false) if row[2] == "0" => "off",
            (_, Some(_), false) => "state",
            _ => "absent",
        }
    }
}

/// The rows of a reply; empty if the server rejects the statement.
fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    let text = |cell: Option<Vec<u8>>| String::from_utf8(cell.unwrap_or_default()).unwrap();
    let reply = session.query(sql).unwrap_or_default();
    let rows = reply.rows.into_iter();
    rows.map(|row| row.into_iter().map(text).collect())
        .collect()
}

/// The table of docs/COUNTERS.md: `PRONY_TESTS=long cargo test -p prony --test tests counters::table -- --nocapture`
#[test]
#[cfg(tier_long)]
fn table() {
    let mut servers: Vec<Sources> = Vec::new();
    for build in BUILDS {
        let fresh = Fresh::of(build).expect("every build of the table");
        with_observer(&fresh, |observer, session| {
            servers.push(Sources::of(observer, session));
        });
    }
    let versions: Vec<&str> = servers
        .iter()
        .map(|server| server.version.as_str())
        .collect();
    println!("| topic | counter | {} |", versions.join(" | "));
    println!("| {} |", ["---"; BUILDS.len() + 2].join(" | "));
    for (topic, counters) in TOPICS {
        for (place, counter) in counters.iter().enumerate() {
            let cells: Vec<&str> = servers.iter().map(|s| s.of_counter(counter)).collect();
            let topic = if place == 0 { topic } else { "" };
            println!("| {topic} | `{counter}` | {} |", cells.join(" | "));
        }
    }
    let counts: Vec<String> = servers
        .iter()
        .map(|s| s.reading.len().to_string())
        .collect();
    println!("| all that is recorded | | {} |", counts.join(" | "));
}
