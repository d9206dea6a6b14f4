//! Tests which counters of real servers count a row twice with multi-range read (docs/COUNTERS.md).
//!
//! Tiers: default, all.

use crate::support::fresh::Fresh;
use observe::Observer;
use server::{Node, Session};

/// The rows in the range of `QUERY`. They are scattered over the table's primary key.
const ROWS: i64 = 501;
const QUERY: &str = "SELECT SUM(LENGTH(pad)) FROM t FORCE INDEX (k) WHERE k BETWEEN 100 AND 600";
const COUNTERS: [&str; 5] = [
    "Handler_read_key",
    "Handler_read_rnd",
    "Innodb_rows_read",
    "Rows_read",
    "Handler_mrr_init",
];

fn create_scattered_rows(session: &mut Session) {
    let rows: Vec<String> = (0..10_000)
        .map(|n| format!("({n}, {}, REPEAT('x', 60))", n * 7919 % 10_000))
        .collect();
    for statement in [
        "CREATE DATABASE prony_test",
        "USE prony_test",
        "CREATE TABLE t (n INT PRIMARY KEY, k INT NOT NULL, pad CHAR(60) NOT NULL, KEY (k)) ENGINE=InnoDB",
        &format!("INSERT INTO t VALUES {}", rows.join(", ")),
        "ANALYZE TABLE t",
        QUERY,
    ] {
        session.query(statement).unwrap();
    }
}

/// How much the query increases each of `COUNTERS` with these optimizer switches; None if the server lacks the counter.
fn counts(observer: &mut Observer, session: &mut Session, switches: &str) -> [Option<i64>; 5] {
    session
        .query(&format!("SET optimizer_switch = '{switches}'"))
        .unwrap();
    let before = observer.read().unwrap();
    session.query(QUERY).unwrap();
    let after = observer.read().unwrap();
    let moved = observer.difference(&before, &after);
    COUNTERS.map(|name| moved.get(name).copied())
}

fn under_mrr(build: &'static str, without: [Option<i64>; 5], with: [Option<i64>; 5]) {
    let Some(fresh) = Fresh::of(build) else {
        return;
    };
    let server = fresh.started(&[]);
    let mut observer = Observer::new(server.connect().unwrap(), true).unwrap();
    let mut session = server.connect().unwrap();
    create_scattered_rows(&mut session);
    let off = counts(&mut observer, &mut session, "mrr=off");
    let on = counts(&mut observer, &mut session, "mrr=on,mrr_cost_based=off");
    server.stop().unwrap();
    assert_eq!((off, on), (without, with), "{build}: {COUNTERS:?}");
}

/// Each row is fetched a second time by its position, and counted again; Handler_mrr_init does not change.
fn mysql(build: &'static str) {
    under_mrr(
        build,
        [Some(1), Some(0), Some(ROWS), None, Some(0)],
        [Some(ROWS + 1), Some(ROWS), Some(2 * ROWS), None, Some(0)],
    );
}

/// Only Handler_read_rnd and Handler_mrr_init change.
fn mariadb(build: &'static str) {
    under_mrr(
        build,
        [Some(1), Some(0), None, Some(ROWS), Some(0)],
        [Some(1), Some(ROWS), None, Some(ROWS), Some(1)],
    );
}

macro_rules! counts_under_mrr {
    ($($(#[$attribute:meta])* $name:ident => $family:ident, $build:literal;)*) => { $(
        #[test]
        $(#[$attribute])*
        fn $name() {
            $family($build);
        }
    )* }
}

counts_under_mrr! {
    mysql_5_6_counts_each_row_twice => mysql, "mysql@5.6.14";
    mariadb_counts_each_row_once => mariadb, "mariadb";
    #[cfg(tier_all)]
    mysql_8_0_counts_each_row_twice => mysql, "mysql@8.0.33";
    #[cfg(tier_all)]
    mysql_9_7_counts_each_row_twice => mysql, "mysql@9.7";
    #[cfg(tier_all)]
    mariadb_11_8_counts_each_row_once => mariadb, "mariadb@11.8";
}
