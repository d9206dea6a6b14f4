//! Figures of rounds of queries whose truth is planted: rounds that are not hot, plans that change, other clients of the server.
//!
//! Tiers: default, all.

use crate::support::elsewhere::Elsewhere;
use crate::support::process::{ended, until};
use crate::support::timed::{flags, number, trials};
use crate::support::{Bench, Ended, has};
use serde_json::Value;

/// 20,000 rows in 6 MB.
const WIDE: &str = "create table t (id int primary key, g int not null, pad char(250) not null);
insert into t select seq, seq % 1000, repeat('x', 250) from seq_1_to_20000;
";

/// The second query leaves the time to do something to the server.
const QUERIES: &str = "-- name: of_group
select count(*) from t where g = 7 and pad > 'a';
-- name: pause
select sleep(3);
";

fn written(queries: &str) -> Bench {
    let bench = Bench::new();
    for (name, text) in [("wide.sql", WIDE), ("q.sql", queries)] {
        std::fs::write(bench.folder.path().join(name), text).unwrap();
    }
    bench
}

const COMMAND: [&str; 7] = [
    "bench",
    "sql",
    "--setup",
    "wide.sql",
    "--queries",
    "q.sql",
    "--rounds",
];

fn the_trial(bench: &Bench) -> Value {
    trials(&bench.json(&bench.runs()[0]))[0].clone()
}

#[test]
fn a_first_hot_round_that_reads_the_data_from_disk_is_not_counted() {
    if !has("mariadb") {
        return;
    }
    let bench = written("-- name: all\nselect sum(length(pad)) from t;\n");
    let ended = bench.run(&[&COMMAND[..], &["hot,hot", "--server", "mariadb"]].concat());
    ended.measured();
    let trial = the_trial(&bench);
    let said = flags(&trial, "warming");
    assert!(said.contains("the first is not counted"), "{trial}");
    for round in trial["rounds"].as_array().unwrap() {
        assert_eq!(round["name"], "hot");
        let read = number(&round["queries"][0]["counters"]["Innodb_pages_read"]);
        assert!(read < 100.0, "{read}");
    }
    assert!(
        ended.stderr.contains("the rounds begin with a hot one"),
        "{}",
        ended.stderr
    );
}

/// Runs the queries on a server in three hot rounds, and `meanwhile` while the second of them waits: plans are read after a round.
fn with(there: &mut Elsewhere, meanwhile: impl FnOnce(&mut Elsewhere)) -> (Ended, Value) {
    let bench = written(QUERIES);
    let dsn = there.dsn_with_password();
    let running = bench.start(&[&COMMAND[..], &["hot,hot,hot", "--server", &dsn]].concat());
    // By the number of the statement: between two rounds there may be less time than a look takes.
    let waiting =
        "select query_id from information_schema.processlist where info = 'select sleep(3)'";
    let mut first = Vec::new();
    until("the wait of the first round", || {
        first = there.query(waiting);
        !first.is_empty()
    });
    until("the wait of another round", || {
        let now = there.query(waiting);
        !now.is_empty() && now != first
    });
    meanwhile(there);
    let ended = ended(running);
    ended.measured();
    let trial = the_trial(&bench);
    (ended, trial)
}

#[test]
fn a_plan_that_changes_between_rounds_is_flagged() {
    let Some(mut there) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let (ended, trial) = with(&mut there, |there| {
        there.execute("create index g on prony_sql.t (g)");
    });
    let said = flags(&trial, "plan_changed");
    assert!(said.contains("of_group: its plan changed from"), "{trial}");
    assert!(
        ended.stderr.contains("its plan changed"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("changed"), "{}", ended.stdout);
}

#[test]
fn clients_of_others_during_rounds_are_flagged() {
    let Some(mut there) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let (_, trial) = with(&mut there, |there| {
        (0..1_000).for_each(|n| there.execute(&format!("DO {n}")));
    });
    let said = flags(&trial, "foreign_clients");
    assert!(said.contains("other clients used the server"), "{trial}");
    assert_eq!(flags(&trial, "plan_changed"), "");
}
