//! Tests of events with a real server: a long statement ends with the load, even if the server hangs.
//!
//! Tier: default.

use crate::real::begun;
use crate::support::fresh::Fresh;
use host::Paused;
use prony::run::event::{Events, Means};
use prony::run::watch::stopper;
use server::{Fake, Managed, Node, Reply, Server, ServerError};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(600);

fn started(fresh: &Fresh) -> Arc<Managed> {
    Arc::new(fresh.started(&[]))
}

/// The event of a file, from now on.
fn begin(event: &str, means: Means) -> Events {
    let means = std::cell::Cell::new(Some(means));
    let events = format!("[[event]]\nat = '0s'\n{event}");
    begun::begin(&events, || means.take().ok_or(()))
}

fn begin_on(server: &Arc<Managed>, event: &str) -> Events {
    begin(event, begun::means(server, None).unwrap())
}

/// Waits until the query returns more than 0.
fn wait_for(server: &Arc<Managed>, sql: &str) {
    let mut session = server.connect().unwrap();
    let began = Instant::now();
    while session.query(sql).unwrap().first_text().as_deref() == Some("0") {
        assert!(began.elapsed() < TIMEOUT, "{sql}: 0");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait_until_it_runs(server: &Arc<Managed>) {
    let like =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT BENCH%'";
    wait_for(server, like);
}

const LONG: &str = "sql = 'SELECT BENCHMARK(100000000000, SHA1(1))'";

#[test]
fn a_long_statement_ends_with_the_load() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let events = begin_on(&server, LONG);
    wait_until_it_runs(&server);
    let began = Instant::now();
    let happened = events.cancel();
    assert!(began.elapsed() < TIMEOUT);
    assert!(happened.failed.is_empty(), "{:?}", happened.failed);
    let text = &happened.notes[0].text;
    assert!(text.ends_with("the load was over"), "{text}");
    server.stop().unwrap();
}

#[test]
fn a_long_statement_ends_even_if_the_server_stalls() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let events = begin_on(&server, LONG);
    wait_until_it_runs(&server);
    let paused = Paused::stop(server.pid().unwrap()).unwrap();
    let began = Instant::now();
    assert_eq!(events.cancel().notes.len(), 1);
    assert!(began.elapsed() < TIMEOUT);
    // A stopped server can be killed.
    server.kill().unwrap();
    drop(paused);
}

#[test]
fn a_dump_reads_every_table_of_the_schema() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let mut session = server.connect().unwrap();
    for statement in [
        "CREATE DATABASE prony_test",
        "USE prony_test",
        "CREATE TABLE a (n INT PRIMARY KEY) ENGINE=InnoDB",
        "INSERT INTO a VALUES (1), (2), (3)",
        "CREATE TABLE b (n INT PRIMARY KEY) ENGINE=InnoDB",
        "CREATE VIEW v AS SELECT n FROM a",
    ] {
        session.execute(statement).unwrap();
    }
    let stopper = stopper(&session, server.as_ref()).unwrap();
    let means = Means {
        power: None,
        session: Some(session),
        stopper,
        changes: Arc::default(),
        reopen: Box::new(|| Err(ServerError::Lost("not needed".into()))),
        server: Some(Server::of(Fake::new("fake", |_| Ok(Reply::default())))),
    };
    let events = begin("dump = {}", means);
    let rolled_back = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'COM_ROLLBACK'";
    wait_for(&server, rolled_back);
    let happened = events.stop();
    let text = &happened.notes[0].text;
    assert!(text.starts_with("dump: 2 tables, 3 rows in "), "{text}");
    server.stop().unwrap();
}
